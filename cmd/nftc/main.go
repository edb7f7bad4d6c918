// Command nftc checks, compiles and evaluates nftables rulesets without a
// kernel. README.md has examples; `nftc COMMAND --help` describes each command.
//
// Results go to standard output, diagnostics and errors to standard error. The
// exit status is one of the exit constants.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/nftc/nftc/internal/diag"
)

// Exit statuses.
const (
	exitOK      = 0
	exitFinding = 1 // the input has errors, findings or differing verdicts
	exitUsage   = 2 // wrong command line
	exitFailed  = 3 // could not finish: I/O, kernel
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program: arguments without the program's name in, exit
// status out.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	out := &errWriter{w: stdout}
	app := &app{stdin: stdin, stdout: out, stderr: stderr}
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(stderr, "nftc: internal error: %v\n%s", r, debug.Stack())
			code = exitFailed
		}
	}()
	var cli cli
	exited := -1
	parser, err := kong.New(&cli,
		kong.Name("nftc"),
		kong.Description("Checks, compiles and evaluates nftables rulesets without a kernel."),
		kong.Writers(out, stderr),
		kong.Exit(func(c int) { exited = c }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, NoExpandSubcommands: true}),
		kong.Vars{"version": version()},
	)
	if err != nil {
		panic(err)
	}
	if len(args) > 0 && args[0] == "help" { // nftc help [COMMAND]
		args = append(slices.Clone(args[1:]), "--help")
	}
	ctx, err := parser.Parse(args)
	if exited >= 0 { // --help or --version
		return app.finish(exited)
	}
	if err != nil {
		fmt.Fprintf(stderr, "nftc: %v\n", err)
		var pe *kong.ParseError
		if errors.As(err, &pe) && pe.Context != nil && pe.Context.Selected() != nil {
			fmt.Fprintf(stderr, "try: nftc %s --help\n", pe.Context.Selected().Name)
		} else {
			fmt.Fprintln(stderr, "try: nftc --help")
		}
		return exitUsage
	}
	app.global = &cli.Global
	err = ctx.Run(app)
	return app.finish(app.status(err))
}

// Errors that carry an exit status other than exitFailed. A finding was shown
// already; a wrong usage is printed by status.
type (
	findingError struct{}
	usageError   struct{ msg string }
)

// shownError could not finish either, but was printed already.
type shownError struct{ error }

func (findingError) Error() string { return "findings" }
func (e usageError) Error() string { return e.msg }

// errFinding ends a command whose input had findings that were shown.
var errFinding error = findingError{}

// status prints err and turns it into an exit status.
func (a *app) status(err error) int {
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &findingError{}):
		return exitFinding
	case errors.As(err, &usage):
		fmt.Fprintf(a.stderr, "nftc: %v\n", err)
		a.failJSON(err)
		return exitUsage
	}
	a.failJSON(err)
	var shown shownError
	if a.stdout.err == nil && !errors.As(err, &shown) { // else finish says it
		fmt.Fprintf(a.stderr, "nftc: %v\n", err)
	}
	return exitFailed
}

// failure is what --json writes when a command fails before it has a result.
type failure struct {
	Version int    `json:"version"`
	Error   string `json:"error"`
}

// failJSON writes a failure where nothing was written yet.
func (a *app) failJSON(err error) {
	if a.global != nil && a.global.JSON && !a.stdout.used {
		_ = a.writeJSON(failure{diag.JSONVersion, err.Error()}) // finish says it
	}
}

// finish accounts for output that could not be written. A closed pipe
// (`nftc list f | head`) is silent, but not success.
func (a *app) finish(code int) int {
	if a.stdout.err == nil {
		return code
	}
	if !errors.Is(a.stdout.err, syscall.EPIPE) {
		fmt.Fprintf(a.stderr, "nftc: writing output: %v\n", a.stdout.err)
	}
	return exitFailed
}

// errWriter keeps the first error and drops what comes after it.
type errWriter struct {
	w    io.Writer
	err  error
	used bool // something was written
}

func (e *errWriter) Write(p []byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	e.used = e.used || len(p) > 0
	n, err := e.w.Write(p)
	e.err = err
	return n, err
}

// version is the module version that the binary was built from.
func version() string {
	if bi, ok := debug.ReadBuildInfo(); ok && bi.Main.Version != "" {
		return bi.Main.Version
	}
	return "(devel)"
}

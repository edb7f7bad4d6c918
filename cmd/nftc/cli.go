package main

import (
	"io"
	"os"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/nftc/nftc/internal/diag"
)

// cli is the command line; each command lives in the file of its name.
type cli struct {
	Global  globalFlags      `embed:""`
	Version kong.VersionFlag `help:"Print the version and exit."`

	Check   checkCmd   `cmd:"" help:"Report errors and likely mistakes."`
	Compile compileCmd `cmd:"" help:"Print the bytecode as 'nft --debug=netlink -c -f' does."`
	List    listCmd    `cmd:"" help:"Print the ruleset as 'nft -s list ruleset' does after loading it."`
	Fmt     fmtCmd     `cmd:"" help:"Format rulesets; comments are kept."`
	Eval    evalCmd    `cmd:"" help:"Verdicts for packets, and the rule that made each."`
	Verify  verifyCmd  `cmd:"" help:"Compare verdicts with the live kernel, packet by packet."`
	Test    testCmd    `cmd:"" help:"Run scenarios: rulesets, packets and the verdicts that are expected."`
	Sets    setsCmd    `cmd:"" help:"Show how the kernel and nftc store each set."`
	Bench   benchCmd   `cmd:"" help:"Measure the set back ends and the whole path."`
	Explain explainCmd `cmd:"" help:"Print the documentation of a diagnostic."`
}

// globalFlags stand before or behind the command.
type globalFlags struct {
	Includepath []string          `short:"I" name:"includepath" sep:"none" placeholder:"DIR" help:"Search DIR for included files; may be repeated."`
	Define      []string          `short:"D" name:"define" sep:"none" placeholder:"NAME=VALUE" help:"Define a variable in front of the ruleset; may be repeated."`
	JSON        bool              `name:"json" help:"Write results as JSON (docs/json.md)."`
	Color       string            `enum:"auto,always,never" default:"auto" help:"Colour diagnostics: auto, always or never."`
	Iface       map[string]uint32 `name:"iface" mapsep:"," placeholder:"NAME=INDEX" help:"Interfaces that exist. Without it every name is taken to exist."`
	TZOffset    int               `name:"tz-offset" placeholder:"SECONDS" help:"Local time minus UTC, for 'meta hour' and 'meta day'."`
}

// app is what commands run with.
type app struct {
	stdin  io.Reader
	stdout *errWriter
	stderr io.Writer
	global *globalFlags
	// stdinUsed is set once standard input was read: it can be named once.
	stdinUsed bool
}

// textOptions decides about colour and width of diagnostics on stderr.
func (a *app) textOptions() diag.TextOptions {
	var opt diag.TextOptions
	f, ok := a.stderr.(*os.File)
	tty := ok && term.IsTerminal(int(f.Fd()))
	switch a.global.Color {
	case "always":
		opt.Color = true
	case "auto":
		opt.Color = tty && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	if tty {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			opt.Width = w - len("123456 | ")
		}
	}
	return opt
}

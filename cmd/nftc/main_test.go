package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts in testdata/script run the program as users do; `nftc` is this
// test binary. Files in them are rulesets, packets and what to expect.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": status, "repeat": repeat, "gzip": gzipFile, "head": head,
		},
		Setup: func(e *testscript.Env) error {
			dir, err := filepath.Abs(example)
			e.Setenv("EXAMPLE", dir)
			return err
		},
		UpdateScripts: *update,
	})
}

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"nftc": func() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// status runs nftc and expects the exit status that comes first:
//
//	status 3 nftc check missing.nft
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command args…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit interface{ ExitCode() int }
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// repeat writes a file of a text repeated: repeat FILE N TEXT. \n and \0 stand
// for those bytes.
func repeat(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: repeat file n text")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	text := strings.NewReplacer(`\n`, "\n", `\0`, "\x00").Replace(args[2])
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	ts.Check(err)
	_, err = f.WriteString(strings.Repeat(text, n))
	ts.Check(err)
	ts.Check(f.Close())
}

// gzipFile compresses: gzip FROM TO.
func gzipFile(ts *testscript.TestScript, neg bool, args []string) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	ts.Check(w.Close())
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), b.Bytes(), 0o666))
}

// head keeps the first bytes of a file: head FILE N.
func head(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), int64(n)))
}

// closedPipe fails as a pipe whose reader went away.
type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestClosedOutput(t *testing.T) {
	var stderr bytes.Buffer
	if code := run([]string{"explain"}, strings.NewReader(""), closedPipe{}, &stderr); code != exitFailed {
		t.Errorf("exit status %d, want %d", code, exitFailed)
	}
	if stderr.Len() != 0 {
		t.Errorf("a closed pipe is silent, got %q", stderr.String())
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestFullDisk(t *testing.T) {
	var stderr bytes.Buffer
	if code := run([]string{"explain"}, strings.NewReader(""), fullDisk{}, &stderr); code != exitFailed {
		t.Errorf("exit status %d, want %d", code, exitFailed)
	}
	if want := "nftc: writing output: no space left on device\n"; stderr.String() != want {
		t.Errorf("got %q, want %q", stderr.String(), want)
	}
}

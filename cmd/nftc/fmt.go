package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/parser"
)

type fmtCmd struct {
	List  bool     `short:"l" xor:"form" help:"Print the names of files that are not formatted; exit 1 if there are any."`
	Diff  bool     `short:"d" xor:"form" help:"Print the changes as a diff; exit 1 if there are any."`
	Write bool     `short:"w" help:"Write the result to the file instead of standard output."`
	Files []string `arg:"" name:"file" help:"Rulesets; - is standard input."`
}

// formatted is the outcome of one file as --json writes it.
type formatted struct {
	File    string             `json:"file"`
	Changed bool               `json:"changed"`
	Text    *string            `json:"text,omitempty"`
	Errors  []diag.JSONFinding `json:"errors,omitempty"`
}

func (c *fmtCmd) Run(a *app) error {
	if c.Write {
		for _, name := range c.Files {
			if name == "-" {
				return usageError{"-w needs files: standard input cannot be written"}
			}
		}
	}
	var results []formatted
	var outcome error
	worse := func(err error) {
		if outcome == nil || errors.Is(outcome, errFinding) && !errors.Is(err, errFinding) {
			outcome = err
		}
	}
	for _, name := range c.Files {
		s, err := a.parse(name, parser.Options{KeepIncludes: true})
		switch {
		case errors.As(err, &usageError{}):
			return err
		case err != nil:
			fmt.Fprintf(a.stderr, "nftc: %v\n", err)
			worse(shownError{err})
			continue
		case s.hasErrors():
			if err := a.show(s); !errors.Is(err, errFinding) {
				return err
			}
			results = append(results, formatted{File: s.name, Errors: diag.JSON(s.findings())})
			worse(errFinding)
			continue
		}
		before, after := s.tree.Source.Text, parser.Format(s.tree)
		changed := before != after
		r := formatted{File: s.name, Changed: changed}
		if !c.List && !c.Diff && !c.Write {
			r.Text = &after
		}
		results = append(results, r)
		if !a.global.JSON {
			c.print(a, s.name, before, after)
		}
		if changed && (c.List || c.Diff) {
			worse(errFinding)
		}
		if changed && c.Write {
			if err := replaceFile(name, after); err != nil {
				return err
			}
		}
	}
	if a.global.JSON {
		if err := a.writeJSON(struct {
			Version int         `json:"version"`
			Files   []formatted `json:"files"`
		}{diag.JSONVersion, results}); err != nil {
			return err
		}
	}
	return outcome
}

func (c *fmtCmd) print(a *app, name, before, after string) {
	switch {
	case c.List:
		if before != after {
			fmt.Fprintln(a.stdout, name)
		}
	case c.Diff:
		a.stdout.Write(diff.Diff(name+".orig", []byte(before), name, []byte(after)))
	case !c.Write:
		fmt.Fprint(a.stdout, after)
	}
}

// replaceFile writes a file so that at no time half of it is there. A symbolic
// link stays one.
func replaceFile(name, text string) error {
	name, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

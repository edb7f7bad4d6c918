package main

import (
	"errors"
	"fmt"

	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/internal/diag/sarif"
	"github.com/nftc/nftc/lint"
)

type checkCmd struct {
	Format string   `enum:"text,json,sarif,github" default:"text" help:"Form of the findings: text, json, sarif or github."`
	FailOn string   `name:"fail-on" enum:"error,warning" default:"error" help:"Exit 1 for errors, or for warnings too."`
	NoLint bool     `name:"no-lint" help:"Report errors only."`
	Files  []string `arg:"" name:"file" help:"Rulesets, each taken by itself; - is standard input."`
}

// checkReport is what check writes as JSON.
type checkReport struct {
	Version  int                `json:"version"`
	Files    []checkFile        `json:"files"`
	Errors   int                `json:"errors"`
	Warnings int                `json:"warnings"`
	Findings []diag.JSONFinding `json:"findings"`
}

// checkFile is the outcome of one file; Error is set when it could not be read.
type checkFile struct {
	File  string `json:"file"`
	Valid bool   `json:"valid"`
	Error string `json:"error,omitempty"`
}

// newCheckReport is the report of one file.
func newCheckReport(s *source) checkReport {
	found := s.findings()
	r := checkReport{Version: diag.JSONVersion, Files: []checkFile{{File: s.name, Valid: !s.hasErrors()}}, Findings: diag.JSON(found)}
	r.Errors, r.Warnings = diag.Count(found)
	return r
}

func (c *checkCmd) Run(a *app) error {
	if a.global.JSON {
		c.Format = "json"
	}
	report := checkReport{Version: diag.JSONVersion}
	var all []diag.Finding
	var failed error
	for _, name := range c.Files {
		s, err := a.load(name)
		if errors.As(err, &usageError{}) {
			return err
		}
		if err != nil {
			// The others are still checked; the status tells in the end.
			failed = err
			report.Files = append(report.Files, checkFile{File: name, Error: err.Error()})
			fmt.Fprintf(a.stderr, "nftc: %v\n", err)
			continue
		}
		if s.ruleset != nil && !s.hasErrors() && !c.NoLint {
			s.diags = append(s.diags, lint.Run(s.ruleset)...)
		}
		found := s.findings()
		all = append(all, found...)
		report.Files = append(report.Files, checkFile{File: s.name, Valid: !s.hasErrors()})
		if c.Format == "text" {
			if err := diag.WriteText(a.stderr, found, a.textOptions()); err != nil {
				return err
			}
		}
	}
	report.Errors, report.Warnings = diag.Count(all)
	var err error
	switch c.Format {
	case "json":
		report.Findings = diag.JSON(all)
		err = a.writeJSON(report)
	case "sarif":
		err = sarif.Write(a.stdout, version(), all, func(code string) (diag.Doc, bool) {
			d, ok := docs()[code]
			return d, ok
		})
	case "github":
		err = diag.WriteGitHub(a.stdout, all)
	}
	switch {
	case err != nil:
		return err
	case failed != nil:
		return shownError{failed}
	case report.Errors > 0, report.Warnings > 0 && c.FailOn == "warning":
		return errFinding
	}
	return nil
}

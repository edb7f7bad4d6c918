package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/lint"
)

type explainCmd struct {
	Code string `arg:"" optional:"" help:"Code of a diagnostic, as it stands in brackets; all codes without it."`
}

// docs is the documentation of every code.
func docs() diag.Docs {
	all := make(diag.Docs)
	for code, d := range diag.ErrorDocs() {
		all[code] = d
	}
	for code, d := range lint.Docs() {
		all[code] = d
	}
	return all
}

// explained is a document as --json writes it.
type explained struct {
	Version  int    `json:"version"`
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Title    string `json:"title"`
	Text     string `json:"text"`
	Example  string `json:"example,omitempty"`
	Fixed    string `json:"fixed,omitempty"`
}

// explainedList is the list of all codes as --json writes it.
type explainedList struct {
	Version int      `json:"version"`
	Codes   []titled `json:"codes"`
}

type titled struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Title    string `json:"title"`
}

func (c *explainCmd) Run(a *app) error {
	all := docs()
	if c.Code == "" {
		if a.global.JSON {
			list := explainedList{Version: diag.JSONVersion}
			for _, code := range all.Codes() {
				list.Codes = append(list.Codes, titled{code, severity(code), all[code].Title})
			}
			return a.writeJSON(list)
		}
		for _, code := range all.Codes() {
			fmt.Fprintf(a.stdout, "%-28s %s\n", code, all[code].Title)
		}
		return nil
	}
	code := strings.Trim(c.Code, "[]")
	d, ok := all[code]
	if !ok {
		msg := fmt.Sprintf("no diagnostic is called %q", code)
		if near := diag.Nearest(code, all.Codes()); near != "" {
			msg += fmt.Sprintf("; did you mean %q?", near)
		}
		return usageError{msg}
	}
	if a.global.JSON {
		return a.writeJSON(explained{diag.JSONVersion, code, severity(code), d.Title, d.Text, d.Example, d.Fixed})
	}
	fmt.Fprintf(a.stdout, "%s (%s): %s\n\n%s\n", code, severity(code), d.Title, d.Text)
	if d.Example != "" {
		fmt.Fprintf(a.stdout, "\nExample:\n\n%s", indent(d.Example))
	}
	if d.Fixed != "" {
		fmt.Fprintf(a.stdout, "\nFixed:\n\n%s", indent(d.Fixed))
	}
	return nil
}

// severity is that with which a code is reported.
func severity(code string) string {
	if _, ok := lint.Docs()[code]; ok {
		return diag.Warning.String()
	}
	return diag.Error.String()
}

// writeJSON writes one object and a newline.
func (a *app) writeJSON(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n    ") + "\n"
}

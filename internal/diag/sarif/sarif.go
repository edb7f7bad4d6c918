// Package sarif writes findings as a SARIF 2.1.0 log, for code scanning
// services. It is apart from diag so that users of the library do not carry
// the SARIF model.
package sarif

import (
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/owenrumney/go-sarif/v2/sarif"

	"github.com/nftc/nftc/internal/diag"
)

// Write writes one run with all findings. doc gives the documentation of a
// code. Columns count Unicode code points, as the log says.
func Write(w io.Writer, version string, fs []diag.Finding, doc func(code string) (diag.Doc, bool)) error {
	report, err := sarif.New(sarif.Version210)
	if err != nil {
		return err
	}
	run := sarif.NewRun(*sarif.NewTool(sarif.NewVersionedDriver("nftc", version)))
	run.ColumnKind = "unicodeCodePoints"
	for i := range fs {
		f := &fs[i]
		rule := run.AddRule(f.Code)
		if d, ok := doc(f.Code); ok {
			rule.WithDescription(d.Title)
			rule.Help = sarif.NewMultiformatMessageString(d.Markdown()).WithMarkdown(d.Markdown())
		} else {
			rule.WithDescription(f.Code)
		}
		result := run.CreateResultForRule(f.Code).
			WithLevel(level(f.Severity)).
			WithMessage(sarif.NewTextMessage(f.Text()))
		if f.Start.Line != 0 {
			result.AddLocation(location(f.File(f.Start.File), f.Start, f.End))
		}
		for _, n := range f.Notes {
			if n.Start.Line != 0 {
				loc := location(f.File(n.Start.File), n.Start, n.End)
				loc.Message = sarif.NewTextMessage(n.Message)
				result.RelatedLocations = append(result.RelatedLocations, loc)
			}
		}
	}
	report.AddRun(run)
	if err := report.PrettyWrite(w); err != nil {
		return err
	}
	_, err = io.WriteString(w, "\n")
	return err
}

func level(s diag.Severity) string {
	switch s {
	case diag.Warning:
		return "warning"
	case diag.Info:
		return "note"
	}
	return "error"
}

func location(f *diag.File, start, end diag.Position) *sarif.Location {
	region := sarif.NewRegion().
		WithStartLine(start.Line).WithStartColumn(codePoints(f, start)).
		WithEndLine(end.Line).WithEndColumn(codePoints(f, end))
	return sarif.NewLocationWithPhysicalLocation(sarif.NewPhysicalLocation().
		WithArtifactLocation(sarif.NewSimpleArtifactLocation(uri(start.File))).
		WithRegion(region))
}

// codePoints turns a column in bytes into one in code points.
func codePoints(f *diag.File, p diag.Position) int {
	if f == nil {
		return p.Column
	}
	line, _ := f.Line(p.Line)
	return utf8.RuneCountInString(line[:min(p.Column-1, len(line))]) + 1
}

// uri makes a URI reference of a file name: relative names stay relative, which
// services resolve against the checkout.
func uri(name string) string {
	name = strings.TrimPrefix(filepath.ToSlash(name), "./")
	u := url.URL{Path: name}
	if strings.HasPrefix(name, "/") {
		u.Scheme = "file"
	}
	return u.String()
}

package parser

import (
	"io"

	"github.com/nftc/nftc/internal/diag"
)

// The types of diagnostics, which all stages share, by the names under which
// other modules can use them.
type (
	// FileSet holds the texts of a run and turns spans into places: one for
	// all files of a ruleset.
	FileSet = diag.FileSet
	// Span is a range of bytes in some file of a FileSet.
	Span = diag.Span
	// Position is a place in a file: name, line and column, from 1.
	Position = diag.Position
	// Diagnostic is one thing that a stage found.
	Diagnostic = diag.Diagnostic
	// Severity is how much a diagnostic matters.
	Severity = diag.Severity
)

// Severities.
const (
	Error   = diag.Error
	Warning = diag.Warning
	Info    = diag.Info
)

// WriteDiagnostics writes diagnostics as `nftc check` does, each with the text
// that it is about. files is what Parse got.
func WriteDiagnostics(w io.Writer, files *FileSet, ds []Diagnostic) error {
	return diag.WriteText(w, diag.Findings(files, ds), diag.TextOptions{})
}

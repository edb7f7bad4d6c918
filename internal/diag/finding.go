package diag

import "strings"

// Finding is a diagnostic with its places resolved to file, line and column:
// what leaves the program. Renderers take findings, so that those of several
// rulesets, each with its own FileSet, can stand in one report.
type Finding struct {
	Code     string
	Severity Severity
	Message  string
	Suggest  string
	// Start and End are the zero Position when the place is unknown. End is
	// one past the last byte.
	Start, End Position
	// Included are the include statements through which the file was reached,
	// innermost first.
	Included []Position
	Notes    []FindingNote

	files *FileSet
	span  Span
}

// FindingNote is a note with its place resolved.
type FindingNote struct {
	Message    string
	Start, End Position

	span Span
}

// Text is the message with the suggestion, as all renderers show it.
func (f *Finding) Text() string {
	if f.Suggest == "" || strings.Contains(f.Message, `"`+f.Suggest+`"?`) {
		return f.Message
	}
	return f.Message + `; did you mean "` + f.Suggest + `"?`
}

// Findings resolves the places of diagnostics.
func Findings(files *FileSet, ds []Diagnostic) []Finding {
	out := make([]Finding, 0, len(ds))
	for _, d := range ds {
		f := Finding{
			Code: d.Code, Severity: d.Severity, Message: d.Message, Suggest: d.Suggest,
			Start: files.Position(d.Span.Start), End: files.endPosition(d.Span),
			Included: files.included(d.Span.Start),
			files:    files, span: d.Span,
		}
		for _, n := range d.Notes {
			f.Notes = append(f.Notes, FindingNote{
				Message: n.Message,
				Start:   files.Position(n.Span.Start), End: files.endPosition(n.Span),
				span: n.Span,
			})
		}
		out = append(out, f)
	}
	return out
}

// endPosition resolves the end of a span, which may lie one past the text of
// its file and so must be looked up in the file of its start.
func (s *FileSet) endPosition(sp Span) Position {
	f := s.File(sp.Start)
	if f == nil {
		return Position{}
	}
	return f.Position(min(max(f.Offset(sp.End), f.Offset(sp.Start)), len(f.Text)))
}

// maxIncludeDepth bounds the chain that included follows; nft itself allows 16.
const maxIncludeDepth = 64

// included lists the include statements that lead to a place, innermost first.
func (s *FileSet) included(p Pos) []Position {
	var out []Position
	for range maxIncludeDepth {
		f := s.File(p)
		if f == nil || !f.IncludedAt.Valid() {
			break
		}
		p = f.IncludedAt.Start
		out = append(out, s.Position(p))
	}
	return out
}

// Count returns how many findings are errors and how many are warnings.
func Count(fs []Finding) (errors, warnings int) {
	for i := range fs {
		switch fs[i].Severity {
		case Error:
			errors++
		case Warning:
			warnings++
		}
	}
	return errors, warnings
}

// File returns the source file of that name which the finding's ruleset was
// read from, or nil.
func (f *Finding) File(name string) *File {
	if f.files == nil {
		return nil
	}
	for _, file := range f.files.Files {
		if file.Name == name {
			return file
		}
	}
	return nil
}

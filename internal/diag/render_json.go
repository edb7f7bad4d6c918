package diag

// JSONVersion is the version of the objects that JSON describes. It grows when
// a field changes its meaning or goes away, not when one is added.
const JSONVersion = 1

// JSONFinding is a finding as every command's --json writes it; docs/json.md
// describes the fields.
type JSONFinding struct {
	Code         string       `json:"code"`
	Severity     string       `json:"severity"`
	Message      string       `json:"message"`
	Suggestion   string       `json:"suggestion,omitempty"`
	Place        *JSONPlace   `json:"place"`
	IncludedFrom []*JSONPlace `json:"included_from,omitempty"`
	Notes        []JSONNote   `json:"notes,omitempty"`
}

// JSONPlace is a range of source text. Lines and columns count from 1, columns
// in bytes; the end is one past the last byte.
type JSONPlace struct {
	File      string `json:"file"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"end_line,omitempty"`
	EndColumn int    `json:"end_column,omitempty"`
}

// JSONNote is a note of a finding.
type JSONNote struct {
	Message string     `json:"message"`
	Place   *JSONPlace `json:"place,omitempty"`
}

func jsonPlace(start, end Position) *JSONPlace {
	if start.Line == 0 {
		return nil
	}
	return &JSONPlace{start.File, start.Line, start.Column, end.Line, end.Column}
}

// JSON returns findings in the form that encoding/json writes as documented.
func JSON(fs []Finding) []JSONFinding {
	out := make([]JSONFinding, 0, len(fs))
	for i := range fs {
		f := &fs[i]
		j := JSONFinding{
			Code: f.Code, Severity: f.Severity.String(), Message: f.Message,
			Suggestion: f.Suggest, Place: jsonPlace(f.Start, f.End),
		}
		for _, p := range f.Included {
			j.IncludedFrom = append(j.IncludedFrom, jsonPlace(p, Position{}))
		}
		for _, n := range f.Notes {
			j.Notes = append(j.Notes, JSONNote{n.Message, jsonPlace(n.Start, n.End)})
		}
		out = append(out, j)
	}
	return out
}

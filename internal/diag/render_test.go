package diag_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/internal/diag/sarif"
)

// mark builds a finding about the text between « and » of a source.
func mark(t *testing.T, files *diag.FileSet, name, src string) (diag.Span, *diag.File) {
	t.Helper()
	a := strings.Index(src, "«")
	src = strings.Replace(src, "«", "", 1)
	b := strings.Index(src, "»")
	src = strings.Replace(src, "»", "", 1)
	f, err := files.Add(name, src)
	if err != nil {
		t.Fatal(err)
	}
	return f.Span(a, b), f
}

func TestWriteText(t *testing.T) {
	long := strings.Repeat("10.0.0.1, ", 100)
	for _, c := range []struct{ name, src, want string }{
		{"tabs", "a\n\ttcp «dprot» 22\n", `r.nft:2:6: error: m; did you mean "dport"? [c]
  |
2 |     tcp dprot 22
  |         ^~~~~
`},
		{"no width", "a «»b\n", `r.nft:1:3: error: m; did you mean "dport"? [c]
  |
1 | a b
  |   ^
`},
		{"several lines", "table «t {\n}»\n", `r.nft:1:7: error: m; did you mean "dport"? [c]
  |
1 | table t {
  |       ^~~
`},
		{"end of file", "a {«»", `r.nft:1:4: error: m; did you mean "dport"? [c]
  |
1 | a {
  |    ^
`},
		{"control characters", "a «b\x1b[31m» c\r\n", "r.nft:1:3: error: m; did you mean \"dport\"? [c]\n" +
			"  |\n1 | a b\uFFFD[31m c\n  |   ^~~~~~\n"},
		{"letters of several bytes", "é «é» x", "r.nft:1:4: error: m; did you mean \"dport\"? [c]\n  |\n1 | é é x\n  |   ^\n"},
		{"long line", "{ " + long + "«10.9.9.9», " + long, `r.nft:1:1003: error: m; did you mean "dport"? [c]
  |
1 | …10.0.0.1, 10.0.0.1, 10.0.0.1, 10.9.9.9, 10.0.0.1…
  |                                ^~~~~~~~
`},
		{"long mark", "a «" + long + "» b", `r.nft:1:3: error: m; did you mean "dport"? [c]
  |
1 | a 10.0.0.1, 10.0.0.1, 10.0.0.1, 10.0.0.1, 10.0.0.…
  |   ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
`},
	} {
		var files diag.FileSet
		sp, _ := mark(t, &files, "r.nft", c.src)
		var b bytes.Buffer
		fs := diag.Findings(&files, []diag.Diagnostic{{Code: "c", Span: sp, Message: "m", Suggest: "dport"}})
		if err := diag.WriteText(&b, fs, diag.TextOptions{Width: 50}); err != nil {
			t.Fatal(err)
		}
		if b.String() != c.want {
			t.Errorf("%s: got\n%swant\n%s", c.name, b.String(), c.want)
		}
	}
}

func TestWriteTextNotesAndIncludes(t *testing.T) {
	var files diag.FileSet
	at, _ := mark(t, &files, "main.nft", "«include \"a.nft\"»\n")
	sp, f := mark(t, &files, "a.nft", "set «s» { }\nset s { }\n")
	f.IncludedAt = at
	var b bytes.Buffer
	fs := diag.Findings(&files, []diag.Diagnostic{{Code: "c", Severity: diag.Warning, Span: f.Span(14, 15), Message: "m",
		Notes: []diag.Note{{Span: sp, Message: "first here"}, {Message: "a hint"}}}, {Code: "d", Message: "nowhere"}})
	if err := diag.WriteText(&b, fs, diag.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	want := `a.nft:2:5: warning: m [c]
  |
2 | set s { }
  |     ^
  = included from main.nft:1:1
a.nft:1:5: note: first here
  |
1 | set s { }
  |     ^
  = note: a hint
error: nowhere [d]
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// A line of many megabytes costs no more than its window.
func TestWriteTextHugeLine(t *testing.T) {
	var files diag.FileSet
	f, err := files.Add("r.nft", strings.Repeat("x", 50<<20))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	fs := diag.Findings(&files, []diag.Diagnostic{{Span: f.Span(30<<20, 40<<20), Message: "m"}})
	allocs := testing.AllocsPerRun(10, func() {
		b.Reset()
		diag.WriteText(&b, fs, diag.TextOptions{})
	})
	if b.Len() > 1000 || allocs > 100 {
		t.Errorf("%d bytes, %v allocations", b.Len(), allocs)
	}
}

func TestWriteGitHub(t *testing.T) {
	var files diag.FileSet
	sp, _ := mark(t, &files, "a,b:c.nft", "tcp «dprot» 22\n")
	var b bytes.Buffer
	fs := diag.Findings(&files, []diag.Diagnostic{
		{Code: "c", Span: sp, Message: "100%\nsure", Suggest: "dport", Notes: []diag.Note{{Message: "why"}}},
		{Code: "d", Severity: diag.Warning, Message: "m"},
	})
	if err := diag.WriteGitHub(&b, fs); err != nil {
		t.Fatal(err)
	}
	want := "::error file=a%2Cb%3Ac.nft,line=1,col=5,endLine=1,endColumn=10,title=c::100%25%0Asure; did you mean \"dport\"?%0Awhy\n" +
		"::warning title=d::m\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestSARIF(t *testing.T) {
	var files diag.FileSet
	sp, f := mark(t, &files, "./a dir/r.nft", "é «dprot» 22\n")
	fs := diag.Findings(&files, []diag.Diagnostic{
		{Code: "c", Severity: diag.Warning, Span: sp, Message: "m", Notes: []diag.Note{{Span: f.Span(0, 2), Message: "n"}}},
		{Code: "c", Message: "nowhere"},
	})
	var b bytes.Buffer
	doc := func(string) (diag.Doc, bool) { return diag.Doc{}, false }
	if err := sarif.Write(&b, "v1", fs, doc); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Version string
		Runs    []struct {
			Tool    struct{ Driver struct{ Rules []any } }
			Results []struct {
				Level     string
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine, StartColumn, EndColumn int }
					}
				}
				RelatedLocations []any
			}
			ColumnKind string
		}
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	r := got.Runs[0].Results
	p := r[0].Locations[0].PhysicalLocation
	if got.Version != "2.1.0" || len(got.Runs[0].Tool.Driver.Rules) != 1 || len(r) != 2 || r[0].Level != "warning" ||
		p.ArtifactLocation.URI != "a%20dir/r.nft" || p.Region.StartColumn != 3 || p.Region.EndColumn != 8 ||
		len(r[0].RelatedLocations) != 1 || len(r[1].Locations) != 0 {
		t.Errorf("got %s", b.String())
	}
}

func TestSARIFWithoutFindings(t *testing.T) {
	var b bytes.Buffer
	if err := sarif.Write(&b, "v1", nil, nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"results": []`) {
		t.Errorf("services need the empty list of results: %s", b.String())
	}
}

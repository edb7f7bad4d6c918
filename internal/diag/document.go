package diag

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
)

// Doc is the documentation of a diagnostic code, as `nftc explain` shows it.
type Doc struct {
	Code  string
	Title string
	// Text is the explanation in Markdown, without title and examples.
	Text string
	// Example provokes the diagnostic; Fixed is the same without it. Example
	// is empty for what no ruleset alone can provoke (a missing file).
	Example, Fixed string
}

// ParseDoc reads a document of this form:
//
//	# Title
//
//	Text.
//
//	## Example
//
//	```nft
//	…
//	```
//
//	## Fixed
//
//	```nft
//	…
//	```
func ParseDoc(code, markdown string) (Doc, error) {
	d := Doc{Code: code}
	title, rest, _ := strings.Cut(markdown, "\n")
	var ok bool
	if d.Title, ok = strings.CutPrefix(title, "# "); !ok {
		return d, fmt.Errorf("document of %s: first line is not a title", code)
	}
	text, rest, hasExample := strings.Cut(rest, "\n## Example\n")
	d.Text = strings.TrimSpace(text)
	if d.Text == "" {
		return d, fmt.Errorf("document of %s: no text", code)
	}
	if !hasExample {
		return d, nil
	}
	example, fixed, hasFixed := strings.Cut(rest, "\n## Fixed\n")
	var err error
	if d.Example, err = fenced(example); err != nil {
		return d, fmt.Errorf("document of %s: example: %w", code, err)
	}
	if hasFixed {
		if d.Fixed, err = fenced(fixed); err != nil {
			return d, fmt.Errorf("document of %s: fixed example: %w", code, err)
		}
	}
	return d, nil
}

// fenced returns the one code block that a section consists of.
func fenced(s string) (string, error) {
	s = strings.TrimSpace(s)
	s, ok := strings.CutPrefix(s, "```nft\n")
	if !ok {
		return "", fmt.Errorf("does not start with ```nft")
	}
	s, ok = strings.CutSuffix(s, "```")
	if !ok || strings.Contains(s, "```") {
		return "", fmt.Errorf("is not one code block")
	}
	return s, nil
}

// Markdown is the document in the form that ParseDoc reads.
func (d Doc) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n", d.Title, d.Text)
	if d.Example != "" {
		fmt.Fprintf(&b, "\n## Example\n\n```nft\n%s```\n", d.Example)
	}
	if d.Fixed != "" {
		fmt.Fprintf(&b, "\n## Fixed\n\n```nft\n%s```\n", d.Fixed)
	}
	return b.String()
}

// Docs is documentation by code.
type Docs map[string]Doc

// LoadDocs reads every CODE.md of a folder.
func LoadDocs(fsys fs.FS, dir string) (Docs, error) {
	names, err := fs.Glob(fsys, path.Join(dir, "*.md"))
	if err != nil {
		return nil, err
	}
	out := make(Docs, len(names))
	for _, name := range names {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		code := strings.TrimSuffix(path.Base(name), ".md")
		if out[code], err = ParseDoc(code, string(text)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Codes returns the documented codes in order.
func (d Docs) Codes() []string { return slices.Sorted(maps.Keys(d)) }

//go:embed codes/*.md
var codeFiles embed.FS

// ErrorDocs returns the documentation of the codes that parsing and resolving
// use. Lints have theirs in package lint. The documents are part of the
// program and covered by a test; a broken one panics.
var ErrorDocs = sync.OnceValue(func() Docs {
	d, err := LoadDocs(codeFiles, "codes")
	if err != nil {
		panic(err)
	}
	return d
})

package diag

import (
	"fmt"
	"sort"
	"sync"
)

// Pos is a place in the text of a FileSet; 0 means unknown.
type Pos uint32

// Span is the half-open range [Start, End) of source text. The zero Span is
// unknown; Start and End always lie in the same file.
type Span struct {
	Start, End Pos
}

// Valid tells whether the span points into some file.
func (s Span) Valid() bool { return s.Start != 0 }

// Join returns the smallest span that covers both; an unknown one is ignored.
func (s Span) Join(t Span) Span {
	if !s.Valid() {
		return t
	}
	if !t.Valid() {
		return s
	}
	return Span{min(s.Start, t.Start), max(s.End, t.End)}
}

// Position is a place as people read it: 1-based line and column (in bytes, as
// nft counts them).
type Position struct {
	File   string
	Line   int
	Column int
}

func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// File is one source file of a FileSet.
type File struct {
	Name string
	Text string
	// IncludedAt is the include statement that brought this file, if any.
	IncludedAt Span

	base  Pos
	once  sync.Once
	lines []uint32 // offsets of line starts, built on first use
}

// Pos returns the place of a byte offset in the file.
func (f *File) Pos(offset int) Pos { return f.base + Pos(offset) }

// Span returns the span of two byte offsets in the file.
func (f *File) Span(start, end int) Span { return Span{f.Pos(start), f.Pos(end)} }

// Offset returns the byte offset of a place in this file.
func (f *File) Offset(p Pos) int { return int(p - f.base) }

func (f *File) index() []uint32 {
	f.once.Do(func() {
		f.lines = append(f.lines, 0)
		for i := 0; i < len(f.Text); i++ {
			if f.Text[i] == '\n' {
				f.lines = append(f.lines, uint32(i+1))
			}
		}
	})
	return f.lines
}

// Position returns line and column of a byte offset.
func (f *File) Position(offset int) Position {
	lines := f.index()
	i := sort.Search(len(lines), func(i int) bool { return int(lines[i]) > offset }) - 1
	return Position{File: f.Name, Line: i + 1, Column: offset - int(lines[i]) + 1}
}

// Line returns the text of a 1-based line without its newline, and the byte
// offset at which it starts; empty when there is no such line.
func (f *File) Line(n int) (text string, start int) {
	lines := f.index()
	if n < 1 || n > len(lines) {
		return "", len(f.Text)
	}
	start = int(lines[n-1])
	end := len(f.Text)
	if n < len(lines) {
		end = int(lines[n]) - 1
	}
	return f.Text[start:end], start
}

// MaxSource is the most text that one FileSet can hold: a Pos is 32 bits.
const MaxSource = 1<<32 - 2

// FileSet is all the source text of one run. It is not safe to add files from
// several goroutines.
type FileSet struct {
	Files []*File
	next  Pos
}

// Add registers a file. It fails when the texts together would exceed MaxSource.
func (s *FileSet) Add(name, text string) (*File, error) {
	if s.next == 0 {
		s.next = 1
	}
	if uint64(s.next)+uint64(len(text))+1 > MaxSource {
		return nil, fmt.Errorf("%s: source text exceeds %d bytes in all", name, uint64(MaxSource))
	}
	f := &File{Name: name, Text: text, base: s.next}
	s.next += Pos(len(text)) + 1
	s.Files = append(s.Files, f)
	return f, nil
}

// File returns the file a place lies in, or nil.
func (s *FileSet) File(p Pos) *File {
	if s == nil || p == 0 || p >= s.next {
		return nil
	}
	i := sort.Search(len(s.Files), func(i int) bool { return s.Files[i].base > p }) - 1
	if i < 0 {
		return nil
	}
	return s.Files[i]
}

// Position returns file, line and column of a place; the zero Position when unknown.
func (s *FileSet) Position(p Pos) Position {
	f := s.File(p)
	if f == nil {
		return Position{}
	}
	return f.Position(f.Offset(p))
}

// Text returns the source text of a span, empty when unknown.
func (s *FileSet) Text(sp Span) string {
	f := s.File(sp.Start)
	if f == nil || sp.End < sp.Start {
		return ""
	}
	a, b := f.Offset(sp.Start), f.Offset(sp.End)
	if b > len(f.Text) {
		b = len(f.Text)
	}
	return f.Text[a:b]
}

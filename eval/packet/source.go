package packet

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Source yields packets one by one.
//
// Next fills p, which it resets first, and decodes it. It returns io.EOF after
// the last packet. Any other error ends the source too: the packets before it
// were all delivered, and the same error is returned again. Text sources
// (tuples, CSV, JSON Lines) report the errors of all lines in one
// [LineErrors] after delivering every valid packet.
//
// p.Data belongs to p until the next call of Next: it may be changed, and is
// overwritten by that call.
type Source interface {
	Next(p *Packet) error
	// Format names the format, as "pcap, little-endian, microseconds, EN10MB".
	Format() string
	// Progress tells how many bytes of the file have been read, and its size;
	// 0 for an unknown size.
	Progress() (read, size int64)
	// Warnings lists oddities of the file which did not stop the reading, each
	// once, such as an unknown version number.
	Warnings() []string
	Close() error
}

// Kind restricts what [Open] takes a file for.
type Kind uint8

const (
	KindAny     Kind = iota // by content and file name
	KindCapture             // pcap or pcapng, possibly gzip
	KindTuples              // packet notation, CSV or JSON Lines
)

// ReadError says at which byte of a capture reading had to stop, and why.
// Offset counts from the start of the file; with Gzip from the start of the
// uncompressed bytes.
type ReadError struct {
	File    string
	Offset  int64
	Gzip    bool
	Packets int64  // delivered before the error
	What    string // what was found there, and what was expected
	Err     error  // cause, may be nil
}

// Error gives one line: file, offset, what was found and how many packets were
// read before.
func (e *ReadError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: offset %d", e.File, e.Offset)
	if e.Gzip {
		b.WriteString(" of the uncompressed data")
	}
	fmt.Fprintf(&b, ": %s", e.What)
	if e.Err != nil && !errors.Is(e.Err, io.ErrUnexpectedEOF) {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.Packets > 0 {
		fmt.Fprintf(&b, " (%d packets read before)", e.Packets)
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// Open opens a capture or a file of packet notation; "-" is standard input,
// read from stdin. The format is told by the content: magic numbers first,
// then text, which is JSON Lines if it starts with '{', CSV if the name ends in
// .csv or the first line is a list of column names, else packet notation.
func Open(name string, kind Kind, stdin io.Reader) (Source, error) {
	if name == "-" {
		return NewSource("standard input", stdin, kind)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err == nil && st.IsDir() {
		f.Close()
		return nil, &ReadError{File: name, What: "is a directory, not a capture or a file of packets"}
	}
	s, err := NewSource(name, f, kind)
	if err != nil {
		f.Close()
		return nil, err
	}
	return s, nil
}

// readBuffer is how much a source reads at a time.
const readBuffer = 256 << 10

// NewSource reads from r what Open would read from a file called name. Close
// closes r if it is an io.Closer.
func NewSource(name string, r io.Reader, kind Kind) (Source, error) {
	if r == nil {
		return nil, &ReadError{File: name, What: "nothing to read"}
	}
	in := &input{name: name, file: r}
	if f, ok := r.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
			in.size = st.Size()
		}
	}
	src := io.Reader(&countReader{r: r, n: &in.read})
	br := bufio.NewReaderSize(src, 4096)
	if magic, _ := br.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, &ReadError{File: name, What: "gzip header is corrupt or cut short", Err: err}
		}
		in.gzip = true
		src = z
	} else {
		src = br
	}
	in.win.r = src
	head, err := in.win.need(4)
	if err != nil && len(head) == 0 {
		if err != io.EOF {
			return nil, in.fail(0, "cannot read", err)
		}
		if kind == KindTuples {
			return newTupleSource(in), nil
		}
		return nil, in.fail(0, "the file is empty", nil)
	}
	switch {
	case isPcapng(head):
		if kind == KindTuples {
			return nil, in.fail(0, "this is a pcapng capture, not a file of packets in text", nil)
		}
		return newPcapng(in)
	case isPcap(head):
		if kind == KindTuples {
			return nil, in.fail(0, "this is a pcap capture, not a file of packets in text", nil)
		}
		return newPcap(in)
	}
	text, _ := in.win.need(512)
	i := bytes.IndexFunc(text, func(c rune) bool { return c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\f' })
	if i >= 0 || kind == KindCapture {
		return nil, in.fail(0, fmt.Sprintf("found %s, expected %s", quoteBytes(head), expected(kind)), nil)
	}
	first := strings.TrimLeft(strings.TrimPrefix(string(text), "\ufeff"), " \t\r\n")
	line, _, _ := strings.Cut(first, "\n")
	switch ext := strings.ToLower(filepath.Ext(strings.TrimSuffix(name, ".gz"))); {
	case strings.HasPrefix(first, "{"), ext == ".jsonl", ext == ".ndjson":
		return newJSONSource(in), nil
	case ext == ".csv", looksLikeCSV(line):
		return newCSVSource(in), nil
	}
	return newTupleSource(in), nil
}

func expected(kind Kind) string {
	switch kind {
	case KindCapture:
		return "the magic number of a pcap or pcapng capture"
	case KindTuples:
		return "text: packet notation, CSV or JSON Lines"
	}
	return "a pcap or pcapng capture, or packets in text"
}

// otherMagic names files that are neither captures nor text.
var otherMagic = []struct{ magic, what string }{
	{"\x28\xb5\x2f\xfd", "zstd compressed data"}, {"\xfd7zX", "xz compressed data"}, {"BZh", "bzip2 compressed data"},
	{"\x04\x22\x4d\x18", "lz4 compressed data"}, {"PK\x03\x04", "a zip archive"}, {"snoo", "a snoop capture"},
	{"\x7fELF", "a program"},
}

// knownFile names what begins with b; "" for other bytes.
func knownFile(b []byte) string {
	for _, m := range otherMagic {
		if bytes.HasPrefix(b, []byte(m.magic)) {
			return m.what
		}
	}
	return ""
}

func quoteBytes(b []byte) string {
	if k := knownFile(b); k != "" {
		return k
	}
	return fmt.Sprintf("bytes % x (%q)", b, b)
}

// input is an open file with what all formats need: name, position, counters.
type input struct {
	name     string
	file     io.Reader
	read     int64 // bytes read of the file
	size     int64
	gzip     bool
	win      window
	packets  int64
	warnings []string
	err      error // sticky
}

func (in *input) Progress() (read, size int64) { return in.read, in.size }
func (in *input) Warnings() []string           { return in.warnings }

func (in *input) Close() error {
	if c, ok := in.file.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// fail builds the error at an offset of the (uncompressed) data.
func (in *input) fail(off int64, what string, cause error) error {
	return &ReadError{File: in.name, Offset: off, Gzip: in.gzip, Packets: in.packets, What: what, Err: cause}
}

// cut builds the error for data that ends, or cannot be read, inside a thing
// that starts at off.
func (in *input) cut(off int64, thing string, want int64, have int, cause error) error {
	if cause == io.EOF || cause == io.ErrUnexpectedEOF {
		return in.fail(off, fmt.Sprintf("truncated %s: found %d of %d bytes", thing, have, want), io.ErrUnexpectedEOF)
	}
	return in.fail(off, "cannot read "+thing, cause)
}

const maxWarnings = 20

func (in *input) warn(format string, args ...any) {
	w := fmt.Sprintf(format, args...)
	for _, old := range in.warnings {
		if old == w {
			return
		}
	}
	if len(in.warnings) < maxWarnings {
		in.warnings = append(in.warnings, w)
	}
}

type countReader struct {
	r io.Reader
	n *int64
}

func (c *countReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	*c.n += int64(n)
	return n, err
}

// window is a sliding view of a stream: bytes are read in large pieces, and
// handed out in place until the next call.
type window struct {
	r    io.Reader
	buf  []byte
	a, b int   // unread bytes are buf[a:b]
	off  int64 // stream offset of buf[a]
	err  error // from r, once
}

// need returns the next n bytes without consuming them. At the end of the
// stream it returns what is left, with io.EOF if that is nothing and
// io.ErrUnexpectedEOF if it is something; other errors come as they are.
func (w *window) need(n int) ([]byte, error) {
	if w.b-w.a >= n {
		return w.buf[w.a : w.a+n], nil
	}
	if n > len(w.buf) || w.a+n > len(w.buf) {
		buf := w.buf
		if n > len(buf) {
			buf = make([]byte, max(n, readBuffer))
		}
		w.b = copy(buf, w.buf[w.a:w.b])
		w.a, w.buf = 0, buf
	}
	for idle := 0; w.b-w.a < n && w.err == nil; {
		var m int
		m, w.err = w.r.Read(w.buf[w.b:])
		w.b += m
		if m > 0 {
			idle = 0
		} else if idle++; idle > 100 && w.err == nil {
			w.err = io.ErrNoProgress
		}
	}
	have := w.buf[w.a:min(w.b, w.a+n)]
	switch {
	case len(have) == n:
		return have, nil
	case w.err == io.EOF && len(have) > 0:
		return have, io.ErrUnexpectedEOF
	}
	return have, w.err
}

// take consumes n bytes that need has returned.
func (w *window) take(n int) {
	w.a += n
	w.off += int64(n)
}

// skip consumes n bytes, however many; it returns how many there were.
func (w *window) skip(n int64) (int64, error) {
	for left := n; left > 0; {
		if w.a == w.b {
			if _, err := w.need(1); err != nil {
				return n - left, err
			}
		}
		m := int(min(left, int64(w.b-w.a)))
		w.take(m)
		left -= int64(m)
	}
	return n, nil
}

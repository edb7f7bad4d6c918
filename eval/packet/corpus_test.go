package packet

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shared finds the folder of shared test data: $NFTC_SHARED, or ../shared
// beside the module. Tests that need it skip when it is absent.
func shared(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("NFTC_SHARED")
	if dir == "" {
		wd, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := os.Stat(filepath.Join(wd, "go.mod")); err == nil {
				break
			}
			up := filepath.Dir(wd)
			if up == wd {
				t.Skip("no module root found")
			}
			wd = up
		}
		dir = filepath.Join(filepath.Dir(wd), "shared")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("shared test data is absent: %v", err)
	}
	return dir
}

type manifestLine struct {
	File      string   `json:"file"`
	Packets   int64    `json:"packets"`
	LinkTypes []string `json:"linktypes"`
	FileError string   `json:"file_error"`
}

func manifest(t testing.TB) (dir string, lines []manifestLine) {
	dir = filepath.Join(shared(t), "corpus", "pcaps")
	f, err := os.Open(filepath.Join(dir, "manifest.jsonl"))
	if err != nil {
		t.Skipf("shared test data is absent: %v", err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var m manifestLine
		if err := json.Unmarshal(sc.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, m)
	}
	return dir, lines
}

// TestCorpusCaptures reads every capture of the corpus to its end.
func TestCorpusCaptures(t *testing.T) {
	dir, lines := manifest(t)
	var p Packet
	var total int64
	notes := map[LinkType]map[string]int{}
	for _, m := range lines {
		s, err := Open(filepath.Join(dir, m.File), KindCapture, nil)
		if err != nil {
			t.Errorf("%s: %v", m.File, err)
			continue
		}
		var n int64
		for {
			if err = s.Next(&p); err != nil {
				break
			}
			n++
			key := p.Note.String()
			if p.NH >= 0 {
				key = "network header"
			}
			if notes[p.LinkType] == nil {
				notes[p.LinkType] = map[string]int{}
			}
			notes[p.LinkType][key]++
			walkAll(&p)
		}
		if n != m.Packets {
			t.Errorf("%s: %d packets, manifest says %d (%v)", m.File, n, m.Packets, err)
		}
		if m.FileError == "" && err != io.EOF {
			t.Errorf("%s: %v", m.File, err)
		}
		if m.FileError != "" {
			var re *ReadError
			if !errors.As(err, &re) {
				t.Errorf("%s: got %v, want an error for %q", m.File, err, m.FileError)
			} else if !strings.Contains(err.Error(), m.File) {
				t.Errorf("error does not name the file: %v", err)
			} else {
				t.Log(err)
			}
		}
		for _, w := range s.Warnings() {
			t.Log(w)
		}
		total += n
		s.Close()
	}
	t.Logf("%d captures, %d packets", len(lines), total)
	for lt, m := range notes {
		t.Logf("%v: %v", lt, m)
	}
}

// walkAll looks at a packet in every way, to show that none panics.
func walkAll(p *Packet) {
	var b [16]byte
	for v := ViewInet; v <= ViewARP; v++ {
		p.Enter(v)
		for base := BaseLL; base <= BaseInner; base++ {
			for _, off := range []int{0, 10, 13, 100, 65535} {
				p.Load(base, off, b[:])
			}
		}
		for _, h := range []uint8{0, 43, 44, 51, 60, 135} {
			p.FindIPv6Header(h)
		}
		for _, o := range []uint8{7, 131, 137, 148} {
			p.FindIPv4Option(o)
		}
		for k := range 40 {
			p.LoadTCPOption(uint8(k), 2, b[:2])
			p.LoadSCTPChunk(uint8(k), 4, b[:4])
			p.HasDCCPOption(uint8(k))
		}
	}
	p.StackIngress()
	p.StackPrerouting()
	p.StackRoute()
	p.StackForward()
}

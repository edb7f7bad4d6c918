package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/nftc/nftc/eval/packet"
)

// fenced are the code blocks of a document: language and text.
func fenced(t *testing.T, path string) (blocks [][2]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", path))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split("\n"+string(text), "\n```")
	for i := 1; i < len(parts); i += 2 {
		lang, body, _ := strings.Cut(parts[i], "\n")
		blocks = append(blocks, [2]string{lang, body + "\n"})
	}
	return blocks
}

// TestReadmeCommands runs the commands that README.md starts with.
func TestReadmeCommands(t *testing.T) {
	ran := 0
	for _, b := range fenced(t, "README.md") {
		line, ok := strings.CutPrefix(strings.TrimSpace(b[1]), "go run ./cmd/nftc ")
		if !ok {
			continue
		}
		ran++
		t.Run("verdicts", func(t *testing.T) {
			t.Chdir(filepath.Join("..", ".."))
			out, errs, code := output(strings.Fields(line)...)
			if code != exitOK || !strings.Contains(out, "=> accept;") {
				t.Errorf("exit %d\n%s%s", code, out, errs)
			}
		})
	}
	if ran == 0 {
		t.Error("no command in README.md")
	}
}

// TestReadmeMistake shows the message that README.md quotes.
func TestReadmeMistake(t *testing.T) {
	for _, b := range fenced(t, "README.md") {
		if !strings.HasPrefix(b[1], "rules.nft:12:") {
			continue
		}
		lines := []string{"table inet filter {", "\tchain input {"}
		for len(lines) < 11 {
			lines = append(lines, "\t\taccept")
		}
		lines = append(lines, "\t\ttcp dprot 22 accept", "\t}", "}", "")
		t.Chdir(t.TempDir())
		if err := os.WriteFile("rules.nft", []byte(strings.Join(lines, "\n")), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, errs, _ := output("check", "--no-lint", "rules.nft"); errs != b[1] {
			t.Errorf("got\n%swant\n%s", errs, b[1])
		}
		return
	}
	t.Error("no message in README.md")
}

// TestReadmeTable compares the table of commands with the program's.
func TestReadmeTable(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var c cli
	parser, err := kong.New(&c, kong.Vars{"version": ""})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range parser.Model.Children {
		if !strings.Contains(string(text), fmt.Sprintf("| `nftc %s", n.Name)) {
			t.Errorf("README.md has no row for nftc %s", n.Name)
		}
	}
}

// TestNotationExamples reads every packet of the documents.
func TestNotationExamples(t *testing.T) {
	n := 0
	for _, doc := range []string{"README.md", "docs/notation.md"} {
		for _, b := range fenced(t, doc) {
			first, _, _ := strings.Cut(b[1], "\n")
			isPackets := strings.Contains(first, " > ") && !strings.HasPrefix(first, "[") && !strings.Contains(b[1], "\n  ") ||
				strings.HasPrefix(first, "proto,") || strings.HasPrefix(first, `{"proto"`)
			if !isPackets {
				continue
			}
			src, err := packet.NewSource(doc, strings.NewReader(b[1]), packet.KindTuples)
			if err != nil {
				t.Errorf("%s: %v", doc, err)
				continue
			}
			var p packet.Packet
			for err = src.Next(&p); err == nil; err = src.Next(&p) {
				n++
			}
			if !errors.Is(err, io.EOF) {
				t.Errorf("%s: %v", doc, err)
			}
		}
	}
	if n < 10 {
		t.Errorf("only %d packets", n)
	}
}

// TestJSONExample compares the verdict in docs/json.md with a real one: the same
// names, in the same order.
func TestJSONExample(t *testing.T) {
	for _, b := range fenced(t, "docs/json.md") {
		if b[0] != "json" {
			continue
		}
		var want struct {
			Summary string
			Rule    struct{ Text string }
		}
		if err := json.Unmarshal([]byte(b[1]), &want); err != nil {
			t.Fatal(err)
		}
		t.Chdir(t.TempDir())
		line, _, _ := strings.Cut(want.Rule.Text, "\n")
		ruleset := "table inet filter {\n\tchain input {\n\t\ttype filter hook input priority 0;" +
			strings.Repeat("\n", 9) + "\t\t" + line + "\n\t}\n}\n"
		for name, text := range map[string]string{"r.nft": ruleset, "packets": want.Summary} {
			if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		out, errs, code := output("eval", "--json", "--tuples", "packets", "r.nft")
		if code != exitOK {
			t.Fatalf("exit %d: %s", code, errs)
		}
		if got, want := values(t, out), values(t, b[1]); !maps.Equal(got, want) {
			t.Errorf("got\n%v\nwant\n%v", got, want)
		}
		return
	}
	t.Error("no example in docs/json.md")
}

// values are the members of an object as text; the handle depends on what
// stands before the rule, and assumptions on the packet.
func values(t *testing.T, text string) map[string]string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	if r, ok := m["rule"].(map[string]any); ok {
		delete(r, "handle")
	}
	delete(m, "assumed")
	out := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b, err := json.Marshal(m[k])
		if err != nil {
			t.Fatal(err)
		}
		out[k] = string(b)
	}
	return out
}

// TestDocumentedCommands runs the command lines of docs/ci.md on a good ruleset.
func TestDocumentedCommands(t *testing.T) {
	blocks := fenced(t, "docs/ci.md")
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("firewall/scenarios", 0o777); err != nil {
		t.Fatal(err)
	}
	const ruleset = "table inet filter {\n\tchain input {\n\t\ttype filter hook input priority filter;\n\t\ttcp dport 22 accept\n\t}\n}\n"
	if err := os.WriteFile("firewall/main.nft", []byte(ruleset), 0o666); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, b := range blocks {
		for line := range strings.Lines(b[1]) {
			_, cmd, ok := strings.Cut(line, "nftc ")
			if !ok || !strings.Contains(cmd, "firewall/*.nft") {
				continue
			}
			cmd, _, _ = strings.Cut(cmd, " >")
			args := strings.Fields(strings.ReplaceAll(cmd, "firewall/*.nft", "firewall/main.nft"))
			n++
			if _, errs, code := output(args...); code != exitOK {
				t.Errorf("nftc %q: exit %d: %s", args, code, errs)
			}
		}
	}
	if n < 4 {
		t.Errorf("only %d commands", n)
	}
}

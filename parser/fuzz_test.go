package parser

import (
	"reflect"
	"strings"
	"testing"

	"github.com/nftc/nftc/internal/diag"
)

var fuzzSeeds = []string{
	"", "#!/usr/sbin/nft -f\nflush ruleset\n",
	"table inet t {\n\tchain c {\n\t\ttype filter hook input priority filter - 10; policy drop;\n\t\tct state vmap { new : accept, * : jump { drop; } }\n\t}\n}\n",
	"table ip t {\n\tset s {\n\t\ttype ipv4_addr . inet_service\n\t\tflags interval\n\t\telements = { 10.0.0.0/8 . 1-5 timeout 1h counter, # x\n\t\t\t* }\n\t}\n}\n",
	"define a = { 1, 2 }\nredefine a = -5\nundefine a\nadd rule ip t c tcp dport $a accept\n",
	"add element t m { fe80::1 : drop, [::1] : goto x, a:b:c:d:e:f : 5, eth\\* : 6 }\n",
	"add rule t c dnat ip to 1.2.3.4-1.2.3.5:80-90 random,persistent comment \"x\"\n",
	"add rule t c tcp flags & (fin | syn) == syn @th,16,8 0x10 log prefix \"a\" limit rate over 1 mbytes/second burst 5 bytes\n",
	"table t {\n\tct timeout x {\n\t\tprotocol tcp\n\t\tpolicy = { established : 120, close : 20s }\n\t}\n\ttunnel x {\n\t\tid 5\n\t\tgeneve {\n\t\t\tclass 0x1 opt-type 0x2 data \"0x3\"\n\t\t}\n\t}\n}\n",
	"add rule t c \\\n\t# c\n\ttcp dport 1 accept; list ruleset; monitor new rules json\n",
	"\"", "{", "table t {", "a\x00b\r\n", "include \"x\"\n", "add rule t c mark (((1)))\n",
}

// FuzzParse: nothing makes the parser panic, and what parses can be formatted:
// the same tree, and the same text again.
func FuzzParse(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, ds := parseForFormat(text)
		for _, d := range ds {
			if d.Code == "internal-error" {
				t.Fatal(d.Message)
			}
			if d.Span.Valid() && (d.Span.End < d.Span.Start || int(d.Span.End) > len(text)+2) {
				t.Fatalf("span %v of %d bytes: %s", d.Span, len(text), d.Message)
			}
		}
		once := Format(a)
		if len(ds) > 0 {
			return
		}
		b, ds := parseForFormat(once)
		if len(ds) > 0 {
			t.Fatalf("formatted text does not parse: %s\n%s", firstError(b, ds), once)
		}
		if d := sameTree(reflect.ValueOf(a.Items), reflect.ValueOf(b.Items), ""); d != "" {
			t.Fatalf("the tree changed: %s\n%s", d, once)
		}
		if twice := Format(b); twice != once {
			t.Fatalf("formatting again gives another text:\n%s", firstDiff(once, twice))
		}
	})
}

// FuzzLex: tokens and what is between them make up the text.
func FuzzLex(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lex, err := Definition{}.LexString("x", text)
		if err != nil {
			t.Fatal(err)
		}
		last := 0
		for range len(text) + 1 {
			tok, err := lex.Next()
			if err != nil {
				t.Fatal(err)
			}
			gap := text[last:tok.Pos.Offset]
			for line := range strings.Lines(gap) {
				if s := strings.TrimLeft(line, " \t"); s != "" && s[0] != '#' && s != "\\\n" && s != "\n" {
					t.Fatalf("%q was passed over", line)
				}
			}
			if tok.EOF() {
				if tok.Pos.Offset != len(text) {
					t.Fatalf("the end at %d of %d", tok.Pos.Offset, len(text))
				}
				return
			}
			if tok.Value == "" || text[tok.Pos.Offset:tok.Pos.Offset+len(tok.Value)] != tok.Value {
				t.Fatalf("token %q at %d", tok.Value, tok.Pos.Offset)
			}
			last = tok.Pos.Offset + len(tok.Value)
		}
		t.Fatal("more tokens than bytes")
	})
}

// TestSpans: the text of a node's span is what was written.
func TestSpans(t *testing.T) {
	const text = "table ip t {\n\tchain c {\n\t\ttcp dport { 22, 80-90 } log prefix \"x\" accept\n\t}\n}\n"
	fs := &diag.FileSet{}
	f, ds := Parse(fs, "x", text, Options{})
	if len(ds) > 0 {
		t.Fatal(firstError(f, ds))
	}
	rule := f.Items[0].(*Command).Body.(*TableBlock).Items[0].(*Command).Body.(*ChainBlock).Items[0].(*Rule)
	m := rule.Stmts[0].(*Match)
	set := m.Y.(*SetLit)
	for _, c := range []struct {
		sp   diag.Span
		want string
	}{
		{rule.Span, `tcp dport { 22, 80-90 } log prefix "x" accept`},
		{m.Span, `tcp dport { 22, 80-90 }`},
		{m.X.Pos(), `tcp dport`},
		{set.Span, `{ 22, 80-90 }`},
		{set.Elems[1].Span, `80-90`},
		{rule.Stmts[1].Pos(), `log prefix "x"`},
		{rule.Stmts[1].(*Log).Keyword, `log`},
		{rule.Stmts[1].(*Log).Prefix.Span, `"x"`},
		{rule.Stmts[2].Pos(), `accept`},
	} {
		if got := fs.Text(c.sp); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var record = flag.Bool("record", false, "ask nft 1.1.7 (named by NFTC_NFT) and rewrite the recorded answers in testdata")

const recordedBy = "nft-1.1.7/"

// nft asks the real nft about a ruleset, in a network namespace of its own.
func nft(t *testing.T, ruleset, script string) (stdout, stderr string, ok bool) {
	t.Helper()
	prog := os.Getenv("NFTC_NFT")
	if prog == "" {
		t.Fatal("-record needs NFTC_NFT, the path of nft 1.1.7")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in.nft"), []byte(ruleset), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "-n", "sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "NFT="+prog, "TZ=UTC", "LC_ALL=C")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	return out.String(), errs.String(), err == nil
}

// file finds a file of an archive.
func file(a *txtar.Archive, name string) (string, bool) {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data), true
		}
	}
	return "", false
}

func setFile(a *txtar.Archive, name, text string) {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	for i := range a.Files {
		if a.Files[i].Name == name {
			a.Files[i].Data = []byte(text)
			return
		}
	}
	a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(text)})
}

// archives runs f on every archive of a folder of testdata, and writes those
// that it changed when recording or updating.
func archives(t *testing.T, dir string, f func(*testing.T, *txtar.Archive)) {
	names, err := filepath.Glob(filepath.Join("../../testdata", dir, "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no archives in testdata/%s (%v)", dir, err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			before, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			a := txtar.Parse(before)
			f(t, a)
			if after := txtar.Format(a); (*record || *update) && !bytes.Equal(before, after) {
				if err := os.WriteFile(name, after, 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// nftc runs the program on the archive's ruleset.
func nftc(a *txtar.Archive, args ...string) (code int, stdout, stderr string) {
	in, _ := file(a, "in.nft")
	var out, errs bytes.Buffer
	code = run(append(args, "-"), strings.NewReader(in), &out, &errs)
	return code, out.String(), errs.String()
}

// Rulesets that nft loads: bytecode and listing are nft's.
func TestAccept(t *testing.T) {
	archives(t, "accept", func(t *testing.T, a *txtar.Archive) {
		if *record {
			in, _ := file(a, "in.nft")
			netlink, errs, ok := nft(t, in, `"$NFT" --debug=netlink -c -f in.nft`)
			if !ok {
				t.Fatalf("nft refuses it: %s", errs)
			}
			list, errs, ok := nft(t, in, `"$NFT" -f in.nft && "$NFT" -s list ruleset`)
			if !ok {
				t.Fatalf("nft does not load it: %s", errs)
			}
			setFile(a, recordedBy+"netlink", netlink)
			setFile(a, recordedBy+"list", list)
		}
		for _, c := range []struct{ command, name string }{{"compile", "netlink"}, {"list", "list"}} {
			want, ok := file(a, recordedBy+c.name)
			if !ok {
				t.Fatalf("%s%s is not recorded", recordedBy, c.name)
			}
			code, got, stderr := nftc(a, c.command)
			if code != exitOK || got != want {
				t.Errorf("%s: exit status %d\n%sgot\n%swant\n%s", c.command, code, stderr, got, want)
			}
		}
	})
}

// Rulesets that nft refuses when they are loaded: so does check, at the same
// place.
func TestReject(t *testing.T) {
	archives(t, "reject", func(t *testing.T, a *txtar.Archive) {
		if *record {
			in, _ := file(a, "in.nft")
			_, errs, ok := nft(t, in, `"$NFT" -f in.nft`)
			if ok {
				t.Fatal("nft accepts it")
			}
			first, _, _ := strings.Cut(errs, "\n")
			setFile(a, recordedBy+"error", first)
		}
		want, ok := file(a, recordedBy+"error")
		if !ok {
			t.Fatalf("%serror is not recorded", recordedBy)
		}
		code, _, got := nftc(a, "check")
		if code != exitFinding {
			t.Errorf("check: exit status %d\nnft says %s", code, want)
		}
		if *update {
			setFile(a, "out/check", got)
		}
		if ours, _ := file(a, "out/check"); got != ours {
			t.Errorf("check: got\n%swant\n%s", got, ours)
		}
		line := func(s string) string { // in.nft:LINE or /dev/stdin:LINE
			parts := strings.SplitN(s, ":", 3)
			if len(parts) < 2 {
				return s
			}
			return parts[1]
		}
		if line(got) != line(want) && !bytes.Contains(a.Comment, []byte("# differs: ")) {
			t.Errorf("check: on line %s, nft on line %s\n%s%s", line(got), line(want), got, want)
		}
	})
}

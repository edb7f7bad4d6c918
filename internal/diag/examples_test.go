package diag_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/ir"
	"github.com/nftc/nftc/parser"
)

// errorCodes parses and resolves a ruleset and returns the codes of its errors.
func errorCodes(src string) (codes []string, messages string) {
	files := new(diag.FileSet)
	tree, ds := parser.Parse(files, "r.nft", src, parser.Options{
		ReadFile: os.ReadFile, Glob: filepath.Glob,
	})
	if len(ds) == 0 {
		_, ds = ir.Resolve(tree, ir.Options{AnyInterface: true})
	}
	for _, d := range ds {
		codes = append(codes, d.Code)
		messages += d.Message + "\n"
	}
	return codes, messages
}

// The example of each document provokes its diagnostic and no other; the fixed
// one is valid.
func TestErrorExamples(t *testing.T) {
	docs := diag.ErrorDocs()
	for _, code := range docs.Codes() {
		d := docs[code]
		if d.Example == "" {
			continue
		}
		codes, messages := errorCodes(d.Example)
		if !slices.Equal(slices.Compact(codes), []string{code}) {
			t.Errorf("%s: the example gives %v\n%s", code, codes, messages)
		}
		if d.Fixed == "" {
			t.Errorf("%s: an example, but none that is fixed", code)
			continue
		}
		if codes, messages := errorCodes(d.Fixed); len(codes) != 0 {
			t.Errorf("%s: the fixed example gives %v\n%s", code, codes, messages)
		}
	}
}

package diag_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nftc/nftc/internal/diag"
	"github.com/nftc/nftc/lint"
)

// Every diagnostic code that the source uses is documented, and every document
// is about a code that is used.
func TestCodesAreDocumented(t *testing.T) {
	used := usedCodes(t, filepath.Join("..", ".."))
	if len(used) == 0 {
		t.Fatal("found no codes in the source")
	}
	errorDocs, lintDocs := diag.ErrorDocs(), lint.Docs()
	word := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	for code, at := range used {
		if !word.MatchString(code) {
			t.Errorf("%s: code %q is not made of words", at, code)
		}
		if _, ok := errorDocs[code]; !ok {
			if _, ok := lintDocs[code]; !ok {
				t.Errorf("%s: code %q has no document internal/diag/codes/%s.md", at, code, code)
			}
		}
	}
	for _, code := range errorDocs.Codes() {
		if _, ok := used[code]; !ok {
			t.Errorf("internal/diag/codes/%s.md: no diagnostic has that code", code)
		}
		if _, ok := lintDocs[code]; ok {
			t.Errorf("%s is documented twice", code)
		}
	}
}

// usedCodes finds the codes of all diagnostics in the source below root, with
// one place of each: string literals that are given for a parameter or a field
// named code.
func usedCodes(t *testing.T, root string) map[string]token.Position {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name != ".." && (strings.HasPrefix(name, ".") || name == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		files = append(files, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// Where each function takes its code, by package and name. The methods of
	// diag.List are called everywhere.
	takes := map[string][]int{}
	for _, f := range files {
		pkg := f.Name.Name
		ast.Inspect(f, func(n ast.Node) bool {
			fn, ok := n.(*ast.FuncDecl)
			if !ok {
				return true
			}
			i := 0
			for _, p := range fn.Type.Params.List {
				for _, name := range p.Names {
					if id, ok := p.Type.(*ast.Ident); ok && id.Name == "string" && name.Name == "code" {
						takes[pkg+"."+fn.Name.Name] = append(takes[pkg+"."+fn.Name.Name], i)
					}
					i++
				}
			}
			return true
		})
	}
	used := map[string]token.Position{}
	note := func(e ast.Expr) {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		if s, err := strconv.Unquote(lit.Value); err == nil && s != "" {
			used[s] = fset.Position(lit.Pos())
		}
	}
	for _, f := range files {
		pkg := f.Name.Name
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				var at []int
				switch fn := n.Fun.(type) {
				case *ast.Ident:
					at = takes[pkg+"."+fn.Name]
				case *ast.SelectorExpr:
					if x, ok := fn.X.(*ast.Ident); ok && x.Name == "fmt" {
						return true
					}
					at = append(takes[pkg+"."+fn.Sel.Name], takes["diag."+fn.Sel.Name]...)
				}
				for i, arg := range n.Args {
					if slices.Contains(at, i) {
						note(arg)
					}
				}
			case *ast.KeyValueExpr:
				if id, ok := n.Key.(*ast.Ident); ok && strings.EqualFold(id.Name, "code") {
					note(n.Value)
				}
			case *ast.AssignStmt:
				for i, l := range n.Lhs {
					name := ""
					switch l := l.(type) {
					case *ast.Ident:
						name = l.Name
					case *ast.SelectorExpr:
						name = l.Sel.Name
					}
					if strings.EqualFold(name, "code") && len(n.Rhs) == len(n.Lhs) {
						note(n.Rhs[i])
					}
				}
			}
			return true
		})
	}
	return used
}

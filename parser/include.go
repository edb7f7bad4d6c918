package parser

import (
	"errors"
	"io/fs"
	"path"
	"sort"
	"strings"
	"syscall"

	"github.com/nftc/nftc/internal/diag"
)

// systemIncludePath is where nft looks last (DEFAULT_INCLUDE_PATH).
const systemIncludePath = "/etc"

// include parses `include "…"` and, unless they are to be kept out, the files.
func (p *parser) include(b *blockKind) Item {
	start := p.tok.pos
	inc := &Include{}
	p.next()
	if p.tok.kind != tokQuoted {
		p.unexpected("a file name in double quotes")
	}
	inc.Pattern = p.take()
	inc.Node = p.node(start)
	p.separatorHere()
	if p.opt.KeepIncludes {
		p.next()
		return inc
	}
	// what the files hold is read before the separator is passed, so that the
	// place to come back to is known
	names, ok := p.includedFiles(inc)
	if ok {
		for _, name := range names {
			p.includeFile(b, inc, name)
		}
	}
	p.next()
	return inc
}

// includedFiles finds the files of an include in the order nft reads them.
func (p *parser) includedFiles(inc *Include) ([]string, bool) {
	pattern := inc.Pattern.Text
	if p.opt.ReadFile == nil {
		p.errorf("include-refused", inc.Span, "File not found: %s: files cannot be included here", clip(pattern))
		return nil, false
	}
	wildcard := strings.ContainsAny(pattern, "*?[")
	var dirs []string
	if strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "./") || strings.HasPrefix(pattern, "../") {
		dirs = []string{""}
	} else {
		dirs = append(dirs, p.opt.IncludePaths...)
		// nft adds the directory of the file it was started with
		dirs = append(dirs, path.Dir(p.out.Source.Name), systemIncludePath)
	}
	var found []string
	for _, dir := range dirs {
		full := pattern
		if dir != "" {
			full = dir + "/" + pattern
		}
		if !wildcard {
			if p.exists(full) {
				return []string{full}, true
			}
			continue
		}
		if p.opt.Glob == nil {
			continue
		}
		list, err := p.opt.Glob(full)
		if err != nil {
			p.errorf("include-pattern", inc.Span, "Failed to glob the pattern %s", clip(full))
			return nil, false
		}
		sort.Strings(list)
		for _, name := range list {
			if !strings.HasSuffix(name, "/") {
				found = append(found, name)
			}
		}
	}
	if !wildcard {
		p.errorf("file-not-found", inc.Span, "File not found: %s", clip(pattern))
		return nil, false
	}
	return found, true
}

func (p *parser) exists(name string) bool {
	if p.opt.Glob != nil {
		list, err := p.opt.Glob(name)
		if err == nil {
			return len(list) > 0
		}
	}
	_, err := p.opt.ReadFile(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// includeFile reads one file in the place of the include.
func (p *parser) includeFile(b *blockKind, inc *Include, name string) {
	if p.includes+1 >= maxIncludes {
		p.fail("include-too-deep", inc.Span, "Include nested too deeply, max %d levels", maxIncludes)
	}
	text, err := p.opt.ReadFile(name)
	if err != nil {
		switch {
		case errors.Is(err, syscall.EISDIR):
			// nft passes over directories, named or matched
		case errors.Is(err, fs.ErrNotExist):
			p.errorf("file-not-found", inc.Span, "File not found: %s", clip(inc.Pattern.Text))
		default:
			p.errorf("file-unreadable", inc.Span, "Could not open file %q: %v", clip(name), err)
		}
		return
	}
	f, err := p.files.Add(name, string(text))
	if err != nil {
		p.errorf("file-too-large", inc.Span, "%v", err)
		return
	}
	f.IncludedAt = inc.Span
	file, scan, tok, last, depth := p.file, p.scan, p.tok, p.last, p.depth
	p.includes++
	p.outer = append(p.outer, outerFile{file, scan})
	p.open(f)
	inner := *b
	inner.file = b.file
	inner.included = true
	inc.Items = p.items(&inner, inc.Items)
	if p.at('}') {
		d := p.syntaxError("")
		d.Message += ": the block that it would close was opened in another file"
		d.Notes = append(d.Notes, diag.Note{Span: inc.Span, Message: "included here"})
		p.report(d)
	}
	p.includes--
	p.outer = p.outer[:len(p.outer)-1]
	p.file, p.scan, p.tok, p.last, p.depth = file, scan, tok, last, depth
}

// outerFile is a file that has included the one being read, and where reading
// will go on in it.
type outerFile struct {
	file *diag.File
	scan scanner
}

// afterFile finds the token that follows the end of an included file, in the
// files around it: nft reads included text as if it stood there.
func (p *parser) afterFile() (t token, file *diag.File) {
	file = p.file
	t = p.tok
	for i := len(p.outer) - 1; i >= 0 && t.kind == tokEOF; i-- {
		s := scanner{src: p.outer[i].scan.src, pos: p.outer[i].scan.pos}
		s.next(&t)
		file = p.outer[i].file
	}
	return t, file
}

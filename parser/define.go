package parser

import (
	"strings"

	"github.com/nftc/nftc/internal/diag"
)

// pushScope opens the scope of a table, chain or anonymous chain.
func (p *parser) pushScope() {
	if len(p.scopes) >= maxScopes {
		p.fail("too-deep", p.spanOf(&p.tok), "too many levels of nesting")
	}
	p.scopes = append(p.scopes, nil)
}

func (p *parser) popScope() { p.scopes = p.scopes[:len(p.scopes)-1] }

func (p *parser) bind(name string, defined bool) {
	top := len(p.scopes) - 1
	if p.scopes[top] == nil {
		p.scopes[top] = map[string]bool{}
	}
	p.scopes[top][name] = defined
}

// useName checks that a definition is in force where its name is used.
func (p *parser) useName(n Name) {
	for i := len(p.scopes) - 1; i >= 0; i-- {
		if p.scopes[i][n.Text] {
			return
		}
	}
	var known []string
	for _, s := range p.scopes {
		for k, ok := range s {
			if ok {
				known = append(known, k)
			}
		}
	}
	d := diag.Diagnostic{Code: "unknown-identifier", Severity: diag.Error, Span: n.Span,
		Message: "unknown identifier '" + clip(n.Text) + "'"}
	if p.opt.KeepIncludes {
		return // what an unread file defines is not known
	}
	if near := diag.Nearest(n.Text, known); near != "" {
		d.Suggest = near
		d.Message += "; did you mean identifier '" + near + "'?"
	}
	panic(bailout{d})
}

// define parses define, redefine and undefine.
func (p *parser) define() Item {
	start := p.tok.pos
	d := &Define{}
	switch p.tok.text {
	case "redefine":
		d.Kind = Redefine
	case "undefine":
		d.Kind = Undefine
	}
	p.next()
	d.Name = p.identifier("name of a definition")
	if d.Kind == Undefine {
		d.Node = p.node(start)
		p.separator(false)
		p.bind(d.Name.Text, false)
		return d
	}
	top := p.scopes[len(p.scopes)-1]
	p.want('=')
	d.Value = p.initializer()
	d.Node = p.node(start)
	p.separator(false)
	if d.Kind == DefineNew && top[d.Name.Text] && !p.opt.KeepIncludes {
		p.errorf("redefinition", d.Name.Span, "redefinition of symbol '%s'", clip(d.Name.Text))
		return nil
	}
	p.bind(d.Name.Text, true)
	return d
}

// commandLineDefines parses the definitions of the command line.
func (p *parser) commandLineDefines(list []Item) []Item {
	for _, def := range p.opt.Defines {
		name, value, ok := strings.Cut(def, "=")
		if !ok || strings.TrimSpace(name) == "" {
			p.errorf("bad-define", diag.Span{}, "definition %q must be written NAME=VALUE", clip(def))
			continue
		}
		f, err := p.files.Add("<command line>", "define "+name+"="+value+"\n")
		if err != nil {
			p.errorf("file-too-large", diag.Span{}, "%v", err)
			return list
		}
		p.open(f)
		list = p.items(&fileBlock, list)
	}
	return list
}

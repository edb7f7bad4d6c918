package parser

// items reads the items of a block until its closing brace or, for a file and
// what it includes, the end of the text. An error is noted once; reading goes
// on behind the next separator at the depth of the block.
func (p *parser) items(b *blockKind, list []Item) []Item {
	for {
		switch {
		case p.tok.kind == tokEOF:
			return list
		case p.at('}') && !b.file:
			return list
		case p.tok.kind == tokNewline, p.at(';'):
			p.next()
			continue
		}
		list = p.item(b, list)
	}
}

// item reads one item with its separator and catches its error.
func (p *parser) item(b *blockKind, list []Item) (out []Item) {
	out = list
	p.note(p.tok.pos, markItem)
	start, depth, scopes, file := p.tok.pos, p.depth, len(p.scopes), p.file
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		e, ok := r.(bailout)
		if !ok {
			panic(r)
		}
		p.depth, p.scopes, p.state = depth, p.scopes[:scopes], nil
		if p.file != file {
			panic(r)
		}
		p.report(e.d)
		p.resync(start, b)
	}()
	return p.blockItem(b, list)
}

// resync skips to behind the next separator that stands at the depth of the
// block whose item began at start, or to the brace that closes the block.
func (p *parser) resync(start int, b *blockKind) {
	bad := p.tok.pos
	depth := 0
	// how deep is the place of the error inside the item?
	s := scanner{src: p.scan.src, pos: start}
	var t token
	for s.next(&t); t.pos < bad && t.kind != tokEOF; s.next(&t) {
		if t.kind == tokPunct {
			switch t.op {
			case '{':
				depth++
			case '}':
				depth--
			}
		}
	}
	depth = max(depth, 0)
	for {
		switch p.tok.kind {
		case tokEOF:
			return
		case tokNewline:
			if depth == 0 {
				p.next()
				return
			}
		case tokPunct:
			switch p.tok.op {
			case ';':
				if depth == 0 {
					p.next()
					return
				}
			case '{':
				depth++
			case '}':
				if depth == 0 && !b.file {
					return
				}
				depth = max(depth-1, 0)
			}
		}
		p.next()
	}
}

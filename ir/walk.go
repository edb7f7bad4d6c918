package ir

// Parts returns the expressions that an expression is made of.
func Parts(e Expr) []Expr {
	switch e := e.(type) {
	case *Concat:
		return e.Items
	case *Map:
		return []Expr{e.Key}
	case *Binary:
		return []Expr{e.X, e.Y}
	case *Byteorder:
		return []Expr{e.X}
	case *Hash:
		if e.X != nil {
			return []Expr{e.X}
		}
	}
	return nil
}

// walkStmt calls f for every set that a statement refers to.
func walkStmt(s Stmt, f func(*Set)) {
	exprs := func(es ...Expr) {
		for _, e := range es {
			walkSets(e, f)
		}
	}
	switch s := s.(type) {
	case *Match:
		exprs(s.X, s.Y)
	case *VerdictStmt:
		exprs(s.X)
	case *Assign:
		exprs(s.Target, s.Value)
	case *ObjRef:
		exprs(s.X)
	case *NAT:
		exprs(s.Addr, s.Port)
	case *TProxy:
		exprs(s.Addr, s.Port)
	case *Dup:
		exprs(s.Addr, s.Dev)
	case *Fwd:
		exprs(s.Addr, s.Dev)
	case *Queue:
		exprs(s.Num)
	case *SetUpdate:
		if s.Set != nil {
			f(s.Set)
		}
		exprs(s.Key, s.Data)
	}
}

func walkSets(e Expr, f func(*Set)) {
	switch e := e.(type) {
	case nil:
	case *SetRef:
		if e.Set != nil {
			f(e.Set)
		}
	case *Map:
		if e.Set != nil {
			f(e.Set)
		}
		walkSets(e.Key, f)
	case *Concat:
		for _, it := range e.Items {
			walkSets(it, f)
		}
	case *Binary:
		walkSets(e.X, f)
		walkSets(e.Y, f)
	case *Byteorder:
		walkSets(e.X, f)
	case *Hash:
		walkSets(e.X, f)
	}
}

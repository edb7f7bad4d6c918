package ir

import (
	"bytes"
	"slices"

	"github.com/nftc/nftc/compile/bytecode"
	"github.com/nftc/nftc/internal/diag"
)

// The kernel's errors that nft reports, by strerror.
const (
	errNoEntry   = "No such file or directory"
	errExists    = "File exists"
	errBusy      = "Device or resource busy"
	errInvalid   = "Invalid argument"
	errNotSupp   = "Operation not supported"
	errTooMany   = "Too many open files in system"
	errNameLong  = "File name too long"
	errRange     = "Numerical result out of range"
	errLoops     = "Too many links"
	errTooBig    = "Value too large for defined data type"
	errDepth     = "Too many levels of symbolic links"
	errNoMem     = "Cannot allocate memory"
	errNotUnique = "Name not unique on network"
)

// kernelError reports what the kernel would answer to a message.
func (r *resolver) kernelError(sp diag.Span, errno string) {
	code := "kernel-refuses"
	switch errno {
	case errNoEntry:
		code = "no-such-object"
	case errExists:
		code = "already-exists"
	case errBusy:
		code = "in-use"
	case errNotSupp:
		code = "not-supported"
	}
	r.diags.Errorf(code, sp, "Could not process rule: %s", errno)
}

// kernelTable is a table while the kernel processes a transaction.
type kernelTable struct {
	t          *Table
	chains     map[string]*Chain
	anon       map[uint32]*Chain
	sets       map[string]*Set
	objects    map[objectKey]*Object
	flowtables map[string]*Flowtable
	state      map[*Set]*kernelSet
	// failed are the names of sets whose definition was refused:
	// what refers to them is not reported again.
	failed     map[string]bool
	nextHandle uint64 // nf_tables_alloc_handle counts per table
}

// kernel is the state of a transaction applied to an empty ruleset.
type kernel struct {
	*resolver
	tables      map[tableKey]*kernelTable
	order       []*kernelTable
	tableHandle uint64
	// deleted marks rules that are gone, for positions.
	placed map[*Rule]bool
}

// commit applies the steps as the kernel would, in order, and leaves the
// resulting tables in r.out. Every message is processed, also after errors, as
// nfnetlink does; then the tables are validated.
func (r *resolver) commit() {
	r.settleDeclared()
	k := &kernel{resolver: r, tables: make(map[tableKey]*kernelTable), placed: make(map[*Rule]bool)}
	for i := range r.out.Steps {
		k.apply(&r.out.Steps[i])
	}
	if !r.diags.HasErrors() {
		k.validate()
	}
	for _, kt := range k.order {
		kt.finish()
		r.out.Tables = append(r.out.Tables, kt.t)
	}
}

// settleDeclared gives the declarations of sets the elements that nft sends
// with them: those of its cache, which later commands have changed already. A
// flush leaves nothing to send.
func (r *resolver) settleDeclared() {
	dropped := false
	for _, s := range r.declared {
		st := &r.out.Steps[s.stepAt-1]
		switch {
		case s.pointSet() && s.hasInit:
			st.Elements = s.init
		case !s.hasInit:
			st.Elements, dropped = nil, true
		}
	}
	for i := range r.out.Steps {
		// An update begins with the end point at zero only while the cache has
		// no elements of a declaration (segtree_needs_first_segment).
		if st := &r.out.Steps[i]; st.Kind == bytecode.OpNewElements && !st.Declared && st.Set.Flags&bytecode.SetAnonymous == 0 {
			st.First = !st.Set.declared
		}
	}
	if dropped {
		r.out.Steps = slices.DeleteFunc(r.out.Steps, func(s Step) bool {
			return s.Kind == bytecode.OpNewElements && s.Declared && s.Elements == nil
		})
	}
}

// finish brings the elements of sets to the table.
func (kt *kernelTable) finish() {
	for _, s := range kt.t.Sets {
		if st := kt.state[s]; st != nil {
			s.Elements = st.list()
		}
	}
}

func (kt *kernelTable) handle() uint64 {
	kt.nextHandle++
	return kt.nextHandle
}

func (k *kernel) table(s *Step) *kernelTable {
	return k.tables[tableKey{s.Family, s.TableName}]
}

// tableOf is table with the answer for a missing one.
func (k *kernel) tableOf(s *Step) *kernelTable {
	kt := k.table(s)
	if kt == nil {
		k.kernelError(s.TableSpan, errNoEntry)
	}
	return kt
}

func (k *kernel) apply(s *Step) {
	switch s.Kind {
	case bytecode.OpNewTable:
		k.newTable(s)
		return
	case bytecode.OpDelTable:
		k.delTable(s)
		return
	case bytecode.OpFlushRuleset:
		k.flushRuleset(s)
		return
	}
	kt := k.tableOf(s)
	if kt == nil {
		return
	}
	switch s.Kind {
	case bytecode.OpNewChain:
		k.newChain(kt, s)
	case bytecode.OpDelChain:
		k.delChain(kt, s)
	case bytecode.OpNewRule, bytecode.OpReplaceRule:
		k.newRule(kt, s)
	case bytecode.OpDelRule:
		k.delRule(kt, s)
	case bytecode.OpFlushChain:
		ch := kt.chains[s.Name]
		if ch == nil {
			k.kernelError(s.NameSpan, errNoEntry)
			return
		}
		ch.Rules = nil
	case bytecode.OpFlushTable:
		for _, ch := range kt.t.Chains {
			ch.Rules = nil
		}
	case bytecode.OpNewSet:
		k.newSet(kt, s)
	case bytecode.OpDelSet:
		k.delSet(kt, s)
	case bytecode.OpNewElements:
		k.newElements(kt, s)
	case bytecode.OpDelElements:
		k.delElements(kt, s)
	case bytecode.OpFlushSet:
		set := kt.sets[s.Name]
		if set == nil {
			k.kernelError(s.NameSpan, errNoEntry)
			return
		}
		kt.state[set] = newKernelSet(set)
	case bytecode.OpNewObject:
		k.newObject(kt, s)
	case bytecode.OpDelObject:
		k.delObject(kt, s)
	case bytecode.OpNewFlowtable:
		k.newFlowtable(kt, s)
	case bytecode.OpDelFlowtable:
		k.delFlowtable(kt, s)
	}
}

// maxName is NFT_NAME_MAXLEN; a name must be shorter, its zero byte included.
const maxName = 256

func (k *kernel) nameOK(name string, sp diag.Span) bool {
	if len(name) >= maxName {
		k.kernelError(sp, errRange)
		return false
	}
	return true
}

func (k *kernel) newTable(s *Step) {
	key := tableKey{s.Family, s.TableName}
	if kt := k.tables[key]; kt != nil {
		if s.Flags&bytecode.OpCreate != 0 {
			k.kernelError(s.TableSpan, errExists)
			return
		}
		kt.t.Flags = s.Table.Flags | kt.t.Flags&^tableFlagBits["dormant"]
		return
	}
	if !k.nameOK(s.TableName, s.TableSpan) {
		return
	}
	k.tableHandle++
	t := s.Table
	t.Handle = k.tableHandle
	kt := &kernelTable{
		t: t, chains: make(map[string]*Chain), anon: make(map[uint32]*Chain), sets: make(map[string]*Set),
		failed: make(map[string]bool), objects: make(map[objectKey]*Object), flowtables: make(map[string]*Flowtable), state: make(map[*Set]*kernelSet),
	}
	k.tables[key] = kt
	k.order = append(k.order, kt)
}

func (k *kernel) delTable(s *Step) {
	if s.Handle != 0 {
		for key, kt := range k.tables {
			if kt.t.Handle == s.Handle && key.family == s.Family {
				k.dropTable(key, kt)
				return
			}
		}
		if s.Flags&bytecode.OpDestroy == 0 {
			k.kernelError(s.HandleSpan, errNoEntry)
		}
		return
	}
	kt := k.table(s)
	if kt == nil {
		if s.Flags&bytecode.OpDestroy == 0 {
			k.kernelError(s.TableSpan, errNoEntry)
		}
		return
	}
	k.dropTable(tableKey{s.Family, s.TableName}, kt)
}

func (k *kernel) dropTable(key tableKey, kt *kernelTable) {
	delete(k.tables, key)
	k.order = slices.DeleteFunc(k.order, func(x *kernelTable) bool { return x == kt })
}

func (k *kernel) flushRuleset(s *Step) {
	for key, kt := range k.tables {
		if !s.OnlyFamily || key.family == s.Family {
			k.dropTable(key, kt)
		}
	}
}

func (k *kernel) newObject(kt *kernelTable, s *Step) {
	o := s.Object
	key := objectKey{o.Type, o.Name}
	if kt.objects[key] != nil {
		if s.Flags&bytecode.OpCreate != 0 {
			k.kernelError(s.NameSpan, errExists)
		}
		return
	}
	if !k.nameOK(o.Name, s.NameSpan) || !k.objectOK(o, s) {
		return
	}
	o.Handle = kt.handle()
	kt.objects[key] = o
	kt.t.Objects = append(kt.t.Objects, o)
}

// objectOK is what the init functions of object types refuse.
func (k *kernel) objectOK(o *Object, s *Step) bool {
	switch in := o.Spec.(type) {
	case *bytecode.ObjTunnelSpec:
		// nft_tunnel_obj_init wants addresses and, for the kernel's sake, an id.
		if in.Src == nil && in.Dst == nil {
			k.kernelError(s.NameSpan, errInvalid)
			return false
		}
	case *bytecode.Quota:
		// nft_quota_do_init
		if in.Bytes > 1<<63-1 {
			k.kernelError(s.NameSpan, errTooBig)
			return false
		}
	}
	return true
}

func (k *kernel) delObject(kt *kernelTable, s *Step) {
	var o *Object
	if s.Handle != 0 {
		for key, x := range kt.objects {
			if key.typ == s.ObjType && x.Handle == s.Handle {
				o = x
			}
		}
	} else {
		o = kt.objects[objectKey{s.ObjType, s.Name}]
	}
	if o == nil {
		k.missing(s)
		return
	}
	if k.objectUsed(kt, o) {
		k.kernelError(s.nameOrHandle(), errBusy)
		return
	}
	delete(kt.objects, objectKey{o.Type, o.Name})
	kt.t.Objects = slices.DeleteFunc(kt.t.Objects, func(x *Object) bool { return x == o })
}

// missing is the answer to a delete of something that is not there.
func (k *kernel) missing(s *Step) {
	if s.Flags&bytecode.OpDestroy == 0 {
		k.kernelError(s.nameOrHandle(), errNoEntry)
	}
}

func (s *Step) nameOrHandle() diag.Span {
	if s.HandleSpan.Valid() {
		return s.HandleSpan
	}
	return s.NameSpan
}

func (k *kernel) newFlowtable(kt *kernelTable, s *Step) {
	f := s.Flowtable
	if old := kt.flowtables[f.Name]; old != nil {
		if s.Flags&bytecode.OpCreate != 0 {
			k.kernelError(s.NameSpan, errExists)
			return
		}
		for _, d := range f.Devices {
			if !has(old.Devices, d) {
				old.Devices = append(old.Devices, d)
			}
		}
		return
	}
	if !k.nameOK(f.Name, s.NameSpan) {
		return
	}
	switch s.Family {
	case bytecode.FamilyInet, bytecode.FamilyIP, bytecode.FamilyIP6:
	default:
		// nf_flow_table_type is there for these families only
		// (nft_flowtable_type_get).
		k.kernelError(s.NameSpan, errNoEntry)
		return
	}
	if f.Hook != bytecode.HookIngress {
		k.kernelError(f.HookSpan, errNotSupp)
		return
	}
	f.Handle = kt.handle()
	kt.flowtables[f.Name] = f
	kt.t.Flowtables = append(kt.t.Flowtables, f)
}

func (k *kernel) delFlowtable(kt *kernelTable, s *Step) {
	var f *Flowtable
	if s.Handle != 0 {
		for _, x := range kt.t.Flowtables {
			if x.Handle == s.Handle {
				f = x
			}
		}
	} else {
		f = kt.flowtables[s.Name]
	}
	if f == nil {
		k.missing(s)
		return
	}
	if s.Flowtable != nil && s.Flowtable != f && len(s.Flowtable.Devices) > 0 {
		for _, d := range s.Flowtable.Devices {
			if !has(f.Devices, d) {
				k.kernelError(s.NameSpan, errNoEntry)
				return
			}
			f.Devices = slices.DeleteFunc(f.Devices, func(x string) bool { return x == d })
		}
		return
	}
	for _, ch := range kt.t.Chains {
		for _, r := range ch.Rules {
			for _, st := range r.Stmts {
				if x, ok := st.(*Simple); ok {
					if off, ok := x.Instr.(*bytecode.FlowOffload); ok && off.Flowtable == f.Name {
						k.kernelError(s.nameOrHandle(), errBusy)
						return
					}
				}
			}
		}
	}
	delete(kt.flowtables, f.Name)
	kt.t.Flowtables = slices.DeleteFunc(kt.t.Flowtables, func(x *Flowtable) bool { return x == f })
}

// objectUsed tells whether a rule or element refers to an object.
func (k *kernel) objectUsed(kt *kernelTable, o *Object) bool {
	for _, ch := range kt.t.Chains {
		for _, r := range ch.Rules {
			for _, st := range r.Stmts {
				if ref, ok := st.(*ObjRef); ok && ref.Type == o.Type {
					if n, ok := ref.X.(*ObjectName); ok && n.Name == o.Name {
						return true
					}
				}
			}
		}
	}
	for _, s := range kt.t.Sets {
		if s.DataKind != bytecode.DataObject || s.ObjType != o.Type {
			continue
		}
		for _, e := range kt.elements(s) {
			if e.Data == nil {
				continue
			}
			if n, ok := e.Data.Expr.(*ObjectName); ok && n.Name == o.Name {
				return true
			}
		}
	}
	return false
}

func (kt *kernelTable) elements(s *Set) []Element {
	if st := kt.state[s]; st != nil {
		return st.list()
	}
	return s.Elements
}

// sameData tells whether two elements carry the same right side.
func sameData(a, b *ElementData) bool {
	if a == nil || b == nil {
		return a == b
	}
	switch x := a.Expr.(type) {
	case *Verdict:
		y, ok := b.Expr.(*Verdict)
		return ok && x.Code == y.Code && x.ChainName == y.ChainName && x.Anon == y.Anon
	case *ObjectName:
		y, ok := b.Expr.(*ObjectName)
		return ok && x.Name == y.Name
	}
	return bytes.Equal(a.Value, b.Value)
}

package analyze

import (
	"cmp"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/weft-rl/weft/internal/compile/vocabulary"
)

// def is a part of a node's result. carried is the loop round which it came, or
// -1.
type def struct {
	node    int
	part    string
	carried int
}

func compareDefs(a, b def) int {
	return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.part, b.part), cmp.Compare(a.carried, b.carried))
}

// sorted puts definitions in order, each once.
func sorted(list []def) []def {
	slices.SortFunc(list, compareDefs)
	return slices.Compact(list)
}

// value describes a Go value: which nodes made it, field by field, and
// which components it may be. It is never changed once made; nil knows nothing,
// as of settings and constants.
type value struct {
	defs   []def             // sorted
	fields map[string]*value // of a struct, where they differ from defs
	objs   []*object         // what a pointer or interface may point to, sorted
	fns    []closure         // what a function value may be
	sites  []int             // where the memory behind it was made, sorted
	keys   []int             // where the random keys in it come from, sorted
	text   string            // of a constant string
	// derived is true when the value was computed and no node stands for that yet.
	derived bool
	// part is true for a slice that may end before its memory does.
	part bool
	// varies says how a value of a constructor depends on the replica's own rows.
	varies variation
}

// closure is a declared function, or a method with its receiver.
type closure struct {
	fn   *types.Func
	recv *value
}

// object is something that a constructor made: a component, or a plain struct
// that holds components.
type object struct {
	id     int
	kind   objectKind
	typ    types.Type
	of     vocabulary.Component // what the type says of itself
	by     vocabulary.Word      // what made it
	name   string               // from the constructor's argument
	pos    token.Pos
	graphs []closure // what a function or loss may run
	params []*object // an optimiser's, or what a loss is differentiated by
	either bool      // params are not all of those, but some
	scope  []*object // where it is registered
	many   bool      // stands for all that one loop of the constructor made
	traced bool      // reads and draws are known
	reads  []*object // of a graph function
	draws  bool      // a graph function draws random numbers
}

type objectKind int

const (
	plain objectKind = iota
	unknownObject
	runObject
	wordObject      // a component of the vocabulary
	componentObject // an author's
)

// function reports whether an object runs a graph function.
func (o *object) function() bool { return o.kind == wordObject && o.by.GraphAt >= 0 }

// copied returns the part of a component that graph functions read.
func (o *object) copied() (part string, ok bool) {
	if o.kind != wordObject {
		return "", false
	}
	return o.of.Copied()
}

func compareObjects(a, b *object) int { return cmp.Compare(a.id, b.id) }

func ofDefs(d ...def) *value { return &value{defs: d} }

func ofObjects(o ...*object) *value { return &value{objs: o} }

// field returns one field of a struct value.
func (v *value) field(name string) *value {
	if v == nil {
		return nil
	}
	if f, ok := v.fields[name]; ok {
		return f
	}
	if len(v.defs)+len(v.sites)+len(v.keys) == 0 && v.varies == 0 {
		return nil
	}
	out := &value{derived: v.derived, sites: v.sites, keys: v.keys, varies: v.varies}
	for _, d := range v.defs {
		if strings.Count(d.part, ".") < deep { // no type goes deeper that memory does not go round in
			d.part = under(d.part, name)
		}
		out.defs = append(out.defs, d)
	}
	out.defs = sorted(out.defs)
	return out
}

// with returns v with the field at a path replaced.
func (v *value) with(path []string, x *value) *value {
	if len(path) == 0 {
		return x
	}
	out := &value{}
	if v != nil {
		*out = *v
		out.fields = maps.Clone(v.fields)
	}
	out.set(path[0], v.field(path[0]).with(path[1:], x))
	return out
}

func (v *value) set(name string, x *value) {
	if v.fields == nil {
		v.fields = map[string]*value{}
	}
	v.fields[name] = x
}

// join returns what is known where either of two values may be there.
func join(a, b *value) *value {
	if a == nil || a == b {
		return b
	}
	if b == nil {
		return a
	}
	out := &value{
		defs: union(a.defs, b.defs, compareDefs), sites: union(a.sites, b.sites, cmp.Compare[int]), keys: union(a.keys, b.keys, cmp.Compare[int]),
		objs: union(a.objs, b.objs, compareObjects), fns: joinClosures(a.fns, b.fns),
		text: agreed(a.text, b.text), derived: a.derived || b.derived, part: a.part || b.part, varies: a.varies | b.varies,
	}
	for name, f := range a.fields {
		out.set(name, join(f, b.field(name)))
	}
	for name, f := range b.fields {
		if _, done := a.fields[name]; !done {
			out.set(name, join(a.field(name), f))
		}
	}
	return out
}

func joinAll(list ...*value) (out *value) {
	for _, v := range list {
		out = join(out, v)
	}
	return out
}

func joinClosures(a, b []closure) []closure {
	if len(a) == 0 {
		return b
	}
	out := slices.Clone(a)
	for _, c := range b {
		if i := slices.IndexFunc(out, func(o closure) bool { return o.fn == c.fn }); i >= 0 {
			out[i].recv = join(out[i].recv, c.recv)
		} else {
			out = append(out, c)
		}
	}
	return out
}

// unclear stands in a text for what is not constant.
const unclear = "\x00"

// agreed returns the constant that two ways give alike.
func agreed(a, b string) string {
	if a != "" && b != "" && a != b {
		return unclear
	}
	return cmp.Or(a, b)
}

// name returns v's constant string, or "" if v is not a constant.
func (v *value) name() string {
	if v == nil || strings.Contains(v.text, unclear) {
		return ""
	}
	return v.text
}

// union merges two sorted lists.
func union[T any](a, b []T, compare func(x, y T) int) []T {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	out := slices.Concat(a, b)
	slices.SortFunc(out, compare)
	return slices.CompactFunc(out, func(x, y T) bool { return compare(x, y) == 0 })
}

// same reports whether two values know the same.
func same(a, b *value) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil {
		return a.empty() && b.empty()
	}
	return slices.Equal(a.defs, b.defs) && slices.Equal(a.objs, b.objs) && slices.Equal(a.sites, b.sites) && slices.Equal(a.keys, b.keys) &&
		a.derived == b.derived && a.part == b.part && a.varies == b.varies && a.text == b.text && maps.EqualFunc(a.fields, b.fields, same) &&
		slices.EqualFunc(a.fns, b.fns, func(p, q closure) bool { return p.fn == q.fn && same(p.recv, q.recv) })
}

func (v *value) empty() bool {
	return v == nil || len(v.defs)+len(v.fields)+len(v.objs)+len(v.sites)+len(v.keys)+len(v.fns)+len(v.text) == 0 && !v.derived && v.varies == 0
}

// use is a part of a value where something uses it.
type use struct {
	def  def
	into string
}

// each calls f with a value and with all values inside it.
func (v *value) each(f func(*value)) {
	if v == nil {
		return
	}
	f(v)
	for _, x := range v.fields {
		x.each(f)
	}
}

// computed returns the result of Go's own operators: all that went into their
// operands.
func computed(list ...*value) *value {
	out := &value{derived: true}
	for _, v := range list {
		v.each(func(x *value) {
			out.defs = append(out.defs, x.defs...)
			out.varies |= x.varies
		})
	}
	out.defs = sorted(out.defs)
	return out
}

// settled returns a value as a part of a struct: what was computed for it stays a
// part of what uses the struct.
func settled(v *value) *value {
	if v == nil || !v.derived {
		return v
	}
	out := *v
	out.derived = false
	return &out
}

// allSites returns the memory that a value reaches.
func (v *value) allSites() (out []int) {
	v.each(func(x *value) { out = union(out, x.sites, cmp.Compare[int]) })
	return out
}

// allKeys returns the random keys in a value.
func (v *value) allKeys() (out []int) {
	v.each(func(x *value) { out = union(out, x.keys, cmp.Compare[int]) })
	return out
}

// every applies f to all definitions in a value.
func (v *value) every(f func(def) def) *value {
	if v.empty() {
		return v
	}
	out := v.inside(func(x *value) *value { return x.every(f) })
	out.defs = make([]def, len(v.defs))
	for i, d := range v.defs {
		out.defs[i] = f(d)
	}
	out.defs = sorted(out.defs)
	return out
}

// inside returns a copy of v with f applied to its fields.
func (v *value) inside(f func(*value) *value) *value {
	out := *v
	out.fields = nil
	for name, x := range v.fields {
		out.set(name, f(x))
	}
	return &out
}

// state holds the values of variables and fields at a point of the program.
type state struct {
	vars map[*types.Var]*value
	// heap holds the fields of what constructors made.
	heap map[place]*value
	// writers holds the last writers of each resource; none means the constructor.
	writers map[int][]def
	handed  map[int]bool // memory that an operation was given, by where it was made
	used    map[int]bool // keys that an operation was given, by where they were made
	dead    bool         // the point is never reached
}

// place is a field of an object.
type place struct {
	o     *object
	field string
}

func newState() *state {
	return &state{
		vars: map[*types.Var]*value{}, heap: map[place]*value{}, writers: map[int][]def{}, handed: map[int]bool{}, used: map[int]bool{},
	}
}

func (s *state) clone() *state {
	return &state{maps.Clone(s.vars), maps.Clone(s.heap), maps.Clone(s.writers), maps.Clone(s.handed), maps.Clone(s.used), s.dead}
}

// merge returns the state where two ways meet.
func merge(a, b *state) *state {
	if a == nil || a.dead {
		if b == nil {
			return a
		}
		return b
	}
	if b == nil || b.dead {
		return a
	}
	out := a.clone()
	for k, v := range b.vars {
		out.vars[k] = join(out.vars[k], v)
	}
	for k, v := range b.heap {
		out.heap[k] = join(out.heap[k], v)
	}
	for r, d := range b.writers {
		out.writers[r] = union(out.writers[r], d, compareDefs)
	}
	maps.Copy(out.handed, b.handed)
	maps.Copy(out.used, b.used)
	return out
}

// equal reports whether two states know the same, so that another round of a
// loop brings nothing new.
func (s *state) equal(o *state) bool {
	return s.dead == o.dead && maps.Equal(s.handed, o.handed) && maps.Equal(s.used, o.used) &&
		maps.EqualFunc(s.writers, o.writers, func(a, b []def) bool { return slices.Equal(a, b) }) &&
		maps.EqualFunc(s.vars, o.vars, same) && maps.EqualFunc(s.heap, o.heap, same)
}

// every applies f to all definitions in a state.
func (s *state) every(f func(def) def) *state {
	out := s.clone()
	for k, v := range out.vars {
		out.vars[k] = v.every(f)
	}
	for r, list := range out.writers {
		now := make([]def, len(list))
		for i, d := range list {
			now[i] = f(d)
		}
		out.writers[r] = sorted(now)
	}
	return out
}

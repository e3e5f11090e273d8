package analyze

import (
	"cmp"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
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

// value is what is known of a Go value: which nodes made it, field by field, and
// which components it may be. It is never changed once made; nil knows nothing,
// as of settings and constants.
type value struct {
	defs   []def             // sorted
	fields map[string]*value // of a struct, where they differ from defs
	objs   []*object         // what a pointer or interface may point to, sorted
	fn     *closure          // a function
	sites  []int             // where a slice was made, sorted
	tuple  []*value          // several results of a call
	text   string            // of a constant string
	// derived is true when the value was computed and no node stands for that yet.
	derived bool
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
	name   string // from the constructor's argument
	pos    token.Pos
	fields map[string]*value
	graph  *closure  // of a function or loss
	params []*object // an optimiser's, or what a loss is differentiated by
	many   bool      // stands for all that one loop of the constructor made
	unit   *unit
	traced bool      // reads are known
	reads  []*object // of a graph function
}

type objectKind int

const (
	plain objectKind = iota
	scopeObject
	runObject
	envObject
	paramsObject
	optObject
	statsObject
	slotsObject
	rolloutObject
	tableObject
	returnsObject
	funcObject
	lossObject
	componentObject // an author's
)

func ofDefs(d ...def) *value { return &value{defs: d} }

// field is one field of a struct value.
func (v *value) field(name string) *value {
	if v == nil {
		return nil
	}
	if f, ok := v.fields[name]; ok {
		return f
	}
	if len(v.defs) == 0 {
		return nil
	}
	out := &value{derived: v.derived}
	for _, d := range v.defs {
		out.defs = append(out.defs, def{d.node, under(d.part, name), d.carried})
	}
	return out
}

// with is v with the field at a path replaced.
func (v *value) with(path []string, x *value) *value {
	if len(path) == 0 {
		return x
	}
	out := &value{fields: map[string]*value{}}
	if v != nil {
		*out = *v
		out.fields = maps.Clone(v.fields)
		if out.fields == nil {
			out.fields = map[string]*value{}
		}
	}
	out.fields[path[0]] = v.field(path[0]).with(path[1:], x)
	return out
}

// result is one of several results of a call.
func (v *value) result(i int) *value {
	if v == nil || i >= len(v.tuple) {
		return nil
	}
	return v.tuple[i]
}

// join is what is known when either of two values may be there.
func join(a, b *value) *value {
	if a == nil || a == b {
		return b
	}
	if b == nil {
		return a
	}
	out := &value{
		defs: union(a.defs, b.defs, compareDefs), sites: union(a.sites, b.sites, cmp.Compare[int]),
		objs: union(a.objs, b.objs, func(x, y *object) int { return cmp.Compare(x.id, y.id) }),
		fn:   cmp.Or(a.fn, b.fn), text: agreed(a.text, b.text), derived: a.derived || b.derived,
	}
	for _, name := range slices.Sorted(maps.Keys(a.fields)) {
		out.set(name, join(a.fields[name], b.field(name)))
	}
	for _, name := range slices.Sorted(maps.Keys(b.fields)) {
		if _, done := a.fields[name]; !done {
			out.set(name, join(a.field(name), b.fields[name]))
		}
	}
	for i := range max(len(a.tuple), len(b.tuple)) {
		out.tuple = append(out.tuple, join(a.result(i), b.result(i)))
	}
	return out
}

// unclear is a constant string that differs from way to way.
const unclear = "\x00"

// agreed is a constant that two ways give alike.
func agreed(a, b string) string {
	if a != "" && b != "" && a != b {
		return unclear
	}
	return cmp.Or(a, b)
}

// name is a constant string as the name of something.
func (v *value) name() string {
	if v == nil || strings.Contains(v.text, unclear) {
		return ""
	}
	return v.text
}

func (v *value) set(name string, x *value) {
	if v.fields == nil {
		v.fields = map[string]*value{}
	}
	v.fields[name] = x
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
	return slices.Equal(a.defs, b.defs) && slices.Equal(a.objs, b.objs) && slices.Equal(a.sites, b.sites) &&
		a.derived == b.derived && maps.EqualFunc(a.fields, b.fields, same) && slices.EqualFunc(a.tuple, b.tuple, same)
}

func (v *value) empty() bool {
	return v == nil || len(v.defs)+len(v.fields)+len(v.objs)+len(v.sites)+len(v.tuple) == 0 && v.fn == nil && !v.derived
}

// use is a part of a value where something uses it.
type use struct {
	def  def
	into string
}

// uses are all parts of a value, with where in it they stand.
func (v *value) uses(into string) (out []use) {
	if v == nil {
		return nil
	}
	for _, d := range v.defs {
		out = append(out, use{d, into})
	}
	for _, name := range slices.Sorted(maps.Keys(v.fields)) {
		out = append(out, v.fields[name].uses(under(into, name))...)
	}
	for i := range v.tuple {
		out = append(out, v.tuple[i].uses(into)...)
	}
	return out
}

// flat is all that went into a value, as one that was computed from it.
func (v *value) flat() *value {
	out := &value{derived: true}
	for _, u := range v.uses("") {
		out.defs = append(out.defs, u.def)
	}
	slices.SortFunc(out.defs, compareDefs)
	out.defs = slices.Compact(out.defs)
	return out
}

// allSites are the slices inside a value.
func (v *value) allSites() (out []int) {
	if v == nil {
		return nil
	}
	out = slices.Clone(v.sites)
	for _, name := range slices.Sorted(maps.Keys(v.fields)) {
		out = append(out, v.fields[name].allSites()...)
	}
	return out
}

// every applies f to all definitions in a value.
func (v *value) every(f func(def) def) *value {
	if v == nil || v.empty() {
		return v
	}
	out := *v
	out.defs = make([]def, len(v.defs))
	for i, d := range v.defs {
		out.defs[i] = f(d)
	}
	slices.SortFunc(out.defs, compareDefs)
	out.defs = slices.Compact(out.defs)
	if v.fields != nil {
		out.fields = make(map[string]*value, len(v.fields))
		for name, x := range v.fields {
			out.fields[name] = x.every(f)
		}
	}
	for i := range v.tuple {
		out.tuple = slices.Clone(v.tuple)
		out.tuple[i] = v.tuple[i].every(f)
	}
	return &out
}

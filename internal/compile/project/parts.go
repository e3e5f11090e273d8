package project

import (
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/weft-rl/weft/internal/compile/tree"
)

// part is a set of fields of a value, as their paths: sorted, and none of them inside
// another. An empty path is all of the value.
type part []string

var whole = at("")

// at returns the part that is the field at a path.
func at(path string) part { return part{path} }

func (p part) none() bool { return len(p) == 0 }

func (p part) all() bool { return len(p) > 0 && p[0] == "" }

// get returns the part of the field at a path that p covers.
func (p part) get(path string) (out part) {
	for _, q := range p {
		switch rest, inside := strings.CutPrefix(q, path+"."); {
		case path == "":
			return p
		case inside:
			out = append(out, rest)
		case overlap(q, path):
			return whole
		}
	}
	return out
}

// under returns the part that is p of the field at a path.
func (p part) under(path string) (out part) {
	for _, q := range p {
		out = append(out, strings.Trim(path+"."+q, "."))
	}
	return out
}

// plus returns the union of p and q.
func (p part) plus(q part) (out part) {
	for _, path := range slices.Sorted(slices.Values(slices.Concat(p, q))) {
		if len(out) == 0 || !overlap(out[len(out)-1], path) { // those inside another follow it
			out = append(out, path)
		}
	}
	return out
}

// and returns the intersection of p and q.
func (p part) and(q part) (out part) {
	for _, path := range q {
		out = out.plus(p.get(path).under(path))
	}
	return out
}

// less returns p without q, where the value is of type t. What is no struct cannot be
// taken apart.
func (p part) less(q part, t types.Type) (out part) {
	fields := tree.StructFields(t)
	switch {
	case p.none() || q.all():
		return nil
	case q.none() || len(fields) == 0:
		return p
	}
	for _, f := range fields {
		out = out.plus(p.get(f.Name()).less(q.get(f.Name()), f.Type()).under(f.Name()))
	}
	return out
}

// overlap reports whether one path leads through the other.
func overlap(a, b string) bool {
	return a == b || a == "" || b == "" || strings.HasPrefix(a, b+".") || strings.HasPrefix(b, a+".")
}

// live are the parts of variables that are wanted at a point.
type live map[*variable]part

func (l live) clone() live { return maps.Clone(l) }

func (l live) add(v *variable, p part) {
	if !p.none() {
		l[v] = l[v].plus(p)
	}
}

func (l live) union(o live) live {
	out := l.clone()
	for v, p := range o {
		out.add(v, p)
	}
	return out
}

// drop removes a part of a variable.
func (l live) drop(v *variable, p part) {
	if l[v] = l[v].less(p, v.typ); l[v].none() {
		delete(l, v)
	}
}

func (l live) equal(o live) bool { return maps.EqualFunc(l, o, slices.Equal[part]) }

func (l live) sorted() []*variable { return sorted(l) }

package project

import (
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/weft-rl/weft/internal/compile/tree"
)

// part is a set of fields of a value: all, or some, each with a part of its own. A
// nil part is empty.
type part struct {
	all bool
	sub map[string]*part
}

var whole = &part{all: true}

// at returns the part that is the field at a path.
func at(path string) *part {
	if path == "" {
		return whole
	}
	head, rest, _ := strings.Cut(path, ".")
	return &part{sub: map[string]*part{head: at(rest)}}
}

func (p *part) none() bool { return p == nil || !p.all && len(p.sub) == 0 }

// field returns the part of a field that p covers.
func (p *part) field(name string) *part {
	if p == nil || p.all {
		return p
	}
	return p.sub[name]
}

// get returns the part of the field at a path that p covers.
func (p *part) get(path string) *part {
	if path != "" {
		for name := range strings.SplitSeq(path, ".") {
			p = p.field(name)
		}
	}
	return p
}

// under returns the part that is p of the field at a path.
func (p *part) under(path string) *part {
	if path == "" || p.none() {
		return p
	}
	i := strings.LastIndexByte(path, '.')
	up, name := "", path
	if i >= 0 {
		up, name = path[:i], path[i+1:]
	}
	return (&part{sub: map[string]*part{name: p}}).under(up)
}

// plus returns the union of p and q.
func (p *part) plus(q *part) *part {
	switch {
	case p.none():
		return q
	case q.none() || p.all:
		return p
	case q.all:
		return q
	}
	out := &part{sub: maps.Clone(p.sub)}
	for name, s := range q.sub {
		out.sub[name] = out.sub[name].plus(s)
	}
	return out
}

// and returns the intersection of p and q.
func (p *part) and(q *part) *part {
	switch {
	case p.none() || q.none():
		return nil
	case p.all:
		return q
	case q.all:
		return p
	}
	out := &part{sub: map[string]*part{}}
	for name, s := range p.sub {
		if both := s.and(q.sub[name]); !both.none() {
			out.sub[name] = both
		}
	}
	if len(out.sub) == 0 {
		return nil
	}
	return out
}

// less returns p without q, where the value is of type t.
func (p *part) less(q *part, t types.Type) *part {
	switch {
	case p.none() || q != nil && q.all:
		return nil
	case q.none():
		return p
	}
	out := &part{sub: map[string]*part{}}
	fields := tree.StructFields(t)
	if len(fields) == 0 {
		return p // no struct: it cannot be taken apart
	}
	for _, f := range fields {
		if rest := p.field(f.Name()).less(q.sub[f.Name()], f.Type()); !rest.none() {
			out.sub[f.Name()] = rest
		}
	}
	if len(out.sub) == 0 {
		return nil
	}
	return out
}

// paths returns the fields that p covers, sorted; an empty path stands for all.
func (p *part) paths() (out []string) {
	if p.none() {
		return nil
	}
	if p.all {
		return []string{""}
	}
	for _, name := range slices.Sorted(maps.Keys(p.sub)) {
		for _, rest := range p.sub[name].paths() {
			out = append(out, strings.TrimSuffix(name+"."+rest, "."))
		}
	}
	return out
}

func (p *part) equal(q *part) bool { return slices.Equal(p.paths(), q.paths()) }

// live are the parts of variables that are wanted at a point.
type live map[*variable]*part

func (l live) clone() live { return maps.Clone(l) }

func (l live) add(v *variable, p *part) {
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
func (l live) drop(v *variable, p *part) {
	rest := l[v].less(p, v.typ)
	if rest.none() {
		delete(l, v)
		return
	}
	l[v] = rest
}

func (l live) equal(o live) bool {
	return maps.EqualFunc(l, o, (*part).equal)
}

func (l live) sorted() []*variable { return sorted(l) }

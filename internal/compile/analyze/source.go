package analyze

import (
	"cmp"
	"context"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/tree"
	"github.com/weft-rl/weft/internal/compile/vocabulary"
)

// Source is a loop with what the analysis learnt on its way through it: for
// whoever writes programs from a graph.
type Source struct {
	Fset    *token.FileSet
	Pkg     *types.Package
	Dir     string        // of the package
	Train   *ast.FuncDecl // the loop
	Trainer types.Type    // what the constructor makes
	Tree    *tree.Program // the loop, read through

	x *interp
	p *partition
}

// Sourced is a Result with the source it came from; nil where there is no graph.
type Sourced struct {
	Result
	Source *Source
}

// Sources does what Analyze does, with the source beside the graph and the contents of some files
// replaced, by absolute path.
func Sources(ctx context.Context, dir string, files map[string][]byte, patterns ...string) (out []Sourced, err error) {
	err = eachRoot(ctx, dir, files, patterns, func(r *packages.Package, others []*unit) {
		out = append(out, sourced(r.Fset, unitOf(r), others, filepath.Dir(r.GoFiles[0])))
	})
	return out, err
}

// sourced analyses one package, in a folder.
func sourced(fset *token.FileSet, main *unit, others []*unit, dir string) Sourced {
	x, graph, found := explore(fset, main, others, true)
	s := Sourced{Result: Result{main.pkg.Path(), graph, found}}
	if graph != nil {
		s.Source = x.source(graph, dir)
	}
	return s
}

func (x *interp) source(g *fdg.Graph, dir string) *Source {
	return &Source{
		Fset: x.p.fset, Pkg: x.p.main.pkg, Dir: dir, Train: x.p.main.marks.train[0], Tree: x.t, Trainer: x.self.objs[0].typ, x: x, p: x.parts,
	}
}

// Starts returns where the functions of the package begin.
func (s *Source) Starts() (out []fdg.Pos) {
	for _, f := range s.x.p.main.files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				out = append(out, s.x.b.pos(fn.Pos()))
			}
		}
	}
	return out
}

// Node returns the node of a statement: of an operation, of a number that an
// Assign without one computes, of a branch, a loop, a jump or a return.
func (s *Source) Node(n tree.Stmt) (int, bool) {
	key := nodeKey{n, 0}
	if a, ok := n.(*tree.Assign); ok && a.Op == nil {
		key.i = 1
	}
	id, ok := s.x.b.keys[key]
	return id, ok
}

// Origin is a part of a node's result.
type Origin struct {
	Node int
	Part string
}

// Origins returns what a part of a variable may hold before a statement, or behind
// it: nothing for what depends on no operation.
func (s *Source) Origins(n tree.Stmt, after bool, v *types.Var, path string) []Origin {
	st := s.x.states[point{n, after}]
	if st == nil {
		return nil
	}
	return s.origins(st.vars[v], path)
}

func (s *Source) origins(v *value, path string) (out []Origin) {
	if path != "" {
		for name := range strings.SplitSeq(path, ".") {
			v = v.field(name)
		}
	}
	for _, u := range s.x.b.spread(v, "") {
		out = append(out, Origin{u.def.node, u.def.part})
	}
	slices.SortFunc(out, func(a, b Origin) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Part, b.Part)) })
	return slices.Compact(out)
}

// Axis returns what a part of a node's result is split along.
func (s *Source) Axis(o Origin) fdg.Axis { return s.p.axis(fdg.Edge{From: o.Node, Part: o.Part}) }

// Results returns the names of the parts of a node that has several results.
func (s *Source) Results(node int) []string { return s.x.b.extra[node].names }

// Pos returns where a node stands.
func (s *Source) Pos(node int) token.Pos { return s.x.b.extra[node].pos }

// Draws reports whether a node calls a graph function that draws random numbers.
func (s *Source) Draws(node int) bool { return s.x.b.extra[node].draws }

// Family reports whether a loop goes through the members of a family.
func (s *Source) Family(loop int) bool { return s.x.b.extra[loop].family }

// Shared reports whether the trainer has another way to a member's component than
// through its family, so that whoever uses it may mean any member's.
func (s *Source) Shared(resource int) bool {
	_, yes := s.x.way(s.x.b.owners[resource], func(several bool, _ []*object) bool { return !several })
	return yes
}

// Component returns the type of a resource's component.
func (s *Source) Component(resource int) types.Type { return s.x.b.owners[resource].typ }

// Word returns what a function or method of the vocabulary says of itself; it is
// empty for any other.
func (s *Source) Word(f *types.Func) vocabulary.Word {
	if f == nil {
		return vocabulary.Word{}
	}
	w, _ := s.x.p.word(f)
	return w
}

// Type returns what a type of the vocabulary, or what it points to, says of itself.
func (s *Source) Type(t types.Type) vocabulary.Type { return s.x.p.typ(t) }

// IsBatch reports whether values of a type hold tensors.
func (s *Source) IsBatch(t types.Type) bool { return s.x.p.isBatch(t) }

// Step is a field on the way to a component; Each is true where it holds several,
// of which the way goes through all.
type Step struct {
	Name string
	Each bool
}

// Way returns how the trainer's fields lead to the component of a resource; ok is
// false where none do, or where a field may hold another one as well.
func (s *Source) Way(resource int) (way []Step, ok bool) {
	return s.x.way(s.x.b.owners[resource], func(several bool, objs []*object) bool { return len(objs) == 1 })
}

// way searches the fields of what the constructor made for an object, breadth
// before depth so that the shortest way is found. It goes through the fields that
// goes admits.
func (x *interp) way(to *object, goes func(several bool, objs []*object) bool) ([]Step, bool) {
	type at struct {
		o   *object
		way []Step
	}
	seen := map[*object]bool{x.self.objs[0]: true}
	for queue := []at{{x.self.objs[0], nil}}; len(queue) > 0; queue = queue[1:] {
		now := queue[0]
		if now.o == to {
			return now.way, true
		}
		for _, f := range fieldsAt(now.o.typ) {
			several := tree.Element(f.Type()) != nil
			objs := objectsOf(x.heap[place{now.o, f.Name()}])
			if !f.Exported() && f.Pkg() != x.p.main.pkg || !goes(several, objs) {
				continue
			}
			for _, o := range objs {
				if !seen[o] {
					seen[o] = true
					queue = append(queue, at{o, append(slices.Clone(now.way), Step{f.Name(), several})})
				}
			}
		}
	}
	return nil, false
}

// fieldsAt returns the fields of a struct, of what a pointer points to, or of the
// elements of a list.
func fieldsAt(t types.Type) []*types.Var {
	if t == nil {
		return nil
	}
	if u, ok := t.Underlying().(interface{ Elem() types.Type }); ok {
		t = u.Elem()
	}
	return tree.StructFields(t)
}

// fieldNamed returns one of those fields, or nil.
func fieldNamed(t types.Type, name string) *types.Var {
	for _, f := range fieldsAt(t) {
		if f.Name() == name {
			return f
		}
	}
	return nil
}

// Named reports whether the constructor registers a resource's component under
// the resource's name, so that a scope finds it.
func (s *Source) Named(resource int) bool {
	o := s.x.b.owners[resource]
	name, _, _ := strings.Cut(s.x.b.resources[resource].Name, "/")
	return !o.many && o.name != "" && o.name == name
}

// Header is the first line of a generated file.
const Header = "// Code generated by weft generate. DO NOT EDIT."

// Generated reports whether a file is a generated one: it says nothing about the
// loop, and is read as if it were empty.
func Generated(text []byte) bool { return strings.HasPrefix(string(text), Header) }

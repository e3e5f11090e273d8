package analyze

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
)

// Source is a loop with what the analysis learnt on its way through it: for
// whoever writes programs from a graph. Places in it are named as the analyser
// does, by a position under the calls that were read through to get there.
type Source struct {
	Fset    *token.FileSet
	Pkg     *types.Package
	Info    *types.Info
	Dir     string        // of the package
	Train   *ast.FuncDecl // the loop
	Trainer types.Type    // what the constructor makes

	x      *interp
	p      *partition
	within map[string][]int
}

// Sourced is a Result with the source it came from; nil where there is no graph.
type Sourced struct {
	Result
	Source *Source
}

// Sources is Overlay for those who need the source beside the graph.
func Sources(ctx context.Context, dir string, files map[string][]byte, patterns ...string) ([]Sourced, error) {
	roots, all, err := load(ctx, dir, files, patterns)
	if err != nil {
		return nil, err
	}
	var out []Sourced
	for _, r := range roots {
		x, graph, found := explore(r.Fset, unitOf(r), unitsBelow(r, all), true)
		s := Sourced{Result: Result{r.PkgPath, graph, found}}
		if graph != nil {
			s.Source = x.source(graph, filepath.Dir(r.GoFiles[0]))
		}
		out = append(out, s)
	}
	return out, nil
}

func (x *interp) source(g *fdg.Graph, dir string) *Source {
	s := &Source{
		Fset: x.p.fset, Pkg: x.p.main.pkg, Info: x.p.main.info, Dir: dir, Train: x.p.main.marks.train[0],
		Trainer: x.self.objs[0].typ, x: x, p: x.parts, within: map[string][]int{},
	}
	for _, key := range slices.Sorted(maps.Keys(x.b.keys)) {
		id := x.b.keys[key]
		for at := strings.LastIndexByte(key, '/'); at > 0; at = strings.LastIndexByte(key[:at], '/') {
			s.within[key[:at]] = append(s.within[key[:at]], id)
		}
	}
	for _, list := range s.within {
		slices.Sort(list)
	}
	return s
}

// Root is the place of the training function.
const Root = "train"

// Place names a position under a call.
func Place(call string, pos token.Pos) string { return fmt.Sprintf("%s/%d", call, pos) }

// The marks that tell nodes at one position apart.
const (
	OfCall   = "(" // an operation or a helper, at its call
	OfAssign = "=" // a computed value, at what it is assigned to
	OfBranch = "?" // at the condition
	OfLoop   = "@" // at the loop
)

// Node is the node at a place.
func (s *Source) Node(place, mark string) (int, bool) {
	id, ok := s.x.b.keys[place+mark]
	return id, ok
}

// Within are the nodes of a call that is read through, in order.
func (s *Source) Within(call string) []int { return s.within[call] }

// Call is a call that is read through.
type Call struct {
	Place string
	Fn    *types.Func
	Decl  *ast.FuncDecl
	Info  *types.Info
	Pkg   *types.Package
	f     *frame
}

// Subst is a type with the call's type parameters replaced by what they stand
// for.
func (c Call) Subst(t types.Type) types.Type { return c.f.subst(t) }

// Callee is the declared function or method that a call names, or nil.
func (c Call) Callee(call *ast.CallExpr) *types.Func { return calleeOf(c.Info, call) }

// Inlined is the function that a call at a place is read through to.
func (s *Source) Inlined(place string) (Call, bool) {
	f, ok := s.x.frames[place]
	if !ok {
		return Call{}, false
	}
	return Call{place, f.fn, s.x.p.funcs[f.fn].decl, f.unit.info, f.unit.pkg, f}, true
}

// Origin is a part of a node's result.
type Origin struct {
	Node int
	Part string
}

// Before is the mark of the point before a statement, After of that behind it.
const (
	Before = "<"
	After  = ">"
)

// Origins are what a part of a variable may hold at a point: nothing for what
// depends on no operation. call is where the variable belongs.
func (s *Source) Origins(point string, v types.Object, call, path string) []Origin {
	st := s.x.states[point]
	if st == nil {
		return nil
	}
	return s.origins(st.vars[variable{v, call}], path)
}

// Returned are the origins of a result of a call that is read through.
func (s *Source) Returned(place string, result int, path string) []Origin {
	f := s.x.frames[place]
	if f == nil || f.ret == nil {
		return nil
	}
	v := f.ret
	if len(v.tuple) > 0 {
		v = v.result(result)
	}
	return s.origins(v, path)
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

// Axis is what a part of a node's result is split along.
func (s *Source) Axis(o Origin) fdg.Axis {
	shape := s.p.partShape(fdg.Edge{From: o.Node, Part: o.Part})
	if a := s.x.b.extra[o.Node].axis; a != "" && shape != "" {
		return a
	}
	return cmp.Or(axisOfShape[shape], fdg.None)
}

// Results are the names of the parts of a node that has several results.
func (s *Source) Results(node int) []string { return s.x.b.extra[node].names }

// Pos is where a node stands.
func (s *Source) Pos(node int) token.Pos { return s.x.b.extra[node].pos }

// Family reports whether a loop goes through the members of a family.
func (s *Source) Family(loop int) bool { return s.x.b.extra[loop].family }

// Shared reports whether the trainer has another way to a member's component than
// through its family, so that whoever uses it may mean any member's.
func (s *Source) Shared(resource int) bool {
	_, yes := s.x.wayBy(s.x.self.objs[0], s.x.b.owners[resource], s.Pkg, false)
	return yes
}

// Component is the type of a resource's component.
func (s *Source) Component(resource int) types.Type { return s.x.b.owners[resource].typ }

// IsBatch reports whether values of a type hold tensors.
func (s *Source) IsBatch(t types.Type) bool { return isBatch(t) }

// Step is a field on the way to a component; Each is true where it holds several,
// of which the way goes through all.
type Step struct {
	Name string
	Each bool
}

// Way is how the trainer's fields lead to the component of a resource; ok is
// false where none do.
func (s *Source) Way(resource int) (way []Step, ok bool) {
	return s.x.wayBy(s.x.self.objs[0], s.x.b.owners[resource], s.Pkg, true)
}

// wayBy searches the fields of what the constructor made, breadth before depth so
// that the shortest is found; not through several at once unless each is true.
func (x *interp) wayBy(from, to *object, home *types.Package, each bool) ([]Step, bool) {
	type at struct {
		o   *object
		way []Step
	}
	seen := map[*object]bool{from: true}
	for queue := []at{{from, nil}}; len(queue) > 0; queue = queue[1:] {
		now := queue[0]
		if now.o == to {
			return now.way, true
		}
		for _, f := range fieldsAt(now.o.typ) {
			if !f.Exported() && f.Pkg() != home {
				continue
			}
			_, several := f.Type().Underlying().(*types.Slice)
			if several && !each {
				continue
			}
			for _, o := range objectsOf(now.o.fields[f.Name()]) {
				if !seen[o] {
					seen[o] = true
					queue = append(queue, at{o, append(slices.Clone(now.way), Step{f.Name(), several})})
				}
			}
		}
	}
	return nil, false
}

func fieldsAt(t types.Type) (out []*types.Var) {
	if t == nil {
		return nil
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	if s, ok := t.Underlying().(*types.Struct); ok {
		for i := range s.NumFields() {
			out = append(out, s.Field(i))
		}
	}
	return out
}

// Named reports whether the constructor registers a resource's component under
// the resource's name, so that a scope finds it.
func (s *Source) Named(resource int) bool {
	o := s.x.b.owners[resource]
	name, _, _ := strings.Cut(s.x.b.resources[resource].Name, "/")
	return !o.many && o.name != "" && o.name == name
}

// note keeps what is known at a point of the loop.
func (x *interp) point(s ast.Stmt, mark string) {
	if x.states != nil && x.phase == training {
		x.states[x.key(s.Pos(), mark)] = x.st.clone()
	}
}

// Header is the first line of a generated file.
const Header = "// Code generated by weft generate. DO NOT EDIT."

// Generated reports whether a file is a generated one: it says nothing about the
// loop, and is read as if it were empty.
func Generated(text []byte) bool { return strings.HasPrefix(string(text), Header) }

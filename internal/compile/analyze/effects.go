package analyze

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/vocabulary"
)

// effects applies what an operation reads and writes of the state that others
// share.
func (x *interp) effects(id int, call *ast.CallExpr, w vocabulary.Word, recv *value, args []*value) {
	if w.Lends {
		for _, a := range args {
			for _, o := range objectsOf(a) {
				if o.of.Copyable {
					x.read(id, x.resource(o, ""))
				}
			}
		}
	}
	if !w.Reads && !w.Writes && !w.Replaces && !w.Graph {
		return
	}
	objs := x.some(call, recv, types.ExprString(call.Fun))
	if w.One {
		objs = nil
		if o := x.one(call, recv, types.ExprString(call.Fun)); o != nil {
			objs = []*object{o}
		}
	}
	for _, o := range objs {
		x.effect(id, call, w, o, len(objs) > 1)
	}
}

// effect applies what an operation does to one component; weak says that it may do
// it to another.
func (x *interp) effect(id int, call *ast.CallExpr, w vocabulary.Word, o *object, weak bool) {
	if o.of.Alone {
		x.alone(call, o)
	}
	if w.Graph {
		x.readGraph(id, o)
	}
	if w.Empties {
		x.filled(id, o)
	}
	switch {
	case w.Writes:
		x.both(id, x.resource(o, ""), o, weak)
	case w.Replaces:
		x.write(id, x.resource(o, ""), o, weak)
	case w.Reads:
		x.read(id, x.resource(o, ""))
	}
	for _, part := range w.State {
		x.both(id, x.resource(o, part), o, weak)
	}
	if w.Params {
		x.writeParams(id, call, o, weak)
	}
}

// alone refuses a second component of which a loop has one: draws, episodes and
// shards go by the rows of the environments.
func (x *interp) alone(call *ast.CallExpr, o *object) {
	if x.environment == nil {
		x.environment = o
	} else if x.environment != o {
		x.bad(where(call), refusal{"component", "a loop has one batch of environments, and this is a second one", "evaluate with --eval-every, which has environments of its own"})
	}
}

// writeParams writes the parameters that a component was made with.
func (x *interp) writeParams(id int, call *ast.CallExpr, o *object, weak bool) {
	if len(o.params) == 0 || slices.Contains(o.params, x.unknown) {
		x.bad(where(call), refusal{"unresolved", "which parameters this optimiser writes is not known from the constructor", "name them in the call of rl.NewOpt"})
	}
	for _, p := range o.params {
		if p != x.unknown {
			x.both(id, x.resource(p, ""), p, weak || o.either)
		}
	}
}

// some returns the components that a value may be.
func (x *interp) some(call *ast.CallExpr, v *value, what string) []*object {
	if objs := objectsOf(v); len(objs) > 0 && !slices.Contains(objs, x.unknown) {
		return objs
	}
	x.bad(where(call), refusal{"unresolved", fmt.Sprintf("which component is meant by %s is not known from the constructor", what), "assign the field in the constructor, from the function that makes the component"})
	return nil
}

// one returns the component that a value must be.
func (x *interp) one(call *ast.CallExpr, v *value, what string) *object {
	objs := x.some(call, v, what)
	if len(objs) > 1 {
		x.bad(call.Pos(), refusal{"unresolved", fmt.Sprintf("%s may be one of %d components, depending on the way here", what, len(objs)), "give each a field and a call of its own"})
	}
	if len(objs) != 1 {
		return nil
	}
	return objs[0]
}

func (x *interp) both(id, r int, o *object, weak bool) {
	x.read(id, r)
	x.write(id, r, o, weak)
}

func (x *interp) read(id, r int) {
	n := &x.b.nodes[id]
	n.Reads = uses(n.Reads, r)
	for _, w := range x.st.writers[r] {
		x.b.edge(fdg.Edge{Kind: fdg.OfResource, From: w.node, To: id, Resource: r, Carried: w.carried})
	}
}

// write makes a node the last writer. Of a family, or of what may be one of several
// components, it is one of several, since another's state is as it was.
func (x *interp) write(id, r int, o *object, weak bool) {
	n := &x.b.nodes[id]
	n.Writes = uses(n.Writes, r)
	now := []def{{id, "", -1}}
	if o.many || weak {
		now = union(now, x.st.writers[r], compareDefs)
	}
	x.st.writers[r] = now
}

// readGraph reads what a graph function reads.
func (x *interp) readGraph(id int, o *object) {
	for _, g := range o.graphs {
		if _, ok := x.p.funcs[g.fn]; !ok {
			x.bad(x.b.extra[id].pos, refusal{"unresolved", fmt.Sprintf("the source of the graph function %s is not at hand, so what it reads is not known", g.fn.FullName()), "declare a function that calls it, and name that in the constructor"})
		}
	}
	for _, p := range x.graphReads(o) {
		part, _ := p.copied()
		x.read(id, x.resource(p, part))
	}
	e := &x.b.extra[id]
	e.draws = e.draws || o.draws
}

// filled notes whether anything can be in a rollout that is drained.
func (x *interp) filled(id int, o *object) {
	for _, w := range x.st.writers[x.resource(o, "")] {
		if x.b.nodes[w.node].Kind == fdg.Insert && (w.carried < 0 || x.b.nodes[w.carried].Kind != fdg.Next) {
			x.b.extra[id].filled = true
		}
	}
}

// resource returns a part of an object's state.
func (x *interp) resource(o *object, part string) int {
	key := place{o, part}
	if r, ok := x.b.resource[key]; ok {
		return r
	}
	r := len(x.b.resources)
	x.b.resource[key] = r
	res := resourceOf(o.of)
	if part != "" {
		res = resourceOf(o.of.Parts[part])
		res.Part = part
	}
	if o.kind == componentObject {
		res = fdg.Resource{Kind: "component", Sharing: fdg.Pinned, Axis: x.axisOf(o)}
	}
	res.ID, res.Name, res.Type, res.Pos, res.Family = r, x.resourceName(o, part), x.typeName(o.typ), x.b.pos(o.pos), o.many
	x.b.resources = append(x.b.resources, res)
	x.b.owners = append(x.b.owners, o)
	return r
}

// resourceName returns what the constructor called a component, or the field that
// holds it.
func (x *interp) resourceName(o *object, part string) string {
	name := o.name
	if name == "" {
		if name = o.of.Kind; name == "" {
			name = "component"
		}
		if way, ok := x.way(o, func(bool, []*object) bool { return true }); ok && len(way) > 0 && !o.of.Alone {
			var fields []string
			for _, step := range way {
				fields = append(fields, step.Name)
			}
			name = strings.Join(fields, ".")
		}
	}
	if part != "" {
		name += "/" + part
	}
	for n, taken := name, 2; ; taken++ {
		if !slices.ContainsFunc(x.b.resources, func(r fdg.Resource) bool { return r.Name == n }) {
			return n
		}
		n = fmt.Sprintf("%s#%d", name, taken)
	}
}

package analyze

import (
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"slices"

	"github.com/weft-rl/weft/fdg"
)

// effects applies what an operation reads and writes of the state that others
// share.
func (x *interp) effects(id int, call *ast.CallExpr, name string, recv *value, args []*value) {
	switch name {
	case "env.Batch.Obs", "env.Groups.Obs":
		x.touch(id, call, recv, "", false)
	case "env.Batch.Step", "env.Groups.Step":
		x.touch(id, call, recv, "", true)
		x.touch(id, call, recv, "episodes", true)
	case "rl.Func.Call", "rl.Func.Rows", "rl.Loss.Grad":
		if o := x.one(call, recv, name); o != nil {
			x.readGraph(id, o)
		}
	case "rl.Opt.Apply":
		x.touch(id, call, recv, "", true)
		if o := x.one(call, recv, name); o != nil {
			if len(o.params) == 0 {
				x.bad(call.Pos(), "unresolved", "which parameters this optimiser writes is not known from the constructor", "name them in the call of rl.NewOpt")
			}
			for _, p := range o.params {
				x.both(id, x.resource(p, ""), p)
			}
		}
	case "rl.Opt.Count", "rl.Params.Version", "rl.Slots.Get", "replay.Table.Sample", "replay.Table.Ready":
		x.touch(id, call, recv, "", false)
	case "rl.Params.Blend":
		if o := x.one(call, args[0], "the source of Blend"); o != nil {
			x.read(id, x.resource(o, ""))
		}
		x.touch(id, call, recv, "", true)
	case "rl.Slots.Set":
		if o := x.one(call, recv, name); o != nil {
			x.write(id, x.resource(o, ""), o)
		}
	case "rl.Stats.Update", "replay.Rollout.Insert", "replay.Table.Insert", "replay.Table.Prioritise":
		x.touch(id, call, recv, "", true)
	case "replay.Rollout.Drain":
		x.filled(id, call, recv)
		x.touch(id, call, recv, "", true)
	case "nn.Returns.Update":
		x.touch(id, call, recv, "", true)
		x.touch(id, call, recv, "stats", true)
	}
}

// touch reads, or reads and writes, a part of a component's state.
func (x *interp) touch(id int, call *ast.CallExpr, recv *value, part string, writes bool) {
	o := x.one(call, recv, types.ExprString(call.Fun))
	if o == nil {
		return
	}
	if r := x.resource(o, part); writes {
		x.both(id, r, o)
	} else {
		x.read(id, r)
	}
}

// one is the component that a value must be.
func (x *interp) one(call *ast.CallExpr, v *value, what string) *object {
	var found []*object
	if v != nil {
		found = v.objs
	}
	switch len(found) {
	case 1:
		return found[0]
	case 0:
		x.bad(call.Pos(), "unresolved", fmt.Sprintf("which component is meant by %s is not known from the constructor", what), "assign the field once, in the constructor, from the function that makes the component")
	default:
		x.bad(call.Pos(), "unresolved", fmt.Sprintf("%s may be one of %d components, depending on the way here", what, len(found)), "give each a field and a call of its own")
	}
	return nil
}

func (x *interp) both(id, r int, o *object) {
	x.read(id, r)
	x.write(id, r, o)
}

func (x *interp) read(id, r int) {
	n := &x.b.nodes[id]
	n.Reads = uses(n.Reads, r)
	for _, w := range x.st.writers[r] {
		x.b.edge(fdg.Edge{Kind: fdg.OfResource, From: w.node, To: id, Resource: r, Carried: w.carried})
	}
}

// write makes a node the last writer. Of a family it is one of several, since
// another member's state is as it was.
func (x *interp) write(id, r int, o *object) {
	n := &x.b.nodes[id]
	n.Writes = uses(n.Writes, r)
	now := []def{{id, "", -1}}
	if o.many {
		now = union(now, x.st.writers[r], compareDefs)
	}
	x.st.writers[r] = now
}

// readGraph reads what a graph function reads.
func (x *interp) readGraph(id int, o *object) {
	if o.graph != nil {
		if _, ok := x.p.funcs[o.graph.fn.Origin()]; !ok {
			x.bad(x.b.extra[id].pos, "unresolved", fmt.Sprintf("the source of the graph function %s is not at hand, so what it reads is not known", o.graph.fn.FullName()), "declare a function that calls it, and name that in the constructor")
		}
	}
	for _, p := range x.graphReads(o) {
		part := ""
		if p.kind == returnsObject {
			part = "stats"
		}
		x.read(id, x.resource(p, part))
	}
}

// filled notes whether anything can be in a rollout that is drained.
func (x *interp) filled(id int, call *ast.CallExpr, recv *value) {
	o := x.one(call, recv, types.ExprString(call.Fun))
	if o == nil {
		return
	}
	for _, w := range x.st.writers[x.resource(o, "")] {
		if x.b.nodes[w.node].Kind == fdg.Insert && (w.carried < 0 || w.carried != x.next) {
			x.b.extra[id].filled = true
		}
	}
}

// resource is a part of an object's state.
func (x *interp) resource(o *object, part string) int {
	key := fmt.Sprint(o.id, "/", part)
	if r, ok := x.b.resource[key]; ok {
		return r
	}
	r := len(x.b.resources)
	x.b.resource[key] = r
	res := kinds[o.kind]
	if s, ok := parts[part]; ok {
		res = s
	}
	if o.kind == componentObject {
		res.Axis = x.axisOf(o)
	}
	res.ID, res.Name, res.Type, res.Pos, res.Family = r, x.resourceName(o, part), x.typeName(o.typ), x.b.pos(o.pos), o.many
	x.b.resources = append(x.b.resources, res)
	x.b.owners = append(x.b.owners, o)
	return r
}

// kinds are the resources of each kind of component, with their default homes.
var kinds = map[objectKind]fdg.Resource{
	envObject:       {Kind: "environments", Axis: fdg.Environments, Sharing: fdg.Pinned, Home: environment},
	paramsObject:    {Kind: "weights", Axis: fdg.None, Sharing: fdg.Copyable, Home: apply},
	optObject:       {Kind: "optimiser", Axis: fdg.None, Sharing: fdg.Pinned, Home: apply},
	statsObject:     {Kind: "statistics", Axis: fdg.None, Sharing: fdg.Copyable, Home: apply},
	returnsObject:   {Kind: "returns", Axis: fdg.Environments, Sharing: fdg.Pinned, Home: apply},
	slotsObject:     {Kind: "slots", Axis: fdg.Environments, Sharing: fdg.Pinned, Home: actor},
	rolloutObject:   {Kind: "rollout", Axis: fdg.Environments, Sharing: fdg.Pinned, Home: replay},
	tableObject:     {Kind: "table", Axis: fdg.None, Sharing: fdg.Pinned, Home: replay},
	componentObject: {Kind: "component", Axis: fdg.None, Sharing: fdg.Pinned},
}

var parts = map[string]fdg.Resource{
	"episodes": {Kind: "episodes", Axis: fdg.Environments, Sharing: fdg.Pinned, Home: environment},
	"stats":    {Kind: "statistics", Axis: fdg.None, Sharing: fdg.Copyable, Home: apply},
}

// resourceName is what the constructor called a component, or the field that
// holds it.
func (x *interp) resourceName(o *object, part string) string {
	name := o.name
	if name == "" {
		name = kinds[o.kind].Kind
		if f := x.fieldOf(o, nil); f != "" && o.kind != envObject {
			name = f
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

// fieldOf is the first way to an object through the fields of what the
// constructor made.
func (x *interp) fieldOf(o *object, seen []*object) string {
	if slices.Contains(seen, o) {
		return ""
	}
	for _, holder := range x.objects {
		for _, name := range slices.Sorted(maps.Keys(holder.fields)) {
			if f := holder.fields[name]; f != nil && slices.Contains(f.objs, o) {
				if up := x.fieldOf(holder, append(seen, o)); up != "" {
					return up + "." + name
				}
				return name
			}
		}
	}
	return ""
}

// axisOf is what an author's component says that it may be split along: the
// constant that its Axis method returns.
func (x *interp) axisOf(o *object) fdg.Axis {
	m, _, _ := types.LookupFieldOrMethod(types.NewPointer(o.typ), true, x.p.main.pkg, "Axis")
	fn, ok := m.(*types.Func)
	if !ok {
		return fdg.None
	}
	src, ok := x.p.funcs[fn.Origin()]
	if !ok || len(src.decl.Body.List) != 1 {
		return fdg.None
	}
	ret, ok := src.decl.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return fdg.None
	}
	var id *ast.Ident
	switch e := ast.Unparen(ret.Results[0]).(type) {
	case *ast.SelectorExpr:
		id = e.Sel
	case *ast.Ident:
		id = e
	default:
		return fdg.None
	}
	c, ok := src.unit.info.ObjectOf(id).(*types.Const)
	if !ok {
		return fdg.None
	}
	axis := []fdg.Axis{fdg.None, fdg.Environments, fdg.Agents, fdg.Members, fdg.Rows}
	for i, a := range axis {
		if c.Val().ExactString() == fmt.Sprint(i) {
			return a
		}
	}
	return fdg.None
}

package ir

import "github.com/gomlx/compute"

// Flatten returns a deep copy of the main function in which calls are replaced by the functions
// they call and every closure belongs to one node alone, so that passes can change it freely.
// Constants keep sharing their data.
func (m *Module) Flatten() *Func {
	return cloner{}.fn(m.Main)
}

// Clone returns a deep copy of the function.
func (f *Func) Clone() *Func { return cloner{}.fn(f) }

type cloner struct{}

// fn copies f.
func (c cloner) fn(f *Func) *Func {
	out := &Func{Name: f.Name}
	env := map[*Value]*Value{}
	c.body(out, f, env)
	out.Params = mapped(env, f.Params)
	out.Captures = mapped(env, f.Captures)
	out.Results = mapped(env, f.Results)
	out.Renumber()
	return out
}

func mapped(env map[*Value]*Value, vs []*Value) []*Value {
	out := make([]*Value, len(vs))
	for i, v := range vs {
		out[i] = env[v]
	}
	return out
}

func (c cloner) body(out, f *Func, env map[*Value]*Value) {
	for _, n := range f.Nodes {
		if env[n.Outputs[0]] != nil {
			continue // a parameter replaced by an argument
		}
		if n.Op == compute.OpTypeCall {
			c.call(out, n, env)
			continue
		}
		copied := &Node{Op: n.Op, Attr: n.Attr, Inputs: mapped(env, n.Inputs)}
		for _, g := range n.Funcs {
			copied.Funcs = append(copied.Funcs, c.fn(g))
		}
		for i, v := range n.Outputs {
			copied.Outputs = append(copied.Outputs, &Value{Node: copied, Index: i, Shape: v.Shape})
			env[v] = copied.Outputs[i]
		}
		out.Add(copied)
	}
}

func (c cloner) call(out *Func, n *Node, env map[*Value]*Value) {
	callee := n.Funcs[0]
	inner := map[*Value]*Value{}
	for i, p := range callee.Params {
		inner[p] = env[n.Inputs[i]]
	}
	c.body(out, callee, inner)
	for i, r := range callee.Results {
		env[n.Outputs[i]] = inner[r]
	}
}

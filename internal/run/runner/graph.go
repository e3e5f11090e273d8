package runner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// Graph is the greedy policy of a player as one compiled graph, for a number of environments.
type Graph struct {
	Exe     compute.Executable
	In      []Port // inputs but the weights
	Weights []rl.Weight
	Out     []Port
}

// Port is an input or an output of a graph. Names begin with the kind of agents where there are
// several.
type Port struct {
	Name  string
	At    int // position among the graph's inputs or outputs
	Shape shapes.Shape
	Space rl.Space  // space of an observation or an action; nil for others
	Fresh rl.Tensor // memory of one environment at the start of an episode; absent of others
}

// sight holds the observations and the memory that an agent acts on.
type sight struct {
	Obs    rl.Obs
	Memory rl.Tree
}

// Graph compiles the greedy policy for so many environments.
func (p *Player) Graph(rows int) (g Graph, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var in []rl.Tensor
	var sights []sight
	err = rl.Catch(func() error {
		for i, spec := range p.specs {
			s := sight{p.blank(spec, rows), p.team[i].Memory(rows)}
			sights, in = append(sights, s), append(in, rl.Leaves(s)...)
		}
		return nil
	})
	if err != nil {
		return g, err
	}
	var acts []acted
	t, err := rl.System.Trace(p.root, "policy", in, func(nodes []rl.Tensor) (out []rl.Tensor) {
		acts, out = p.acts(sights, nodes)
		return out
	})
	if err != nil {
		return g, fmt.Errorf("the policy as one graph: %w", err)
	}
	g.Exe, g.Weights = t.Exe, t.Weights
	p.ports(&g, t, sights, acts)
	return g, nil
}

// acted holds the actions of the agents of a kind.
type acted struct{ Action, Memory rl.Tree }

// acts builds the greedy actions of all kinds.
func (p *Player) acts(sights []sight, nodes []rl.Tensor) (acts []acted, out []rl.Tensor) {
	for i, s := range sights {
		n := len(rl.Leaves(s))
		s, nodes = rl.Rebuild(s, nodes[:n]), nodes[n:]
		action, next := p.team[i].Act(rl.Key{}, s.Obs, s.Memory, true)
		a := acted{action, next}
		acts, out = append(acts, a), append(out, rl.Leaves(a)...)
	}
	return acts, out
}

// ports names the graph's inputs and outputs.
func (p *Player) ports(g *Graph, t rl.Traced, sights []sight, acts []acted) {
	_, ins := t.Exe.Inputs()
	outs := t.Exe.Outputs()
	in, at, position := 0, 0, 0
	for i, spec := range p.specs {
		prefix := ""
		if len(p.specs) > 1 {
			prefix = spec.Kind + "."
		}
		fresh := p.team[i].Memory(1)
		for _, name := range rl.LeafNames(sights[i]) {
			if slot := t.In[in]; slot >= 0 {
				port := Port{Name: prefix + inputName(name), At: slot, Shape: ins[slot]}
				if leaf, ok := under(name, "Obs.X"); ok {
					port.Space = spaceOf(spec.Obs, leaf)
				}
				if leaf, ok := under(name, "Memory"); ok {
					port.Fresh = fresh.Leaf(leaf)
				}
				g.In = append(g.In, port)
			}
			in++
		}
		for _, name := range rl.LeafNames(acts[i]) {
			if t.Out[at] {
				port := Port{Name: prefix + outputName(name), At: position, Shape: outs[position]}
				if leaf, ok := under(name, "Action"); ok {
					port.Space = spaceOf(spec.Action, leaf)
				}
				g.Out = append(g.Out, port)
				position++
			}
			at++
		}
	}
}

// under returns the part of a leaf's path behind a field.
func under(path, field string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, field)
	if !ok || rest != "" && rest[0] != '.' {
		return "", false
	}
	return strings.TrimPrefix(rest, "."), true
}

// inputName returns how users call a leaf of a sight: obs, legal, state, turn, alive, first or
// memory, with the name of the part behind a point.
func inputName(path string) string {
	path = strings.TrimPrefix(path, "Obs.")
	if rest, ok := under(path, "X"); ok {
		return strings.TrimSuffix("obs."+rest, ".")
	}
	return lowerField(path)
}

// outputName returns how users call a leaf of what was acted: action, next_memory.
func outputName(path string) string {
	if rest, ok := under(path, "Memory"); ok {
		return strings.TrimSuffix("next_memory."+rest, ".")
	}
	return lowerField(path)
}

// lowerField returns a path whose first field is in lower case.
func lowerField(path string) string {
	field, rest, found := strings.Cut(path, ".")
	if !found {
		return strings.ToLower(field)
	}
	return strings.ToLower(field) + "." + rest
}

// spaceOf returns the leaf of a space.
func spaceOf(s rl.Space, leaf string) rl.Space {
	for _, l := range s.Leaves() {
		if l.Name == leaf {
			return l.Space
		}
	}
	return nil
}

// blank returns observations of zeros, in so many environments.
func (p *Player) blank(spec env.Spec, rows int) (o rl.Obs) {
	zero := func(dtype dtypes.DType, dims ...int) rl.Tensor {
		s := shapes.Make(dtype, append([]int{rows}, dims...)...)
		return p.scope.Device().Tensor(dtypes.MakeAnySlice(dtype, s.Size()), s)
	}
	agents := []int{}
	if spec.Agents > 1 {
		agents = append(agents, spec.Agents)
	}
	var names []string
	var leaves []rl.Tensor
	for _, l := range spec.Obs.Leaves() {
		one := l.Space.Shape()
		names, leaves = append(names, l.Name), append(leaves, zero(one.DType, slices.Concat(agents, one.Dimensions)...))
	}
	o.X = rl.NewTree(names, leaves)
	if spec.Masked {
		names, leaves = nil, nil
		for _, l := range spec.Action.Leaves() {
			if n := rl.Choices(l.Space); n > 0 {
				names, leaves = append(names, l.Name), append(leaves, zero(dtypes.Bool, append(slices.Clone(agents), n)...))
			}
		}
		o.Legal = rl.NewTree(names, leaves)
	}
	if spec.State > 0 {
		o.State = zero(dtypes.Float32, spec.State)
	}
	if spec.Turns {
		o.Turn = zero(dtypes.Bool, max(1, spec.Agents))
	}
	if spec.Mortal {
		o.Alive = zero(dtypes.Bool, max(1, spec.Agents))
	}
	o.First = zero(dtypes.Bool)
	return o
}

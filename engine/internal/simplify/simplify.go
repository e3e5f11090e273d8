// Package simplify rewrites recorded functions into smaller ones that compute the same bits:
// constants are folded, equal nodes become one, operations that change nothing go away, layouts are
// absorbed by the nodes that can read them, and what no result needs is dropped.
package simplify

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
)

// Options say which passes run, and how nodes are evaluated.
type Options struct {
	Fold, CSE, Identities, DCE bool

	// Eval computes a node whose operands are constants: the bytes of each output.
	Eval func(n *ir.Node) ([][]byte, error)
}

// maxRounds bounds how often a function is gone over; each round may open the way for the next.
const maxRounds = 6

// Run simplifies a function and its closures in place.
func Run(f *ir.Func, o Options) error {
	for range maxRounds {
		changed, err := round(f, o)
		if err != nil || !changed {
			return err
		}
	}
	return nil
}

// round goes over the closures, then over the function itself.
func round(f *ir.Func, o Options) (bool, error) {
	any := false
	for _, n := range f.Nodes {
		for _, c := range n.Funcs {
			changed, err := round(c, o)
			if err != nil {
				return false, err
			}
			any = any || changed
		}
		if len(n.Funcs) > 0 {
			any = constantCaptures(n, o) || any
			if o.DCE {
				any = unusedCaptures(n) || any
			}
		}
	}
	p := &pass{Options: o, f: f, env: map[*ir.Value]*ir.Value{}, seen: map[string]*ir.Node{}, uses: uses(f),
		ids: map[*ir.Value]int{}}
	if err := p.run(); err != nil {
		return false, err
	}
	if o.DCE && dead(f) {
		p.changed = true
	}
	f.Renumber()
	return any || p.changed, nil
}

// pass is one walk over a function that builds a new list of nodes.
type pass struct {
	Options
	f       *ir.Func
	out     []*ir.Node
	env     map[*ir.Value]*ir.Value // replacements of values
	seen    map[string]*ir.Node
	uses    map[*ir.Value]int
	ids     map[*ir.Value]int // numbers values for keys
	changed bool
}

func uses(f *ir.Func) map[*ir.Value]int {
	u := map[*ir.Value]int{}
	for _, n := range f.Nodes {
		for _, v := range n.Inputs {
			u[v]++
		}
	}
	for _, v := range f.Results {
		u[v]++
	}
	return u
}

func (p *pass) run() error {
	for _, n := range p.f.Nodes {
		for i, v := range n.Inputs {
			n.Inputs[i] = p.get(v)
		}
		if err := p.node(n); err != nil {
			return err
		}
	}
	p.f.Nodes = p.out
	for i, v := range p.f.Results {
		p.f.Results[i] = p.get(v)
	}
	return nil
}

func (p *pass) get(v *ir.Value) *ir.Value {
	for {
		w, ok := p.env[v]
		if !ok {
			return v
		}
		v = w
	}
}

// add appends a node, or finds the equal one that is there.
func (p *pass) add(n *ir.Node) *ir.Value {
	if p.CSE {
		if k, ok := p.key(n); ok {
			if same := p.seen[k]; same != nil {
				for i, v := range n.Outputs {
					p.env[v] = same.Outputs[i]
				}
				p.changed = true
				return same.Outputs[0]
			}
			p.seen[k] = n
		}
	}
	p.out = append(p.out, n)
	for _, v := range n.Outputs {
		p.ids[v] = len(p.ids)
	}
	return n.Outputs[0]
}

func (p *pass) replace(n *ir.Node, v *ir.Value) {
	p.env[n.Outputs[0]] = v
	p.changed = true
}

func (p *pass) node(n *ir.Node) error {
	if p.Identities {
		if v := p.identity(n); v != nil {
			p.replace(n, v)
			return nil
		}
	}
	if p.Fold && foldable(n) {
		consts, err := p.fold(n)
		if err != nil {
			return err
		}
		for i, c := range consts {
			p.env[n.Outputs[i]] = p.add(c)
		}
		p.changed = true
		return nil
	}
	p.add(n)
	return nil
}

// key identifies what a node computes; false if it must stay as it is.
func (p *pass) key(n *ir.Node) (string, bool) {
	switch n.Op {
	case compute.OpTypeParameter, compute.OpTypeCapturedValue, compute.OpTypeOptimizationBarrier:
		return "", false
	}
	if len(n.Funcs) > 0 {
		return "", false
	}
	ins := make([]int, len(n.Inputs))
	for i, v := range n.Inputs {
		ins[i] = p.ids[v]
	}
	if op.Of(n.Op).Commutes {
		slices.Sort(ins)
	}
	if l, ok := n.Attr.(ir.Literal); ok {
		if len(l.Data) > maxKeyBytes {
			return "", false
		}
		return fmt.Sprintf("%v %v %x", n.Outputs[0].Shape, n.Op, l.Data), true
	}
	key := fmt.Sprintf("%v %v %v", n.Op, ins, n.Attr)
	for _, v := range n.Outputs {
		key += fmt.Sprintf(" %v", v.Shape)
	}
	return key, true
}

// maxKeyBytes is the largest constant that is compared with others.
const maxKeyBytes = 1 << 12

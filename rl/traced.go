package rl

import (
	"fmt"

	"github.com/gomlx/compute"
)

// Traced is graph code as one compiled graph, for programs that take it elsewhere.
type Traced struct {
	Exe     compute.Executable
	In      []int    // position among Exe's inputs of each tensor given; -1 if it is absent
	Out     []bool   // whether each tensor returned is present and so among Exe's outputs
	Weights []Weight // the inputs that are the scope's own: parameters and statistics
}

// Weight is a parameter or a statistic that a graph reads.
type Weight struct {
	Name string // path from the scope, as policy/layer_0/weights
	At   int    // position among the graph's inputs
	Tensor
}

// Trace compiles what build makes of tensors like in, with all graph functions of the scope that it
// calls built into one graph. It fails if the graph draws random numbers.
func (system) Trace(s *Scope, name string, in []Tensor, build func(in []Tensor) []Tensor) (out Traced, err error) {
	var p *program
	err = trace(s, func() (err error) {
		p, err = tryCompile(&Ctx{dev: s.dev, scope: s}, name, in, func(_ *Ctx, nodes []Tensor) []Tensor { return build(nodes) })
		return err
	})
	if err != nil {
		return out, err
	}
	if len(p.draws) > 0 {
		return out, fmt.Errorf("it draws random numbers (%q)", p.draws[0].use)
	}
	paths := map[*cell]string{}
	for path, c := range s.vars {
		paths[c] = path[1:]
	}
	out = Traced{Exe: p.exe, In: p.slots, Out: p.out}
	for i, c := range p.vars {
		path, ok := paths[c]
		if !ok {
			path = c.path
		}
		out.Weights = append(out.Weights, Weight{path, p.varAt[i], c.value})
	}
	return out, nil
}

package rl

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/distributed"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// A device program on several devices is the program for one: what is said beside it
// is which axis of an input or output is shared out among the devices. State of
// environments is cut along them, rows of a minibatch along their numbers, everything
// else is whole on each; what follows from that for all that is between, and which
// collectives it takes, is for the device's compiler to find. So no result depends on
// how many devices there are but by the order in which sums are added up.

// uncut is the axis of what every device has all of.
const uncut = -1

// axisName names the one axis of a mesh of devices.
const axisName = "d"

// parting is how the inputs and outputs of a program are shared out among devices.
type parting struct {
	mesh    *distributed.DeviceMesh
	in, out []int // their axes that are cut, or uncut
}

func newParting(devices int) *parting {
	mesh, err := distributed.NewDeviceMesh([]int{devices}, []string{axisName})
	check(err)
	return &parting{mesh: mesh}
}

// spec says to GoMLX that an axis of something is cut.
func (p *parting) spec(axis int) *distributed.ShardingSpec {
	if p == nil || axis == uncut {
		return nil
	}
	b := distributed.BuildSpec(p.mesh)
	for range axis {
		b = b.R()
	}
	s, err := b.S(axisName).Done()
	check(err)
	return s
}

// input returns parameter i of the graph that c builds.
func (c *Ctx) input(i int, s shapes.Shape) *graph.Node {
	name := fmt.Sprintf("in%d", i)
	if c.parts == nil {
		return graph.Parameter(c.graph, name, s)
	}
	return graph.ShardedParameter(c.graph, name, s, c.parts.spec(c.parts.in[i]))
}

// compile ends the graph with what is there of its results.
func (c *Ctx) compile(outs []Tensor) error {
	var results []*graph.Node
	var specs []*distributed.ShardingSpec
	for i, t := range outs {
		if t.Ok() {
			results = append(results, t.node)
			if c.parts != nil {
				specs = append(specs, c.parts.spec(c.parts.out[i]))
			}
		}
	}
	if len(results) == 0 {
		return fmt.Errorf("it returns no tensor")
	}
	all := covering(c.graph, results)
	if c.parts != nil {
		specs = append(specs, make([]*distributed.ShardingSpec, len(all)-len(specs))...)
	}
	return c.graph.CompileWithSharding(all, specs)
}

// parting returns how the program is shared out, nil on one device. tables and counts are
// how many of them it is given.
func (p *wholeLoop) parting(tables, counts int) *parting {
	if p.scope.dev.parts < 2 {
		return nil
	}
	out := newParting(p.scope.dev.parts)
	out.in = slices.Repeat([]int{uncut}, 2+tables)
	out.in = append(out.in, make([]int, counts)...)
	axes := p.axes()
	for _, c := range p.state {
		n := len(c.carried())
		if _, own := c.(carriedParams); !own {
			out.in = append(out.in, axes[:n]...)
		}
		axes = axes[n:]
	}
	return out
}

// axes returns, for each tensor of the state, the axis along which it is split.
func (p *wholeLoop) axes() (out []int) {
	envs := p.scope.Envs().Of
	for i, c := range p.state {
		for _, t := range c.carried() {
			axis := uncut
			if p.byEnv[i] && t.Ok() && t.Shape().Rank() > 0 && t.Rows() == envs {
				axis = 0
			}
			out = append(out, axis)
		}
	}
	return out
}

// equal checks that every device has as many environments.
func (p *wholeLoop) equal() error {
	n, envs := p.scope.dev.parts, p.scope.Envs().Of
	if n < 2 || envs%n == 0 {
		return nil
	}
	return fmt.Errorf("%d environments make no %d equal parts, one for each device: choose a multiple of %d", envs, n, n)
}

// rowNumbers returns 0, 1, ... up to n as a uint32 vector. In a program on several devices
// it is an input that is cut, so that what is done by these numbers, such as a
// minibatch's rows, is shared out.
func rowNumbers(g *graph.Graph, n int) *graph.Node {
	if c, ok := g.State(ctxLink{}).(*Ctx); ok && c.parts != nil {
		if x := c.lower.numbered(n, c.dev.parts); x != nil {
			return x
		}
	}
	return graph.Iota(g, shapes.Make(dtypes.Uint32, n), 0)
}

// numbered returns the input of n numbers. There is none before the second trace, which is
// given those that the first asked for, or where they make no equal parts.
func (l *Lowering) numbered(n, parts int) *graph.Node {
	if n%parts != 0 {
		if !slices.Contains(l.uneven, n) {
			l.uneven = append(l.uneven, n)
		}
		return nil
	}
	i := slices.Index(l.counts, n)
	if i < 0 {
		l.counts = append(l.counts, n)
		return nil
	}
	if i >= len(l.counted) {
		return nil
	}
	return l.counted[i]
}

// lament tells of rows that every device has all of.
func (p *wholeLoop) lament() {
	for _, n := range p.l.uneven {
		p.scope.Note(fmt.Sprintf("%d rows, of a minibatch or sample, make no %d equal parts: every device computes all of them", n, p.scope.dev.parts))
	}
}

// countings returns the vectors of numbers that the program is given.
func (p *wholeLoop) countings(sizes []int) []Tensor {
	out := make([]Tensor, len(sizes))
	for i, n := range sizes {
		x := make([]uint32, n)
		for j := range x {
			x[j] = uint32(j)
		}
		out[i] = FromFlat(p.scope, x, n)
	}
	return out
}

package rl

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// program is a graph function compiled for one combination of input shapes. It
// is safe for use by several goroutines.
type program struct {
	name  string
	dev   *Device
	graph *graph.Graph // owns the executable
	exe   compute.Executable

	inputs int   // tensors a call is given, absent ones included
	slots  []int // for each, its position among the executable's inputs; -1 if absent
	draws  []draw
	shapes []shapes.Shape // of the executable's inputs
	vars   []*cell        // parameters read
	varAt  []int          // and their positions
	out    []bool         // for each output, whether it is present
}

// compile traces build on inputs like in, and compiles the graph. Errors are
// failures that name the function.
func compile(c *Ctx, name string, in []Tensor, build func(*Ctx, []Tensor) []Tensor) *program {
	p, err := tryCompile(c, name, in, build)
	if err != nil {
		failf("graph function %q: %w", name, err)
	}
	return p
}

func tryCompile(c *Ctx, name string, in []Tensor, build func(*Ctx, []Tensor) []Tensor) (p *program, err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case error:
			err = x
		default:
			err = fmt.Errorf("%v", x)
		}
	}()
	c.newGraph(name)
	p = &program{name: name, dev: c.dev, graph: c.graph, inputs: len(in), slots: make([]int, len(in))}
	nodes := make([]Tensor, len(in))
	for i, t := range in {
		p.slots[i] = -1
		if t.Ok() {
			n := graph.Parameter(c.graph, fmt.Sprintf("in%d", i), t.Shape())
			nodes[i], p.slots[i] = Wrap(n), int(n.GetParameterHandle())
		}
	}
	outs := c.lift(build(c, nodes))
	var results []*graph.Node
	for _, t := range outs {
		p.out = append(p.out, t.Ok())
		if t.Ok() {
			results = append(results, t.node)
		}
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("it returns no tensor")
	}
	p.draws = c.draws
	if err := p.bind(c); err != nil {
		return nil, err
	}
	if err := c.graph.Compile(results...); err != nil {
		return nil, err
	}
	p.exe = c.graph.Executable()
	_, p.shapes = p.exe.Inputs()
	return p, nil
}

// bind notes which parameters the graph reads.
func (p *program) bind(c *Ctx) error {
	for x, n := range c.cells {
		p.vars, p.varAt = append(p.vars, x), append(p.varAt, int(n.GetParameterHandle()))
	}
	if c.scope == nil {
		return nil
	}
	for v := range c.scope.store.IterVariables() {
		if !v.InUseByGraph(c.graph) {
			continue
		}
		if v.ChangedInGraph(c.graph) {
			return fmt.Errorf("it writes parameter %s: graph functions only read; use rl.Stats for running statistics", v.Path())
		}
		mine, ok := c.scope.vars[v.Path()]
		if !ok {
			return fmt.Errorf("it makes parameter %s, which NewParams' function did not", v.Path())
		}
		p.vars = append(p.vars, mine)
		p.varAt = append(p.varAt, int(v.NodeValue(c.graph).GetParameterHandle()))
	}
	return nil
}

// run executes the program on values.
func (p *program) run(k Key, in []Tensor) []Tensor {
	bufs := make([]compute.Buffer, len(p.shapes))
	var mine []compute.Buffer // made for this call alone
	for i, t := range in {
		if at := p.slots[i]; at >= 0 {
			if t.val.buf == nil {
				t = p.dev.from(t.val.flat, t.val.shape)
				mine = append(mine, t.val.buf)
			}
			bufs[at] = t.val.buf
		}
	}
	for _, d := range p.draws {
		t := d.fill(p.dev, k, p.shapes[d.handle])
		bufs[d.handle] = t.val.buf
		mine = append(mine, t.val.buf)
	}
	for i, v := range p.vars {
		bufs[p.varAt[i]] = v.value.val.buf
	}
	results, err := p.exe.Execute(bufs, nil, 0)
	if err != nil {
		failf("graph function %q: %w", p.name, err)
	}
	for _, b := range mine {
		check(b.Finalize())
	}
	return p.collect(results)
}

func (p *program) collect(results []compute.Buffer) []Tensor {
	out := make([]Tensor, len(p.out))
	vals := make([]value, len(results))
	j := 0
	for i, present := range p.out {
		if !present {
			continue
		}
		shape, err := results[j].Shape()
		check(err)
		vals[j] = value{shape: shape, dev: p.dev, buf: results[j]}
		out[i] = Tensor{val: &vals[j]}
		j++
	}
	return out
}

// fits reports whether in has the shapes that the program was compiled for.
func (p *program) fits(in []Tensor) bool {
	if len(in) != p.inputs {
		return false
	}
	for i, t := range in {
		at := p.slots[i]
		if t.Ok() != (at >= 0) || at >= 0 && !t.Shape().Equal(p.shapes[at]) {
			return false
		}
	}
	return true
}

package rl

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

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
	slots  []int // position among the executable's inputs, of each; -1 if absent
	draws  []draw
	shapes []shapes.Shape // shapes of the executable's inputs
	vars   []*cell        // parameters read
	varAt  []int          // positions of the variables
	out    []bool         // whether each output is present
	like   []shapes.Shape // shapes of the present outputs
	tiny   []bool         // whether each present output is small
	small  int            // number of small outputs
	lead   int            // rows of the batch that it was compiled for
	send   sender         // nil where a device has the host's memory
	unread []bool         // whether the program ignores each of its inputs
	only   []bool         // whether each output has a replica's rows alone; nil where none has

	spare atomic.Pointer[arguments] // arguments for the next call
}

// arguments holds the inputs of one call of the executable. They are kept from call to
// call, with the memory that draws are written to: the device's own, or what is sent
// there.
type arguments struct {
	bufs  []compute.Buffer
	host  []any // those that are sent with the call
	draws []Tensor
	stock []value // memory for the small results of the next calls
}

// take cuts n values off the stock.
func (a *arguments) take(n int) []value {
	const together = 32
	if len(a.stock) < n {
		a.stock = make([]value, max(n, together))
	}
	out := a.stock[:n:n]
	a.stock = a.stock[n:]
	return out
}

func (p *program) newArguments() *arguments {
	a := &arguments{bufs: make([]compute.Buffer, len(p.shapes)), host: make([]any, len(p.shapes))}
	for _, d := range p.draws {
		t := p.dev.fresh(p.shapes[d.handle], func(any) {})
		if _, ok := t.val.buf.(memory); !ok && p.dev.shared { // whose inputs may live on in outputs
			return a
		}
		a.draws = append(a.draws, t)
	}
	return a
}

// compile traces build on inputs like in, and compiles the graph. Errors are
// failures that name the function.
func compile(c *Ctx, name string, in []Tensor, build func(*Ctx, []Tensor) []Tensor) *program {
	var p *program
	err := trace(c.scope, func() (err error) {
		p, err = tryCompile(c, name, in, build)
		return err
	})
	if err != nil {
		failIn(fmt.Sprintf("graph function %q", name), err)
	}
	return p
}

// trace runs graph code of a scope, which is nil for the vocabulary's own. An
// error has the line of it that was refused.
func trace(s *Scope, f func() error) error {
	if s == nil {
		return Catch(f)
	}
	if nested() {
		return errors.New("it is called on values inside another graph function, where they would stay what they are now: hand it nodes")
	}
	s.tracing.Lock() // GoMLX's store of variables has no lock of its own
	defer s.tracing.Unlock()
	return Catch(f)
}

// nested reports whether the caller of trace was itself called by graph code.
func nested() bool {
	const trace = "github.com/weft-rl/weft/rl.trace"
	pcs := make([]uintptr, 256)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		f, more := frames.Next()
		if f.Function == trace {
			return true
		}
		if !more {
			return false
		}
	}
}

func tryCompile(c *Ctx, name string, in []Tensor, build func(*Ctx, []Tensor) []Tensor) (*program, error) {
	c.newGraph(name)
	p := &program{name: name, dev: c.dev, graph: c.graph, inputs: len(in), slots: make([]int, len(in))}
	nodes := make([]Tensor, len(in))
	for i, t := range in {
		p.slots[i] = -1
		if t.Ok() {
			n := c.input(i, t.Shape())
			nodes[i], p.slots[i] = Wrap(n), int(n.GetParameterHandle())
			if p.lead == 0 && t.Shape().Rank() > 0 {
				p.lead = t.Rows()
			}
		}
	}
	outs := c.lift(build(c, nodes))
	for _, t := range outs {
		p.out = append(p.out, t.Ok())
	}
	p.draws = c.draws
	if err := p.bind(c); err != nil {
		return nil, err
	}
	if err := c.compile(outs); err != nil {
		return nil, err
	}
	p.exe = c.graph.Executable()
	_, p.shapes = p.exe.Inputs()
	p.like = p.exe.Outputs()
	for _, s := range p.like {
		p.tiny = append(p.tiny, isSmall(s))
		if isSmall(s) {
			p.small++
		}
	}
	return p, p.prepare(in)
}

// covering returns the results, with a constant that nobody reads added where an input
// came into the graph after all of them: GoMLX's Go backend sets up inputs by
// their place in the graph and makes room only up to the last output.
func covering(g *graph.Graph, results []*graph.Node) []*graph.Node {
	last := graph.NodeId(0)
	for _, n := range results {
		last = max(last, n.Id())
	}
	for _, n := range g.Nodes() {
		if n.Type() == graph.NodeTypeParameter && n.Id() > last {
			return append(results, graph.Const(g, float32(0)))
		}
	}
	return results
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
			return fmt.Errorf("parameter %q is created outside NewParams: create it in the function given to NewParams", v.Path())
		}
		p.vars = append(p.vars, mine)
		p.varAt = append(p.varAt, int(v.NodeValue(c.graph).GetParameterHandle()))
	}
	return nil
}

// run executes the program on values.
func (p *program) run(k Key, in []Tensor) []Tensor {
	args := p.spare.Swap(nil)
	if args == nil {
		args = p.newArguments()
	}
	bufs := args.bufs
	sent := false
	var mine []compute.Buffer // made for this call alone
	for i, t := range in {
		at := p.slots[i]
		switch {
		case at < 0:
		case t.val.only != nil:
			t.whole(fmt.Sprintf("given to graph function %q", p.name))
		case p.sends(at, t):
			args.host[at], sent = p.host(at, t), true
		case t.val.dev == nil: // a constant, of this call alone
			bufs[at] = p.dev.upload(t.val.flat, *t.val.shape)
			mine = append(mine, bufs[at])
		default:
			bufs[at] = t.val.on(p.dev)
		}
	}
	for i, d := range p.draws {
		of := d.key(k, p.lead, p.shapes[d.handle].Dimensions[0])
		if p.sendsDraw(d) {
			d.write(of, Read[float32](args.draws[i]))
			args.host[d.handle], sent = args.draws[i].val.flat, true
			continue
		}
		buf, own := p.drawn(d, of, args, i)
		if bufs[d.handle] = buf; own {
			mine = append(mine, buf)
		}
	}
	for i, v := range p.vars {
		bufs[p.varAt[i]] = v.value.val.on(p.dev)
	}
	p.dev.calls.Add(1)
	results, err := p.execute(args, sent)
	if err != nil {
		failf("graph function %q: %w", p.name, err)
	}
	for _, b := range mine {
		check(b.Finalize())
	}
	clear(bufs)
	clear(args.host)
	small := args.take(p.small)
	p.spare.Store(args)
	return p.collect(results, small)
}

// drawn returns the input that holds draw number i; own is whether it is this call's
// alone.
func (p *program) drawn(d draw, k Key, args *arguments, i int) (buf compute.Buffer, own bool) {
	if args.draws == nil {
		t := p.dev.fresh(p.shapes[d.handle], func(flat any) { d.write(k, flat.([]float32)) })
		return t.val.buf, true
	}
	t := args.draws[i]
	d.write(k, Read[float32](t))
	if t.val.buf != nil {
		return t.val.buf, false
	}
	return p.dev.upload(t.val.flat, p.shapes[d.handle]), true
}

// smallSize is up to how many bytes a tensor counts as small. Small outputs of
// a few calls are allocated together: there is one for every number an environment
// or a policy reports. A large one stands alone, because a logged metric must not
// keep the gradients beside it alive.
const smallSize = 256

func (p *program) collect(results []compute.Buffer, small []value) []Tensor {
	out := make([]Tensor, len(p.out))
	j := 0
	for i, present := range p.out {
		if !present {
			continue
		}
		if p.tiny[j] {
			small[0] = value{shape: &p.like[j], dev: p.dev, buf: results[j]}
			out[i], small = Tensor{val: &small[0]}, small[1:]
		} else {
			out[i] = Tensor{val: &value{shape: &p.like[j], dev: p.dev, buf: results[j]}}
		}
		if p.only != nil && p.only[i] {
			out[i].val.only = &p.name
		}
		j++
	}
	return out
}

func isSmall(s shapes.Shape) bool { return s.ByteSize() <= smallSize }

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

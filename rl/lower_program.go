package rl

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// wholeLoop is a whole training loop as one device program, which runs a chunk of
// iterations a call. Nothing crosses to the host inside a chunk; between chunks it
// reads metrics and may save.
type wholeLoop struct {
	run   *Run
	scope *Scope
	how   Chunks
	chunk int // the most iterations of a call
	body  func(*Run)
	sums  bool  // episodes are added up on the device
	of    Moved // what is stepped

	state []Carried
	byEnv []bool   // whether the rows of each are those of environments
	count []Tensor // numbers of rows, which devices share
	prog  *program
	l     *Lowering
	moved []int // positions in state of the tensors that the program changes
	names []string
	steps int64 // steps of an iteration
	// pending holds what the iterations of the last call logged and which of their
	// episodes ended, in order.
	pending []iteration
}

type iteration struct {
	logs   []Logged
	moves  []move
	ending ending
}

// move is one step of all environments, as the host follows episodes by.
type move struct {
	over   []bool
	reward [][]float64 // rewards, by kind of agent
}

// Chunks is how a device program is cut up. The zero value leaves all of it to the
// device.
type Chunks struct {
	// Most is how many iterations a call makes at most, between which the host sees
	// nothing.
	Most int
	// Unroll is how many rounds of an innermost loop are written out as one, at most:
	// as many as divide its rounds. It changes no result.
	Unroll int
	// Sums adds episodes up on the device, however few there are.
	Sums bool
	// Far makes the program as for a device whose kernels are launched one by one,
	// whatever it is: draws are made before loops, checks after them.
	Far bool
}

// Lower makes a device program of a loop whose one iteration is body. train runs the program to
// the end of its run; until gives it, for a number of steps, the next one at which the host wants
// to see the state itself: to save it, or to evaluate it.
func (system) Lower(r *Run, how Chunks, body func(*Run)) (train func(until func(steps int64) int64) error, err error) {
	p := &wholeLoop{run: r, scope: r.scope, how: how, chunk: 1, body: body}
	err = Catch(func() error {
		if err := errors.Join(p.equal(), p.residents()); err != nil {
			return err
		}
		p.build(nil, p.rehearse) // how many tables there are, and what stores hold, is known after this
		p.fit()
		p.count = p.countings(p.l.counts)
		if err := p.residents(); err != nil {
			return err
		}
		p.build(p.l.hosts, func(c *Ctx, in []Tensor, trace func(*Ctx, []Tensor) []Tensor) {
			p.prog = compile(c, "loop", in, trace)
		})
		p.lament()
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the loop as one device program: %w", err)
	}
	return p.train, nil
}

// fit chooses how much a call does, once it is known what an iteration has. Where
// memory is shared the host is not far, and follows every step if it can be.
func (p *wholeLoop) fit() {
	dev := p.scope.dev
	p.of = p.l.moved
	least, most, follow := 16, movesMost/8, movesMost/8 // a device that is far waits while the host follows
	if dev.shared {                                     // whose loops copy what they carry
		least, most, follow = 1, movesMost/16, movesMost
	}
	if p.chunk = p.how.Most; p.chunk == 0 {
		p.chunk = min(256, max(least, most/max(1, int(p.steps))))
	}
	p.sums = p.of.Episodes != nil && (p.how.Sums || p.chunk*int(p.steps) > follow)
}

// residents collects the state of all components.
func (p *wholeLoop) residents() error {
	var errs []error
	p.state, p.byEnv = nil, nil
	add := func(byEnv bool, all ...Carried) {
		p.state = append(p.state, all...)
		p.byEnv = append(p.byEnv, slices.Repeat([]bool{byEnv}, len(all))...)
	}
	for _, name := range p.scope.names {
		switch c := p.scope.components[name].(type) {
		case *Episodes: // the host follows them
		case Resident:
			add(c.Axis() == Envs, c.Resident()...)
		default:
			errs = append(errs, fmt.Errorf("component %s (%T) cannot live on a device: it does not implement rl.Resident", name, c))
		}
	}
	if p.sums {
		add(true, p.of.Episodes.board(p.scope, p.of))
	}
	return errors.Join(errs...)
}

// inputs returns what the program is given: two counters, tables, numbers of rows, the
// state.
func (p *wholeLoop) inputs(first int64, n int, tables []Tensor) []Tensor {
	in := []Tensor{scalarInt(first), scalarInt32(int32(n))}
	in = append(append(in, tables...), p.count...)
	for _, c := range p.state {
		if _, own := c.(carriedParams); !own { // GoMLX's variables bring themselves
			in = append(in, c.carried()...)
		}
	}
	return in
}

// constantOf returns a host constant.
func constantOf(shape shapes.Shape, flat any) Tensor {
	return Tensor{val: &value{shape: &shape, flat: flat}}
}

func scalarInt32(x int32) Tensor {
	return constantOf(shapes.Make(dtypes.Int32), []int32{x})
}

// rehearse traces the loop into a graph that is never compiled.
func (p *wholeLoop) rehearse(c *Ctx, in []Tensor, build func(*Ctx, []Tensor) []Tensor) {
	rehearsed(c, "loop", in, build)
}

// rehearsed traces what is to be compiled, in vain.
func rehearsed(c *Ctx, name string, in []Tensor, build func(*Ctx, []Tensor) []Tensor) {
	err := trace(c.scope, func() error {
		c.newGraph(name)
		nodes := make([]Tensor, len(in))
		for i, t := range in {
			if t.Ok() {
				nodes[i] = Wrap(c.input(i, t.Shape()))
			}
		}
		build(c, nodes)
		return nil
	})
	if err != nil {
		failIn(fmt.Sprintf("graph function %q", name), err)
	}
}

// build prepares tracing the loop, with as many tables as are known, and lets use
// do it.
func (p *wholeLoop) build(hosts []hostTable, use func(c *Ctx, in []Tensor, trace func(*Ctx, []Tensor) []Tensor)) {
	tables := make([]Tensor, len(hosts))
	for i, h := range hosts {
		tables[i] = h.blank(p.chunk)
	}
	values, form := held(p.state), formed(p.state)
	c := &Ctx{dev: p.scope.dev, scope: p.scope, parts: p.parting(len(hosts), len(p.count))}
	p.l = &Lowering{c: c, scope: p.scope, run: p.run, state: p.state, chunk: p.chunk, times: 1, sums: p.sums}
	p.l.far = p.how.Far || !p.scope.dev.shared
	if p.l.unroll = p.how.Unroll; p.l.unroll == 0 {
		p.l.unroll = p.scope.dev.unroll
	}
	c.lower, p.scope.lower, p.run.lower = p.l, p.l, p.l
	defer func() {
		p.scope.lower, p.run.lower = nil, nil
		form()
		hold(p.state, values)
	}()
	use(c, p.inputs(0, 1, tables), func(c *Ctx, nodes []Tensor) []Tensor { return p.trace(c, nodes, len(hosts)) })
}

// trace builds the program: its outputs are the rounds made, the failure, the logs,
// the rewards and ends of every step, and what of the state changed.
func (p *wholeLoop) trace(c *Ctx, nodes []Tensor, tables int) []Tensor {
	l := p.l
	first, limit := nodes[0].Node(), nodes[1].Node()
	nodes = nodes[2:]
	for _, t := range nodes[:tables] {
		l.tables = append(l.tables, t.Node())
	}
	nodes = nodes[tables:]
	for _, t := range nodes[:len(p.count)] {
		l.counted = append(l.counted, t.Node())
		l.counts = append(l.counts, t.Rows())
	}
	before := p.place(c, nodes[len(p.count):])
	form := formed(p.state)
	l.failed = Wrap(graph.Const(c.graph, int32(0)))
	logs := l.NewStream()
	l.moves = l.NewStream()
	l.loop(p.chunk, limit, nil, func(i Int) Tensor {
		l.at = i.node
		l.iter = graph.Add(first, graph.ConvertDType(i.node, dtypes.Int64))
		for j := range l.logs.values {
			l.logs.values[j] = logSum{zero64(c.graph), zero64(c.graph)}
		}
		if l.sums {
			l.clear(len(p.of.Kinds))
		}
		p.body(p.run)
		l.examine()
		if len(l.logs.values) > 0 {
			logs.Put(Leaves(l.logs.values))
		}
		if l.sums {
			l.moves.Put(Leaves(l.tally))
		}
		return Wrap(graph.NotEqual(l.failed.node, graph.ZerosLike(l.failed.node)))
	})
	out := p.results(c, logs, before)
	form()
	hold(p.state, before) // or GoMLX would take its variables for changed
	return out
}

// results returns what the program gives, and along which axes that is cut.
func (p *wholeLoop) results(c *Ctx, logs *Stream, before []Tensor) []Tensor {
	l := p.l
	out := []Tensor{l.rounds, l.failed}
	_, sums := logs.Take()
	out = append(out, sums...)
	p.names, p.steps = l.logs.names, max(1, int64(l.steps)) // an iteration without environments is a step
	cuts := slices.Repeat([]int{uncut}, len(out))
	if items, moves := l.moves.Take(); items > 0 {
		axis := 1 // of [step, env, ...]
		if l.sums {
			axis = uncut
		}
		out, cuts = append(out, moves...), append(cuts, slices.Repeat([]int{axis}, len(moves))...)
	}
	p.moved = nil
	axes, after := p.axes(), held(p.state)
	if len(after) != len(before) { // a store has begun to be filled: the next trace knows
		after = nil
	}
	for i, t := range after {
		if t.node != before[i].node {
			p.moved = append(p.moved, i)
			out, cuts = append(out, t), append(cuts, axes[i])
		}
	}
	if c.parts != nil {
		c.parts.out = cuts
	}
	return out
}

// place gives the state its nodes: inputs, or GoMLX's variables.
func (p *wholeLoop) place(c *Ctx, nodes []Tensor) []Tensor {
	before, _ := placed(c, p.state, nodes)
	return before
}

// placed gives carriers their nodes; rest are those that are left.
func placed(c *Ctx, state []Carried, nodes []Tensor) (before, rest []Tensor) {
	for _, s := range state {
		if params, own := s.(carriedParams); own {
			mine := make([]Tensor, len(params.vars))
			for i, v := range params.vars {
				mine[i] = Wrap(v.NodeValue(c.graph))
			}
			s.carry(mine)
			continue
		}
		n := len(s.carried())
		s.carry(nodes[:n:n])
		nodes = nodes[n:]
	}
	return held(state), nodes
}

// call runs n iterations.
func (p *wholeLoop) call(n int) error {
	r := p.run
	out := p.prog.run(Key{}, p.inputs(r.iter, n, p.tables(n)))
	p.prog.dev.fetch(out, len(out)-len(p.moved))
	rounds, failed := int(Read[int32](out[0])[0]), int(Read[int32](out[1])[0])
	out = out[2:]
	sums := out[:2*len(p.names)]
	out = out[len(sums):]
	p.pending = make([]iteration, rounds)
	p.readLogs(sums)
	if len(out) > len(p.moved) {
		if p.sums {
			p.readEndings(out[:len(out)-len(p.moved)])
		} else {
			p.readMoves(out[:len(out)-len(p.moved)])
		}
		out = out[len(out)-len(p.moved):]
	}
	now := held(p.state)
	for i, at := range p.moved {
		now[at] = out[i]
	}
	hold(p.state, now)
	if failed > 0 {
		f := p.l.checks[failed-1]
		return &Failure{Pos: f.Pos, Err: fmt.Errorf("iteration %d: %w", r.iter+int64(rounds), f.Err)}
	}
	return nil
}

// tables returns the host's numbers for the next n iterations.
func (p *wholeLoop) tables(n int) []Tensor {
	return hostTables(p.run, p.l.hosts, n, p.chunk, p.steps)
}

// readLogs divides the sums of every iteration.
func (p *wholeLoop) readLogs(sums []Tensor) {
	for j, name := range p.names {
		sum, count := Floats(sums[2*j]), Floats(sums[2*j+1])
		for i := range p.pending {
			if count[i] > 0 {
				p.pending[i].logs = append(p.pending[i].logs, Logged{name, sum[i] / count[i]})
			}
		}
	}
}

// readMoves cuts ends and rewards of steps, [iterations*steps, env, ...], apart.
func (p *wholeLoop) readMoves(out []Tensor) {
	per := out[0].Shape().Dimensions[0] / p.chunk
	for i, m := range movesOf(out, len(p.pending)*per) {
		it := &p.pending[i/per]
		it.moves = append(it.moves, m)
	}
}

// movesOf returns the first n of steps whose ends and rewards are [step, env, ...].
func movesOf(out []Tensor, n int) []move {
	over := Read[bool](out[0])
	rows := out[0].Shape().Dimensions[1]
	rewards := make([][]float64, len(out)-1)
	for k, t := range out[1:] {
		each := t.Shape().Size() / max(len(over), 1)
		rewards[k] = sumRows(firstFloats(t, n*rows*each), n*rows)
	}
	moves := make([]move, n)
	for i := range moves {
		at := i * rows
		moves[i].over = slices.Clone(over[at : at+rows])
		for _, r := range rewards {
			moves[i].reward = append(moves[i].reward, r[at:at+rows])
		}
	}
	return moves
}

// sumRows adds neighbours up until n sums are left: the rewards of agents.
func sumRows(x []float64, n int) []float64 {
	each := len(x) / max(n, 1)
	if each <= 1 {
		return x
	}
	out := make([]float64, n)
	for i, v := range x {
		out[i/each] += v
	}
	return out
}

// pace is how long a call should take: long enough to be worth it, short enough
// for the host to be asked now and then.
const pace = 200 * time.Millisecond

// train runs the program to the end of its run: see Lower.
func (p *wholeLoop) train(until func(steps int64) int64) error {
	r := p.run
	n := 1
	for r.Next() {
		left := min(r.budget, until(r.steps)) - r.steps
		now := max(1, min(n, p.chunk, int((left+p.steps-1)/p.steps)))
		begun := time.Now()
		err := Catch(func() error { return p.call(now) })
		if err := errors.Join(err, p.pass()); err != nil {
			return err
		}
		if took := time.Since(begun); took < pace/2 {
			n = min(2*n, p.chunk)
		} else if took > 2*pace {
			n = max(1, n/2)
		}
	}
	return r.Err()
}

// pass tells the run about the iterations of a call, but for the last, which Next
// tells of.
func (p *wholeLoop) pass() error {
	r := p.run
	for i, it := range p.pending {
		if p.of.Episodes == nil {
			p.scope.AddSteps(int(p.steps))
		}
		if p.sums {
			e := it.ending
			p.scope.AddSteps(int(p.steps))
			p.of.Episodes.sum(p.scope.Steps(), e.count, e.ret, e.length, e.kinds)
		}
		for _, m := range it.moves {
			of := p.of
			p.scope.AddSteps(of.Envs)
			of.Episodes.RecordKinds(of.First, p.scope.Steps(), of.Kinds, m.reward, m.over)
		}
		r.ready = it.logs
		if i == len(p.pending)-1 {
			return nil
		}
		r.iter++
		r.previous, r.steps = r.steps, p.scope.Steps()
		c := r.take(r.report(), false)
		c.Passed = true
		if err := r.cut(c); err != nil && !errors.Is(err, ErrStop) {
			return err
		}
	}
	return nil
}

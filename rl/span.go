package rl

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// fusion is the parts of a run's program that are one graph each, by name.
type fusion struct {
	spans map[string]*span
	calls int64 // calls that were made in place of statements
}

// span is a part of an iteration that consists of graph work alone.
type span struct {
	forms []*spanProgram // programs, one for each combination of input shapes
	why   error          // it cannot be one graph
}

// formsMost is for how many combinations of shapes a span is compiled: one that has
// always other ones is better off statement by statement.
const formsMost = 4

// Stays is implemented by components that a part of an iteration had better leave
// on the host, because they are large and would be copied in and out.
type Stays interface{ Stays() }

// Fuse makes the parts that Fused is asked for one compiled graph each.
func (system) Fuse(r *Run) { r.fusing = &fusion{spans: map[string]*span{}} }

// Fusing returns how many times a graph was called in place of statements, and why those
// parts that could not be one graph could not, by name.
func (system) Fusing(r *Run) (calls int64, apart map[string]error) {
	apart = map[string]error{}
	if r.fusing == nil {
		return 0, apart
	}
	for name, s := range r.fusing.spans {
		if s.why != nil {
			apart[name] = s.why
		}
	}
	return r.fusing.calls, apart
}

// Fused does a part of an iteration as one compiled graph, which changes no result.
// body builds it, on nodes, as that of a loop that Lower is given; vars are the
// variables that it takes from the statements around it or leaves to them. It
// reports false where the plain statements have to do the work: fusion is off, the
// part holds something that runs on the host, or something is not a number, which
// the statements then find and report.
//
// So do they the first time. What is made on first use is there then, and has been
// looked at as only plain values can be. Of is which members of families the part is
// for.
func (system) Fused(r *Run, name string, vars []Carried, body func(), of ...int) bool {
	f := r.root().fusing
	if f == nil {
		return false
	}
	for _, i := range of {
		name = fmt.Sprint(name, "/", i)
	}
	s, seen := f.spans[name]
	if !seen {
		s = &span{}
		f.spans[name] = s
		// Statements and graph give the same bits on the CPU alone. Elsewhere a run that is
		// resumed must do as graph what it would have done so: all but its first iteration.
		if r.root().iter == 0 || r.scope.dev.shared {
			return false
		}
	}
	if s.why != nil {
		return false
	}
	r.scope.settle() // on values, and with the weights as they are
	var o *Observation
	if r.scope.observer == nil { // it sees what the call logs, and a timer all of the call
		o = r.scope.Observed()
	}
	p := s.form(r.root(), vars, body)
	done := p != nil && p.call(vars)
	if done {
		f.calls++
	}
	if o == nil && done {
		o = r.scope.Observed()
	}
	if o != nil {
		o.End(Operation{Kind: fusedKind, Name: name})
	}
	return done
}

// fusedKind is the kind of operation that an observer sees in the place of those that
// one graph did.
const fusedKind = "rl.Run.Fused"

// form returns the program for what variables hold now, nil if there is none.
func (s *span) form(r *Run, vars []Carried, body func()) *spanProgram {
	in := held(vars)
	for _, p := range s.forms {
		if p.fits(in) {
			return p
		}
	}
	if len(s.forms) == formsMost {
		s.why = errors.New("its inputs change their shapes too often")
		return nil
	}
	p := &spanProgram{run: r, scope: r.scope, vars: vars, body: body}
	if s.why = Catch(p.build); s.why != nil {
		return nil
	}
	p.vars, p.body = nil, nil
	s.forms = append(s.forms, p)
	return p
}

// spanProgram is a span compiled.
type spanProgram struct {
	run   *Run
	scope *Scope
	vars  []Carried // while it is built
	body  func()

	state []Carried
	owner []Resident // of each
	held  []int      // tensors of each
	prog  *program
	l     *Lowering
	takes []Tensor // what variables held, for their shapes
	moved []int    // positions in state of the tensors that the program changes
	news  []versioned
	logs  []spanLog
	moves int // outputs that tell of steps
	left  []remainder
	likes []any // what variables hold afterwards, on nodes
	sizes []int // and of how many tensors; -1 leaves them as they are
}

// spanLog holds the logs of a span under a name, of one shape: outputs are its tensors and
// when each was logged.
type spanLog struct {
	name   string
	shape  shapes.Shape
	stream *Stream
}

// fits reports whether variables are like those that the program was built for.
func (p *spanProgram) fits(in []Tensor) bool {
	return slices.EqualFunc(in, p.takes, func(a, b Tensor) bool {
		return a.Ok() == b.Ok() && (!a.Ok() || a.Shape().Equal(b.Shape()))
	})
}

func (p *spanProgram) build() error {
	p.residents()
	p.takes = held(p.vars)
	p.lowering(nil, func(c *Ctx, in []Tensor, trace func(*Ctx, []Tensor) []Tensor) { rehearsed(c, "span", in, trace) })
	p.lowering(p.l.hosts, func(c *Ctx, in []Tensor, trace func(*Ctx, []Tensor) []Tensor) {
		p.prog = compile(c, "span", in, trace)
	})
	p.takes = shapesOf(p.takes)
	return nil
}

// shapesOf returns tensors that have no more than a shape: what they hold is not kept.
func shapesOf(list []Tensor) []Tensor {
	out := make([]Tensor, len(list))
	for i, t := range list {
		if t.Ok() {
			out[i] = constantOf(t.Shape(), nil)
		}
	}
	return out
}

// residents collects the state of the components that can be part of a graph. The
// span has no use of others, or building it fails.
func (p *spanProgram) residents() {
	for _, name := range p.scope.names {
		c, ok := p.scope.components[name].(Resident)
		if _, stays := p.scope.components[name].(Stays); !ok || stays {
			continue
		}
		var parts []Carried
		if Catch(func() error { parts = c.Resident(); return nil }) != nil {
			continue // an environment of the host's
		}
		p.state = append(p.state, parts...)
		for range parts {
			p.owner = append(p.owner, c)
		}
	}
}

// versioned is a component that knows how often it has changed.
type versioned interface{ changed() }

func (p *Params) changed() { p.version++ }
func (s *Stats) changed()  { s.version++ }

// changes lists the components of which the program changes tensors.
func (p *spanProgram) changes() {
	p.news, p.held = nil, sizes(p.state)
	at := 0
	for i := range p.state {
		n := p.held[i]
		v, ok := p.owner[i].(versioned)
		moved := func(j int) bool { return at <= j && j < at+n }
		if ok && slices.ContainsFunc(p.moved, moved) && !slices.Contains(p.news, v) {
			p.news = append(p.news, v)
		}
		at += n
	}
}

// lowering lets use trace the span with as many tables as are known.
func (p *spanProgram) lowering(hosts []hostTable, use func(c *Ctx, in []Tensor, trace func(*Ctx, []Tensor) []Tensor)) {
	all := slices.Concat(p.state, p.vars)
	values, form := held(all), formed(all)
	c := &Ctx{dev: p.scope.dev, scope: p.scope}
	p.l = &Lowering{c: c, scope: p.scope, run: p.run, state: p.state, chunk: 1, times: 1, unroll: p.scope.dev.unroll, raw: true}
	p.l.far = !p.scope.dev.shared
	c.lower, p.scope.lower, p.run.lower = p.l, p.l, p.l
	defer func() {
		p.scope.lower, p.run.lower = nil, nil
		form()
		hold(all, values)
	}()
	tables := make([]Tensor, len(hosts))
	for i, h := range hosts {
		tables[i] = h.blank(1)
	}
	use(c, p.inputs(tables, p.takes), func(c *Ctx, nodes []Tensor) []Tensor { return p.trace(c, nodes, len(hosts)) })
}

// inputs returns the iteration's number, the host's numbers, the state and variables.
func (p *spanProgram) inputs(tables, vars []Tensor) []Tensor {
	in := append([]Tensor{scalarInt(p.run.iter)}, tables...)
	for _, c := range p.state {
		if _, own := c.(carriedParams); !own { // GoMLX's variables bring themselves
			in = append(in, c.carried()...)
		}
	}
	return append(in, vars...)
}

// trace builds the graph. Its outputs are the failure, what was logged, the ends and
// rewards of steps, what of the state changed, and variables.
func (p *spanProgram) trace(c *Ctx, nodes []Tensor, tables int) []Tensor {
	l := p.l
	l.iter, nodes = nodes[0].Node(), nodes[1:]
	l.at = graph.Const(c.graph, int32(0))
	for _, t := range nodes[:tables] {
		l.tables = append(l.tables, t.Node())
	}
	nodes = nodes[tables:]
	before, rest := placed(c, p.state, nodes)
	sizes := sizes(p.vars)
	hold(p.vars, rest)
	form := formed(p.state)
	l.failed = Wrap(graph.Const(c.graph, int32(0)))
	l.logged = Wrap(graph.Const(c.graph, int32(0)))
	l.moves = l.NewStream()
	p.body()
	l.examine()
	out := []Tensor{l.failed}
	out = append(out, p.told()...)
	p.moved = nil
	after := held(p.state)
	if len(after) != len(before) {
		failf("a component changes its tensors in the statements")
	}
	for i, t := range after {
		if t.node != before[i].node {
			p.moved = append(p.moved, i)
			out = append(out, t)
		}
	}
	p.changes()
	p.likes, p.sizes = nil, nil
	for _, v := range p.vars {
		t, old := v.carried(), rest[:min(len(rest), sizes[0])]
		rest, sizes = rest[len(old):], sizes[1:]
		same := slices.EqualFunc(t, old, func(a, b Tensor) bool { return a.node == b.node && a.val == nil })
		p.likes, p.sizes = append(p.likes, v.(variable).like()), append(p.sizes, len(t))
		if same {
			p.sizes[len(p.sizes)-1] = -1
			continue
		}
		out = append(out, t...)
	}
	form()
	hold(p.state, before) // or GoMLX would take its variables for changed
	return out
}

// told returns what was logged and which steps were made.
func (p *spanProgram) told() (out []Tensor) {
	l := p.l
	p.logs, p.moves = nil, 0
	for _, s := range l.rawLogs {
		if items, leaves := s.stream.Take(); items > 0 {
			p.logs = append(p.logs, s)
			out = append(out, leaves...)
		}
	}
	if items, moves := l.moves.Take(); items > 0 {
		p.moves = len(moves)
		out = append(out, moves...)
	}
	p.left = nil
	for _, s := range l.takeStreams() {
		if s.of.land == nil {
			failf("a rollout is inserted into and not drained in the same statements")
		}
		p.left = append(p.left, remainder{s.of.land, s.Items, len(s.Leaves)})
		out = append(out, wrapped(s.Leaves)...)
	}
	return out
}

// remainder holds the items that a program leaves in a stream.
type remainder struct {
	land          func(item []Tensor)
	items, leaves int
}

// items returns the items of a tensor [item, ...], which is read once. The items of an absent
// tensor are absent.
func (p *spanProgram) items(t Tensor, n int) []Tensor {
	out := make([]Tensor, n)
	if !t.Ok() {
		return out
	}
	one := t.Shape().Clone()
	one.Dimensions = one.Dimensions[1:]
	all := reflect.ValueOf(t.host())
	for i := range out {
		out[i] = p.scope.dev.hosted(all.Slice(i*one.Size(), (i+1)*one.Size()).Interface(), one)
	}
	return out
}

// rest gives what is left in streams to who wants it.
func (p *spanProgram) rest(out []Tensor) []Tensor {
	for _, r := range p.left {
		columns := make([][]Tensor, r.leaves)
		for j := range columns {
			columns[j] = p.items(out[j], r.items)
		}
		for i := range r.items {
			item := make([]Tensor, r.leaves)
			for j := range item {
				item[j] = columns[j][i]
			}
			r.land(item)
		}
		out = out[r.leaves:]
	}
	return out
}

// variable is a Carried that can be given the form that it had in another place.
type variable interface {
	like() any
	give(like any, t []Tensor)
}

func (c carriedVar[V]) like() any                 { return *c.p }
func (c carriedVar[V]) give(like any, t []Tensor) { *c.p = Rebuild(like.(V), t) }

// call runs the graph; false is that something is not a number, or that the graph is
// none for the state as it is, and nothing was done.
func (p *spanProgram) call(vars []Carried) bool {
	in := p.inputs(hostTables(p.run, p.l.hosts, 1, 1, 0), held(vars))
	if !p.prog.fits(in) { // a component's state has another form now
		return false
	}
	out := p.prog.run(Key{}, in)
	p.prog.dev.fetch(out, p.read())
	if Read[int32](out[0])[0] != 0 {
		return false
	}
	out = out[1:]
	p.log(out[:2*len(p.logs)])
	out = out[2*len(p.logs):]
	p.step(out[:p.moves])
	out = p.rest(out[p.moves:])
	out = p.adopt(out)
	for i, v := range vars {
		if n := p.sizes[i]; n >= 0 {
			v.(variable).give(p.likes[i], out[:n:n])
			out = out[n:]
		}
	}
	return true
}

// read returns how many outputs, from the first, are for the host.
func (p *spanProgram) read() int {
	n := 1 + 2*len(p.logs) + p.moves
	for _, r := range p.left {
		n += r.leaves
	}
	return n
}

// adopt gives components what the program made of their state. The memory of what an
// optimiser had is used again, as Apply does: nobody else has it.
func (p *spanProgram) adopt(out []Tensor) (rest []Tensor) {
	first, moved := 0, p.moved
	for i, c := range p.state {
		n := p.held[i]
		k := 0
		for k < len(moved) && moved[k] < first+n {
			k++
		}
		params, own := c.(carriedParams)
		switch {
		case k == 0:
		case own && k == n:
			params.update(out[:k:k])
		default:
			now := slices.Clone(c.carried())
			var old []Tensor
			for j, at := range moved[:k] {
				old = append(old, now[at-first])
				now[at-first] = out[j]
			}
			c.carry(now)
			_, optimiser := p.owner[i].(*Opt)
			if _, slots := c.(carriedVar[[]Tensor]); optimiser && slots {
				recycle(old)
			}
		}
		first, moved, out = first+n, moved[k:], out[k:]
	}
	for _, c := range p.news {
		c.changed()
	}
	return out
}

// log records what was logged, in its order.
func (p *spanProgram) log(out []Tensor) {
	type item struct {
		at int32
		record
	}
	var all []item
	for _, s := range p.logs {
		when := Read[int32](out[1])
		what := p.items(out[0], len(when))
		for i, at := range when {
			if at > 0 { // a loop that ended early leaves the rest 0
				all = append(all, item{at, record{Name: s.name, X: what[i : i+1]}})
			}
		}
		out = out[2:]
	}
	slices.SortFunc(all, func(a, b item) int { return cmp.Compare(a.at, b.at) })
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	for _, x := range all {
		p.run.logs = append(p.run.logs, x.record)
	}
}

// step tells the host of steps.
func (p *spanProgram) step(out []Tensor) {
	if len(out) == 0 {
		return
	}
	of := p.l.moved
	for _, m := range movesOf(out, out[0].Shape().Dimensions[0]) {
		p.scope.AddSteps(of.Envs)
		of.Episodes.RecordKinds(of.First, p.scope.Steps(), of.Kinds, m.reward, m.over)
	}
}

// logRaw puts what is logged aside as it is, with when that was: what is made of it
// is the host's affair, and that of other replicas.
func (l *Lowering) logRaw(name string, x Tensor) {
	x = l.c.lift([]Tensor{x})[0]
	l.logged = Wrap(graph.AddScalar(l.logged.node, int32(1)))
	item := []Tensor{x, l.logged}
	for _, s := range l.rawLogs {
		if s.name == name && s.shape.Equal(x.Shape()) {
			s.stream.Put(item)
			return
		}
	}
	s := spanLog{name, x.Shape(), l.NewStream()}
	s.stream.partial = true
	l.rawLogs = append(l.rawLogs, s)
	s.stream.Put(item)
}

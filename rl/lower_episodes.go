package rl

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// The host follows episodes by the end and the reward of every step, which a
// device program puts aside. Where that would be too much to carry over, the
// program follows them itself and tells, of every iteration, how many ended and
// the sums of their returns and lengths. What is reported of episodes is then the
// mean over those of the last iteration in which any ended.

// movesMost is how many steps of environments a program puts aside at most.
const movesMost = 4 << 20

// underway is the episodes under way, by environment.
type underway struct {
	Return, Length Tensor   // float64 and int64
	Kinds          []Tensor // the parts of kinds of agents, where there are several
}

// tally adds up the episodes that ended in an iteration: float64 scalars.
type tally struct {
	Count, Return, Length Tensor
	Kinds                 []Tensor
}

// board gives a device program the episodes under way.
func (e *Episodes) board(s *Scope, m Moved) Carried {
	rows := m.Over.Shape().Dimensions[0]
	e.grow(rows, m.Kinds)
	if !e.on.Return.Ok() {
		e.on = underway{FromFlat(s, e.returns, rows), FromFlat(s, e.lengths, rows), nil}
		for _, k := range e.kinds {
			e.on.Kinds = append(e.on.Kinds, FromFlat(s, k, rows))
		}
	}
	return Carry(&e.on)
}

// land takes the episodes under way back from a device.
func (e *Episodes) land() {
	if !e.on.Return.Ok() {
		return
	}
	e.returns, e.lengths = Floats(e.on.Return), append([]int64(nil), Read[int64](e.on.Length)...)
	for i, k := range e.on.Kinds {
		e.kinds[i] = Floats(k)
	}
}

// leave lands for a host that is going to follow episodes itself.
func (e *Episodes) leave() {
	e.land()
	e.on = underway{}
}

// sum takes over what episodes that ended in an iteration come to: how many there
// were, and the sums of their returns, lengths and kinds' parts. One that is their
// mean stands for all of them.
func (e *Episodes) sum(step, count int64, ret, length float64, kinds []float64) {
	if count == 0 {
		return
	}
	n := float64(count)
	mean := Episode{Step: step, Return: ret / n, Length: int64(length/n + .5)}
	for _, k := range kinds {
		mean.Kinds = append(mean.Kinds, k/n)
	}
	e.count += count
	e.window = []Episode{mean}
	e.fresh = append(e.fresh, mean)
}

// count follows the episodes of a step on the device.
func (l *Lowering) count(m Moved) {
	e := m.Episodes
	over := m.Over.Node()
	on := &e.on
	var total *graph.Node
	for i, r := range m.Reward {
		x := ofEnvs(m, r)
		if total == nil {
			total = graph.Add(on.Return.Node(), x)
		} else {
			total = graph.Add(total, x)
		}
		if m.Kinds != nil {
			k := graph.Add(on.Kinds[i].Node(), x)
			l.tally.Kinds[i] = ended(l.tally.Kinds[i], over, k)
			on.Kinds[i] = restart(over, k)
		}
	}
	length := graph.AddScalar(on.Length.Node(), int64(1))
	l.tally.Count = ended(l.tally.Count, over, graph.OnesLike(total))
	l.tally.Return = ended(l.tally.Return, over, total)
	l.tally.Length = ended(l.tally.Length, over, graph.ConvertDType(length, dtypes.Float64))
	on.Return, on.Length = restart(over, total), restart(over, length)
}

// ofEnvs returns what the agents of every environment got together, [env] float64.
func ofEnvs(m Moved, reward Tensor) *graph.Node {
	x := graph.Reshape(reward.Node(), m.Over.Shape().Dimensions[0], -1)
	return graph.ReduceSum(graph.ConvertDType(x, dtypes.Float64), 1)
}

// ended adds what belongs to episodes that are over to a sum.
func ended(sum Tensor, over, x *graph.Node) Tensor {
	return Wrap(graph.Add(sum.Node(), graph.ReduceAllSum(graph.Where(over, x, graph.ZerosLike(x)))))
}

// restart returns 0 where an episode is over.
func restart(over, x *graph.Node) Tensor { return Wrap(graph.Where(over, graph.ZerosLike(x), x)) }

// clear begins an iteration.
func (l *Lowering) clear(kinds int) {
	zero := func() Tensor { return Wrap(graph.Zeros(l.c.graph, shapes.Make(dtypes.Float64))) }
	l.tally = tally{zero(), zero(), zero(), nil}
	for range kinds {
		l.tally.Kinds = append(l.tally.Kinds, zero())
	}
}

// ending holds the sums of an iteration, as episodes are reported.
type ending struct {
	count       int64
	ret, length float64
	kinds       []float64
}

// readEndings cuts the sums of iterations apart.
func (p *wholeLoop) readEndings(out []Tensor) {
	columns := make([][]float64, len(out))
	for i, t := range out {
		columns[i] = Floats(t)
	}
	for i := range p.pending {
		e := ending{count: int64(columns[0][i]), ret: columns[1][i], length: columns[2][i]}
		for _, c := range columns[3:] {
			e.kinds = append(e.kinds, c[i])
		}
		p.pending[i].ending = e
	}
}

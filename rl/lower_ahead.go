package rl

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/internal/shuffle"
)

// Draws ahead. On a device whose kernels are launched one by one, deriving a key
// and drawing with it costs more launches than all else of a small step. But a
// draw is a pure function of its key, and the keys of a loop's rounds differ in
// counters alone: so the draws of all rounds are made before the loop, at once, and
// a round takes its own. The numbers are the same.

// keyPath is how a key inside a device program came about: folds of a key that is
// known. A fold that nothing is known of leaves a key without a path.
type keyPath struct {
	l     *Lowering // the program, once the key depends on it
	words [4]uint32
	row   uint32
	folds []keyFold
}

// keyFold is a number that a key was folded with.
type keyFold struct {
	lo, hi uint32      // known,
	node   *graph.Node // or the same in all rounds of the loop,
	round  bool        // or the loop's index,
	count  *Counter    // or a counter that was from at the beginning of a round, and some more since
	from   *graph.Node
	more   int64
	each   int64 // amount that a round adds to the counter
}

func (p *keyPath) fold(f keyFold) *keyPath {
	if p == nil {
		return nil
	}
	return &keyPath{p.l, p.words, p.row, append(slices.Clip(p.folds), f)}
}

func (p *keyPath) at(row uint32) *keyPath {
	if p == nil {
		return nil
	}
	return &keyPath{p.l, p.words, row, p.folds}
}

// pathOf returns a key's, if it has one.
func pathOf(k Key) *keyPath {
	if k.in != nil {
		return k.in.path
	}
	return &keyPath{words: k.w, row: k.row}
}

// frame is a loop under construction, as far as draws go.
type frame struct {
	n     int
	round Int // round that is being built
	// asked are the draws of one round, in order; they are known after the first
	// rehearsal, and made before the loop is built.
	asked []asked
	made  []*graph.Node
	state frameState
	next  int
	entry []*graph.Node // values at the beginning of a round
}

type frameState int

const (
	framed frameState = iota // nothing is made ahead
	asking                   // a rehearsal, which shows what is drawn
	taking                   // draws are there to be taken
)

// asked is a draw of a round.
type asked struct {
	path    *keyPath
	rows, n int
	words   bool // a permutation's words, not numbers
}

// aheadMost is how many numbers a table of draws may hold; beyond it only keys are
// made ahead.
const aheadMost = 1 << 26

// ask hands out a round's next draw from what was made ahead; ok is false when it
// has to be made here.
func (l *Lowering) ask(k graphKey, rows, n int, words bool) (x *graph.Node, ok bool) {
	f := l.frame
	if f == nil || k.path == nil {
		return nil, false
	}
	switch f.state {
	case asking:
		f.asked = append(f.asked, asked{k.path, rows, n, words})
	case taking:
		x := f.made[f.next%len(f.made)]
		f.next++
		return f.take(x), x != nil
	}
	return nil, false
}

// take returns the round's part of a table.
func (f *frame) take(table *graph.Node) *graph.Node {
	if table == nil || table.Shape().Dimensions[0] == 1 {
		return table
	}
	start := []*graph.Node{f.round.Node(table.Graph())}
	size := slices.Clone(table.Shape().Dimensions)
	size[0] = 1
	for range size[1:] {
		start = append(start, graph.Const(table.Graph(), int32(0)))
	}
	return graph.DynamicSlice(table, start, size)
}

// begin notes what a round begins with.
func (f *frame) begin(carriers []Carried) {
	f.entry = nil
	for _, t := range held(carriers) {
		if t.Ok() {
			f.entry = append(f.entry, t.node)
		}
	}
}

// index returns the loop's, which is now being built.
func (f *frame) index(i *graph.Node) Int {
	f.round = Int{node: i, of: f}
	return f.round
}

// rehearsed completes what is known of a round's draws once its end was seen.
func (f *frame) rehearsed() {
	if f.state != asking {
		return
	}
	for i := range f.asked {
		a := &f.asked[i]
		for j, x := range a.path.folds {
			if x.count == nil {
				continue
			}
			if x.count.from != x.from || !slices.Contains(f.entry, x.from) {
				a.path = nil // it is not only added to
				break
			}
			folds := slices.Clone(a.path.folds)
			folds[j].each = x.count.more
			a.path = &keyPath{a.path.l, a.path.words, a.path.row, folds}
		}
	}
}

// make makes all draws, where the loop will stand.
func (f *frame) make(g *graph.Graph) {
	f.made, f.next, f.state = nil, 0, taking
	for _, a := range f.asked {
		var x *graph.Node
		if a.path != nil {
			x = f.table(g, a)
		}
		f.made = append(f.made, x)
	}
	if len(f.made) == 0 {
		f.state = framed
	}
}

// table returns the draws of all rounds, [round, rows, n]; where that would be too much,
// the words of their keys, [round, 5].
func (f *frame) table(g *graph.Graph, a asked) *graph.Node {
	k, rounds := f.keys(g, a.path)
	switch {
	case a.words:
		w := k.bits(a.n)
		return graph.Stack(w[:], -1) // [round, block, 4]
	case rounds*a.rows*a.n > aheadMost:
		words := append(slices.Clone(k.w[:]), graph.Add(k.row, graph.ZerosLike(k.w[0])))
		return graph.Stack(words, -1)
	}
	return k.uniform(a.rows, a.n)
}

// keys returns the keys of all rounds, words of shape [round]; of one where all are the
// same.
func (f *frame) keys(g *graph.Graph, p *keyPath) (k graphKey, rounds int) {
	varies := slices.ContainsFunc(p.folds, func(x keyFold) bool { return x.round || x.count != nil && x.each != 0 })
	if rounds = 1; varies {
		rounds = f.n
	}
	shape := shapes.Make(dtypes.Uint32, rounds)
	spread := func(x *graph.Node) *graph.Node { return graph.BroadcastToShape(x, shape) }
	for i, w := range p.words {
		k.w[i] = spread(word(g, w))
	}
	for _, x := range p.folds {
		lo, hi := f.folded(g, x, rounds)
		k = k.fold(spread(lo), spread(hi))
	}
	k.row = word(g, p.row)
	return k, rounds
}

// folded returns the two words of a fold's number, scalars or [round].
func (f *frame) folded(g *graph.Graph, x keyFold, rounds int) (lo, hi *graph.Node) {
	if x.node == nil && !x.round && x.count == nil {
		return word(g, x.lo), word(g, x.hi)
	}
	number := x.node
	if number == nil {
		number = graph.Iota(g, shapes.Make(dtypes.Int64, rounds), 0)
	}
	if x.count != nil {
		number = graph.AddScalar(graph.Add(graph.MulScalar(number, x.each), x.count.Node(g)), x.more)
	}
	return twoWords(number)
}

// uniform returns draws of a key, made ahead if they can be.
func (l *Lowering) uniform(k graphKey, rows, n int) *graph.Node {
	x, ok := l.ask(k, rows, n, false)
	switch {
	case !ok:
		return k.uniform(rows, n)
	case x.Rank() == 2: // its key
		return newGraphKey(graph.Reshape(x, 5)).uniform(rows, n)
	}
	return graph.Reshape(x, rows, n)
}

// permutationWords returns the words that a permutation is keyed by, as a vector.
func (k Key) permutationWords() *graph.Node {
	const blocks = shuffle.Words / 4
	if p := k.in.path; p != nil && p.l != nil {
		if x, ok := p.l.ask(*k.in, 0, blocks, true); ok {
			return graph.Reshape(x, 4*blocks)
		}
	}
	w := k.in.bits(blocks)
	return graph.Reshape(graph.Stack(w[:], -1), 4*blocks)
}

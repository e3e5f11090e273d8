package rl

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/internal/philox"
)

// graphKey is Key inside a graph: the same integer arithmetic on uint32 nodes,
// for loops that were lowered and whose iteration is itself a graph value.
type graphKey struct {
	w    [4]*graph.Node
	row  *graph.Node // global index of row 0
	path *keyPath    // path of a loop's draws, if they may be made ahead
}

// GraphUniform draws as Key.Uniform does, rows x n numbers, with the key's words
// as a graph value of shape [5]. It exists so that a whole loop can become one
// device program and still draw the same numbers.
func (system) GraphUniform(key *graph.Node, use string, rows, n int) *graph.Node {
	return newGraphKey(key).use(use).uniform(rows, n)
}

// Words returns the key as the graph's functions take it: its own four, and the
// global index of row 0.
func (system) Words(k Key) [5]uint32 { return [5]uint32{k.w[0], k.w[1], k.w[2], k.w[3], k.row} }

func newGraphKey(words *graph.Node) graphKey {
	var k graphKey
	for i, w := range graph.Split(words, 0, 5) {
		if i < 4 {
			k.w[i] = graph.Reshape(w)
		} else {
			k.row = graph.Reshape(w)
		}
	}
	return k
}

// graphKey is the key as graph values.
func (k Key) graph(g *graph.Graph) graphKey {
	if k.in != nil {
		return *k.in
	}
	return graphKey{[4]*graph.Node{word(g, k.w[0]), word(g, k.w[1]), word(g, k.w[2]), word(g, k.w[3])}, word(g, k.row), pathOf(k)}
}

// foldNode does what Key.Fold does of an integer that is a graph value; how says what is known
// of it beside, if anything is.
func (k Key) foldNode(x *graph.Node, how *keyFold) Key {
	lo, hi := twoWords(x)
	out := k.graph(x.Graph()).fold(lo, hi)
	if how != nil {
		out.path = pathOf(k).fold(*how)
	}
	return k.inside(out)
}

// twoWords returns the halves of integers.
func twoWords(x *graph.Node) (lo, hi *graph.Node) {
	wide := graph.ConvertDType(x, dtypes.Uint64)
	lo = graph.ConvertDType(wide, dtypes.Uint32)
	return lo, graph.ConvertDType(graph.BitwiseShiftRightLogicalScalar(wide, 32), dtypes.Uint32)
}

// GraphBits returns the first words of Bits of rows 0, 1, ..., as a uint32 vector of the
// device program that the key is of.
func GraphBits(k Key, rows int) *graph.Node {
	if k.in == nil {
		failf("a key outside of a device program has no words in its graph")
	}
	g := k.in.w[0].Graph()
	shape := shapes.Make(dtypes.Uint32, rows)
	spread := func(x *graph.Node) *graph.Node { return graph.BroadcastToShape(x, shape) }
	if k.in.counts() {
		all := k.in.generate(k.in.row, word(g, 0), rows)
		return graph.Reshape(graph.Slice(all, graph.AxisRange(), graph.AxisRange(0, 1)), rows)
	}
	row := graph.Add(rowNumbers(g, rows), spread(k.in.row))
	return philoxNodes([4]*graph.Node{row, spread(word(g, 0)), spread(k.in.w[2]), spread(k.in.w[3])},
		[2]*graph.Node{spread(k.in.w[0]), spread(k.in.w[1])})[0]
}

// bits returns the four words of blocks of row 0, as vectors; of many keys, as
// [key, block].
func (k graphKey) bits(blocks int) [4]*graph.Node {
	g := k.w[0].Graph()
	shape, spread := k.over(blocks)
	if k.counts() {
		var all []*graph.Node
		for b := range blocks {
			all = append(all, k.generate(word(g, 0), word(g, uint32(b)), 1))
		}
		return [4]*graph.Node(columns(graph.Concatenate(all, 0), blocks))
	}
	return philoxNodes([4]*graph.Node{spread(word(g, 0)), graph.Iota(g, shape, -1), spread(k.w[2]), spread(k.w[3])},
		[2]*graph.Node{spread(k.w[0]), spread(k.w[1])})
}

// over returns the shape of what is drawn with dims for every key, one or [key], and how
// the words of keys spread over it.
func (k graphKey) over(dims ...int) (shapes.Shape, func(*graph.Node) *graph.Node) {
	lead := k.w[0].Shape().Dimensions
	shape := shapes.Make(dtypes.Uint32, slices.Concat(lead, dims)...)
	return shape, func(x *graph.Node) *graph.Node {
		if x.Rank() > 0 {
			for range dims {
				x = graph.ExpandAxes(x, -1)
			}
		}
		return graph.BroadcastToShape(x, shape)
	}
}

func word(g *graph.Graph, x uint32) *graph.Node { return graph.Const(g, x) }

// fold does what Key.Fold does.
func (k graphKey) fold(lo, hi *graph.Node) graphKey {
	if k.counts() {
		return graphKey{w: [4]*graph.Node(columns(k.generate(lo, hi, 1))), row: k.row}
	}
	return graphKey{w: philoxNodes([4]*graph.Node{lo, hi, k.w[2], k.w[3]}, [2]*graph.Node{k.w[0], k.w[1]}), row: k.row}
}

func (k graphKey) use(name string) graphKey {
	h := hash(name)
	g := k.w[0].Graph()
	out := k.fold(word(g, uint32(h)), word(g, uint32(h>>32)))
	out.path = k.path.fold(keyFold{lo: uint32(h), hi: uint32(h >> 32)})
	return out
}

// uniform returns [rows, n] of Key.Uniform; of many keys, [key, rows, n].
func (k graphKey) uniform(rows, n int) *graph.Node {
	g := k.w[0].Graph()
	blocks := (n + 3) / 4
	if k.counts() && blocks <= manyBlocks {
		return philox.UnitNode(k.words(rows, n))
	}
	shape, spread := k.over(rows, blocks)
	row, block := graph.Add(graph.Iota(g, shape, -2), spread(k.row)), graph.Iota(g, shape, -1)
	w := philoxNodes([4]*graph.Node{row, block, spread(k.w[2]), spread(k.w[3])},
		[2]*graph.Node{spread(k.w[0]), spread(k.w[1])})
	lead := shape.Dimensions[:shape.Rank()-1]
	all := graph.Reshape(graph.Stack(w[:], -1), slices.Concat(lead, []int{blocks * 4})...)
	return philox.UnitNode(graph.SliceAxis(all, -1, graph.AxisRange(0, n)))
}

// counts reports whether the device of the key's graph generates Philox blocks of a
// counter itself, which is then one operation in place of a hundred. It does so for
// one key at a time.
func (k graphKey) counts() bool {
	c, ok := k.w[0].Graph().State(ctxLink{}).(*Ctx)
	return ok && c.dev.philox && k.w[0].Rank() == 0
}

// manyBlocks is how many numbers a row may draw, in blocks, to have them generated: a
// row's blocks are apart in the generator's order, so each is a call.
const manyBlocks = 16

// words returns the first n words of rows, [rows, n], by the device's generator.
func (k graphKey) words(rows, n int) *graph.Node {
	var all []*graph.Node
	for b := 0; n > 0; b++ {
		some := min(n, 4)
		w := k.generate(k.row, word(k.row.Graph(), uint32(b)), rows)
		all = append(all, graph.Slice(w, graph.AxisRange(), graph.AxisRange(0, some)))
		n -= some
	}
	if len(all) == 1 {
		return all[0]
	}
	return graph.Concatenate(all, 1)
}

// generate returns [rows, 4] words of the blocks of counters (lo, hi), (lo+1, hi), ...
func (k graphKey) generate(lo, hi *graph.Node, rows int) *graph.Node {
	parts := make([]*graph.Node, 0, 6)
	for _, w := range []*graph.Node{k.w[0], k.w[1], lo, hi, k.w[2], k.w[3]} {
		parts = append(parts, graph.Reshape(w, 1))
	}
	state := graph.Bitcast(graph.Reshape(graph.Concatenate(parts, 0), 3, 2), dtypes.Uint64)
	// GoMLX makes floats of what the generator gives; what is wanted is the latter.
	_, bits := graph.RandomUniform(state, shapes.Make(dtypes.Float32, rows, 4))
	for bits.DType() != dtypes.Uint32 {
		bits = bits.Inputs()[0]
	}
	return bits
}

// columns returns the four columns of words, of so many rows; of one row, scalars.
func columns(words *graph.Node, rows ...int) []*graph.Node {
	out := make([]*graph.Node, 4)
	for i := range out {
		out[i] = graph.Reshape(graph.Slice(words, graph.AxisRange(), graph.AxisRange(i, i+1)), rows...)
	}
	return out
}

// philoxNodes does what philox.Block does on nodes, as the device of their graph has it best.
func philoxNodes(c [4]*graph.Node, k [2]*graph.Node) [4]*graph.Node {
	x, ok := c[0].Graph().State(ctxLink{}).(*Ctx)
	return philox.Nodes(c, k, ok && x.Rolls())
}

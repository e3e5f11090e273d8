package data

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// A set inside a device program is its columns as tensors, which the program reads and never
// writes, and the same arithmetic on rows as graph code, bit for bit. Of a set that is too large
// for that the host brings the batches of the iterations that a call of the program makes, before
// it: what the plain loop draws, by the code of the plain loop.

// boarded holds the columns of a set on a device.
type boarded struct {
	Columns []rl.Tensor // [rows, ...]; absent where nothing is read
	Row     rl.Tensor   // int32, of every step: its row
	Left    rl.Tensor   // int32, of every step: steps until the end of its episode
	Begins  rl.Tensor   // bool, of every row: whether an episode begins with it
	Start   rl.Tensor   // int32, of every episode: its first row
	Length  rl.Tensor   // int32, of every episode: its steps
}

// Resident returns the columns that E names, and where episodes begin and end.
func (d *Set[E]) Resident() []rl.Carried {
	if d.tooLarge() {
		return nil
	}
	if !d.on.Row.Ok() {
		d.board()
	}
	return []rl.Carried{rl.Carry(&d.on)}
}

// Stays implements rl.Stays: a set is large.
func (d *Set[E]) Stays() {}

// tooLarge reports whether the set does not lie on the device.
func (d *Set[E]) tooLarge() bool {
	most := d.OnDevice
	if most == 0 {
		most = onDevice << 20
	}
	seen, bytes := map[int]bool{}, int64(0)
	for _, at := range d.reads {
		if at.column >= 0 && !seen[at.column] {
			shape := d.columns[at.column].Shape
			seen[at.column], bytes = true, bytes+int64(shape.Size()*shape.DType.Size())
		}
	}
	return bytes*d.starts[len(d.starts)-1] > most
}

// boarding returns a sample inside a device program: on draws it there, and from on the host.
func (d *Set[E]) boarding(l *rl.Lowering, k rl.Key, on func(traced[E]) replay.Sample[E], from func(rl.Key) replay.Sample[E]) replay.Sample[E] {
	if d.tooLarge() {
		return rl.Feed(l, k, from)
	}
	return on(d.traced(l))
}

// board reads the set into tensors.
func (d *Set[E]) board() {
	rows := d.starts[len(d.starts)-1]
	if rows >= 1<<31 {
		rl.Failf("data set %q has %d rows: a device program numbers them with 32 bits, so use another policy", d.name, rows)
	}
	d.on.Columns = make([]rl.Tensor, len(d.columns))
	every := make([]int64, rows)
	for i := range every {
		every[i] = int64(i)
	}
	for _, at := range d.reads {
		if at.column >= 0 && !d.on.Columns[at.column].Ok() {
			d.on.Columns[at.column] = d.whole(at.column, every)
		}
	}
	var row, left, start, length []int32
	begins := make([]bool, rows)
	for e, from := range d.starts[:len(d.starts)-1] {
		steps := int32(d.starts[e+1]-from) - 1
		begins[from] = true
		start, length = append(start, int32(from)), append(length, steps)
		for t := range steps {
			row, left = append(row, int32(from)+t), append(left, steps-t)
		}
	}
	d.on.Row, d.on.Left = rl.FromFlat(d.scope, row, len(row)), rl.FromFlat(d.scope, left, len(left))
	d.on.Begins = rl.FromFlat(d.scope, begins, len(begins))
	d.on.Start, d.on.Length = rl.FromFlat(d.scope, start, len(start)), rl.FromFlat(d.scope, length, len(length))
}

// whole returns all rows of a column. In the last row of an episode only observations are read.
func (d *Set[E]) whole(column int, every []int64) rl.Tensor {
	if isObs(d.columns[column].Name) {
		return d.gather(column, every, len(every))
	}
	rows := make([]int64, len(every))
	copy(rows, every)
	for _, next := range d.starts[1:] {
		rows[next-1] = next - 2 // nobody reads it
	}
	return d.gather(column, rows, len(rows))
}

// traced is a set in a device program that is being built.
type traced[E any] struct {
	*Set[E]
	g *graph.Graph
}

func (d *Set[E]) traced(l *rl.Lowering) traced[E] { return traced[E]{d, l.Graph()} }

// draw does what Set.draw does: int32 vectors.
func (t traced[E]) draw(k rl.Key, n int) (row, left *graph.Node) {
	at := t.below(k, n, t.steps())
	return take(t.on.Row.Node(), at), take(t.on.Left.Node(), at)
}

// below returns numbers from 0 to many-1, as Key.IntN draws them.
func (t traced[E]) below(k rl.Key, n, many int) *graph.Node {
	wide := graph.ConvertDType(rl.GraphBits(k, n), dtypes.Uint64)
	at := graph.BitwiseShiftRightLogicalScalar(graph.Mul(wide, graph.ConstAs(wide, uint64(many))), 32)
	return graph.ConvertDType(at, dtypes.Int32)
}

// take returns the rows of x that an index names.
func take(x, index *graph.Node) *graph.Node { return graph.Gather(x, graph.ExpandAxes(index, -1)) }

// sample does what Set.sampled does.
func (t traced[E]) sample(k rl.Key, n int) replay.Sample[E] {
	row, left := t.draw(k, n)
	steps := graph.Min(left, graph.BroadcastToDims(graph.Const(t.g, int32(t.span())), n))
	end := graph.AddScalar(graph.Add(row, steps), -1)
	s := t.drawn(row, n, 1/float64(t.steps()))
	s.Discount = rl.Wrap(take(graph.Const(t.g, t.powers), steps))
	s.Data = t.element(func(at reading) rl.Tensor {
		x := t.on.Columns[at.column].Node()
		switch {
		case at.at == last:
			return rl.Wrap(take(x, end))
		case at.at == after:
			return rl.Wrap(take(x, graph.AddScalar(end, 1)))
		case at.at == all && t.span() > 1:
			return t.total(x, row, steps)
		}
		return rl.Wrap(take(x, row))
	})
	return s
}

// drawn returns a sample of rows, without what is in them.
func (t traced[E]) drawn(row *graph.Node, n int, prob float64) (s replay.Sample[E]) {
	s.Index = rl.Wrap(graph.ConvertDType(row, dtypes.Int64))
	s.Prob = rl.Wrap(graph.BroadcastToDims(graph.Const(t.g, float32(prob)), n))
	return s
}

// sequences does what Set.Sequences does.
func (t traced[E]) sequences(k rl.Key, n, length int) replay.Sample[E] {
	row, left := t.draw(k, n)
	return t.windows(row, left, length, 1/float64(t.steps()))
}

// episodes does what Set.Episodes does.
func (t traced[E]) episodes(k rl.Key, n int) replay.Sample[E] {
	many := len(t.starts) - 1
	at := t.below(k, n, many)
	return t.windows(take(t.on.Start.Node(), at), take(t.on.Length.Node(), at), int(t.meta.Longest), 1/float64(many))
}

// windows does what Set.windows does.
func (t traced[E]) windows(row, left *graph.Node, length int, prob float64) replay.Sample[E] {
	n := row.Shape().Size()
	time, here, rest := t.window(row, left, length)
	s := t.drawn(row, n, prob)
	s.Valid = rl.Wrap(graph.LessThan(time, rest))
	s.Data = t.element(func(at reading) rl.Tensor {
		if at.at == after {
			return rl.Wrap(take(t.on.Columns[at.column].Node(), graph.AddScalar(here, 1)))
		}
		return rl.Wrap(take(t.on.Columns[at.column].Node(), here))
	})
	return s
}

// window returns, [rows, length], the number of every step, its row, and the steps that are left at
// the first one.
func (t traced[E]) window(row, left *graph.Node, length int) (time, here, rest *graph.Node) {
	n := row.Shape().Size()
	across := func(x *graph.Node) *graph.Node { return graph.BroadcastToDims(graph.ExpandAxes(x, 1), n, length) }
	time = graph.Iota(t.g, shapes.Make(dtypes.Int32, n, length), 1)
	rest = across(left)
	return time, graph.Add(across(row), graph.Min(time, graph.AddScalar(rest, -1))), rest
}

// total does what Set.sum does.
func (t traced[E]) total(x, row, steps *graph.Node) rl.Tensor {
	time, here, rest := t.window(row, steps, t.span())
	reward := rl.Wrap(take(x, here))
	end := rl.Wrap(graph.Equal(time, graph.AddScalar(rest, -1)))
	no := rl.Wrap(graph.ZerosLike(end.Node()))
	ret := rl.NStep(t.Discount, t.span(), reward, rl.Zero(reward), no, end)
	return rl.Wrap(graph.Squeeze(graph.Slice(ret.Node(), graph.AxisRange(), graph.AxisRange(0, 1)), 1))
}

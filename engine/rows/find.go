package rows

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
)

// most is how many elements a row's vector may have.
const most = 512

// refusal is why a loop is not row by row.
type refusal struct{ why string }

func (r refusal) Error() string { return r.why }

func refuse(format string, args ...any) { panic(refusal{fmt.Sprintf(format, args...)}) }

// finder writes one loop by row.
type finder struct {
	builder
	while  *ir.Node
	body   *ir.Func
	rows   int
	out    *Loop
	state  map[*ir.Value]int       // parameters of the body
	inputs map[*ir.Value]int       // captures of the body and initial values, by what they are outside
	outer  map[*ir.Value]*ir.Value // captures, by what they capture
	done   map[asked]*Node
	tables map[made]*ir.Value
	arms   map[*ir.Node]*Branch
	region bool // not a loop but a part of a function, in which everything else is memory
	stage  int  // number of the assumptions in force: code written under one does not hold under another
	last   int  // stage
}

// asked is a value seen by row, with the axis of its rows, -1 for what all rows share.
type asked struct {
	v     *ir.Value
	axis  int
	stage int
}

func newFinder(n *ir.Node) *finder {
	f := &finder{while: n, body: n.Funcs[1], out: &Loop{}, state: map[*ir.Value]int{}, inputs: map[*ir.Value]int{},
		outer: map[*ir.Value]*ir.Value{}, done: map[asked]*Node{}, arms: map[*ir.Node]*Branch{},
		tables: map[made]*ir.Value{}}
	f.nodes = map[string]*Node{}
	for i, p := range f.body.Params {
		f.state[p] = i
	}
	for i, v := range n.CapturesOf(1) {
		f.outer[f.body.Captures[i]] = v
	}
	return f
}

// loop writes the whole of it.
func (f *finder) loop() *Loop {
	counter := f.counter()
	f.out.Results = make([]Result, len(f.while.Outputs))
	for i, v := range f.while.Outputs { // states say how many rows there are
		r := &f.out.Results[i]
		r.Value, r.Start = v, f.while.Inputs[i]
		switch {
		case i == counter:
			r.Kind = Counter
		case f.aside(i) != nil:
			r.Kind = Aside
		case f.kept(i) != nil:
			r.Kind = Kept
		case v.Shape.Rank() == 0:
			r.Kind = Common
		default:
			r.Kind = State
			f.agree(v.Shape.Dimensions[0])
		}
	}
	if f.rows < 2 {
		refuse("%d rows", f.rows)
	}
	f.out.Rows = f.rows
	for i := range f.out.Results {
		if r := &f.out.Results[i]; r.Kind == Common && f.summand(i) != nil {
			r.Kind = Sum
		}
	}
	for i := range f.out.Results {
		f.result(i)
	}
	return f.out
}

// agree checks that all states have as many rows.
func (f *finder) agree(rows int) {
	if f.rows == 0 {
		f.rows = rows
	}
	if f.rows != rows {
		refuse("states of %d and of %d rows", f.rows, rows)
	}
}

// result writes how an output comes about.
func (f *finder) result(i int) {
	r, last := &f.out.Results[i], f.body.Results[i]
	switch r.Kind {
	case State:
		r.Init, r.Next = f.initial(i, 0), f.row(last, 0)
		r.Place = place(dense(r.Value.Shape.Dimensions), 0, r.Value.Shape.Dimensions, 0)
	case Common:
		r.Init, r.Next = f.initial(i, -1), f.row(last, -1)
		r.Place = Place{Elems: []int{0}}
	case Sum:
		x := f.summand(i)
		axis := f.rowAxis(x)
		row := f.row(x, axis)
		r.Next = f.reduce(compute.OpTypeReduceSum, row, [][]int{count(row.N)})
		r.Place = Place{Row: 1, Elems: []int{0}}
	case Aside:
		x := f.aside(i)
		dims := x.Shape.Dimensions
		axis := f.rowAxis(x)
		strides := dense(r.Value.Shape.Dimensions)
		r.Next, r.Step = f.row(x, axis), strides[0]
		r.Place = place(strides, 0, dims, axis)
	case Kept:
		f.keep(r, f.kept(i))
	}
}

// keep writes what a round puts into a table.
func (f *finder) keep(r *Result, put *ir.Node) {
	x, table := put.Inputs[1], r.Value.Shape.Dimensions
	if x.Shape.Dimensions[0] != f.rows {
		refuse("%d rows put into a table by %d", x.Shape.Dimensions[0], f.rows)
	}
	if table[0]%f.rows != 0 || !f.multiple(put.Inputs[2]) {
		refuse("a slot that may be another row's in another round")
	}
	strides := dense(table)
	r.Next, r.From = f.row(x, 0), f.row(put.Inputs[2], -1)
	r.Step, r.Most = strides[0], table[0]-f.rows
	r.Place = place(strides, 0, x.Shape.Dimensions, 0)
	f.input(r.Start) // which becomes the output
}

// rowAxis returns the first axis with as many elements as there are rows; whether it is theirs
// shows when it is asked for.
func (f *finder) rowAxis(v *ir.Value) int {
	axis := slices.Index(v.Shape.Dimensions, f.rows)
	if axis < 0 {
		refuse("%s has no axis of %d rows", v.Shape, f.rows)
	}
	return axis
}

// initial returns a state before the first round.
func (f *finder) initial(i, axis int) *Node {
	return f.load(f.whole(f.while.Inputs[i]), axis)
}

// counter finds the state that counts rounds: from 0, by 1, up to a constant, and nothing else ends
// the loop.
func (f *finder) counter() int {
	cond := f.while.Funcs[0]
	for i, v := range f.while.CapturesOf(0) {
		f.outer[cond.Captures[i]] = v
	}
	test := cond.Results[0].Node
	if test.Op != compute.OpTypeLessThan || test.Inputs[0].DType() != dtypes.Int32 {
		refuse("how many rounds there are is not known")
	}
	at := slices.Index(cond.Params, test.Inputs[0])
	limit, ok := f.number(test.Inputs[1])
	if at < 0 || !ok || limit < 1 {
		refuse("how many rounds there are is not known")
	}
	first, ok := f.number(f.while.Inputs[at])
	if !ok || first != 0 {
		refuse("the first round is not round 0")
	}
	next := f.source(f.body.Results[at]).Node
	one := func(v *ir.Value) bool { x, ok := f.number(v); return ok && x == 1 }
	if next.Op != compute.OpTypeAdd || !(next.Inputs[0] == f.body.Params[at] && one(next.Inputs[1]) ||
		next.Inputs[1] == f.body.Params[at] && one(next.Inputs[0])) {
		refuse("rounds are not counted by ones")
	}
	f.out.Trips = limit
	return at
}

// source looks through what changes nothing and through captures within the loop.
func (f *finder) source(v *ir.Value) *ir.Value {
	for {
		if f.region {
			return v
		}
		if w := f.outer[v]; w != nil && !f.outside(v) {
			v = w
			continue
		}
		if op.Of(v.Node.Op).Class != op.Same {
			return v
		}
		v = v.Node.Inputs[0]
	}
}

// outside reports whether v is a capture of the body itself: what it captures is not of the loop.
func (f *finder) outside(v *ir.Value) bool { return !f.region && slices.Contains(f.body.Captures, v) }

// number returns an int32 or int64 constant's value.
func (f *finder) number(v *ir.Value) (int, bool) {
	for f.outer[v] != nil {
		v = f.outer[v]
	}
	l, ok := v.Node.Attr.(ir.Literal)
	if !ok || v.Size() != 1 {
		if v.Node.Op == compute.OpTypeIdentity || v.Node.Op == compute.OpTypeReshape {
			return f.number(v.Node.Inputs[0])
		}
		return 0, false
	}
	switch x := ir.FlatSlice(v.DType(), l.Data).(type) {
	case []int32:
		return int(x[0]), true
	case []int64:
		return int(x[0]), true
	}
	return 0, false
}

// aside returns what state i puts aside in a round, if that is all that happens to it: its block of
// round i is written.
func (f *finder) aside(i int) *ir.Value {
	v := f.source(f.body.Results[i])
	if v.Node.Op != compute.OpTypeDynamicUpdateSlice || f.source(v.Node.Inputs[0]) != f.body.Params[i] {
		return nil
	}
	whole, part, starts := v.Shape.Dimensions, v.Node.Inputs[1].Shape.Dimensions, v.Node.Inputs[2:]
	if whole[0] != f.out.Trips || part[0] != 1 || !slices.Equal(whole[1:], part[1:]) || f.source(starts[0]) != f.body.Params[f.counted()] {
		return nil
	}
	for _, s := range starts[1:] {
		if x, ok := f.number(s); !ok || x != 0 {
			return nil
		}
	}
	return v.Node.Inputs[1]
}

// kept returns the operation that writes a block of rows into state i, if that is all that happens
// to it.
func (f *finder) kept(i int) *ir.Node {
	n := f.source(f.body.Results[i]).Node
	if n.Op != compute.OpTypeDynamicUpdateSlice || f.source(n.Inputs[0]) != f.body.Params[i] {
		return nil
	}
	whole, part := n.Inputs[0].Shape.Dimensions, n.Inputs[1].Shape.Dimensions
	if part[0] >= whole[0] || !slices.Equal(whole[1:], part[1:]) {
		return nil
	}
	return n
}

// multiple reports whether a number is shown to be a multiple of the number of rows. Rows of one
// kernel do not wait for each other: if the first slot always is, no two of them have one slot.
func (f *finder) multiple(v *ir.Value) bool {
	v = f.source(v)
	in := v.Node.Inputs
	known := func(v *ir.Value) bool { x, ok := f.number(f.source(v)); return ok && x%f.rows == 0 }
	switch v.Node.Op {
	case compute.OpTypeConvertDType:
		return f.multiple(in[0])
	case compute.OpTypeRem:
		return f.multiple(in[0]) && known(in[1])
	case compute.OpTypeMul:
		return v.DType() == dtypes.Int64 && (known(in[0]) || known(in[1])) // which does not overflow
	}
	return known(v)
}

// counted returns the counter's position.
func (f *finder) counted() int {
	cond := f.while.Funcs[0]
	return slices.Index(cond.Params, cond.Results[0].Node.Inputs[0])
}

// summand returns what a round adds to scalar state i, summed over all rows, if that is what it
// does.
func (f *finder) summand(i int) *ir.Value {
	v := f.source(f.body.Results[i])
	if v.Node.Op != compute.OpTypeAdd {
		return nil
	}
	for j := range 2 {
		x, sum := f.source(v.Node.Inputs[j]), f.source(v.Node.Inputs[1-j])
		if x == f.body.Params[i] && sum.Node.Op == compute.OpTypeReduceSum && sum.Shape.Rank() == 0 &&
			slices.Contains(sum.Node.Inputs[0].Shape.Dimensions, f.rows) {
			return sum.Node.Inputs[0]
		}
	}
	return nil
}

func count(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

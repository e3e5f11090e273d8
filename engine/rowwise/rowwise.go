// Package rowwise shows that the rows of a recorded function do not look at each other: row i of a
// result is computed from row i of the parameters alone. Only such a function gives the same result
// when its batch is split.
//
// Check goes through the nodes once, forwards. Of every value it knows whether the value is the
// same for all rows, has its rows along an axis, or mixes rows. An operation that is not known
// counts as one that mixes them, so a function that passes is row by row; one that is refused need
// not mix rows.
package rowwise

import (
	"fmt"

	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/ir"
)

// Crossing is the operation at which rows first look at each other.
type Crossing struct {
	Op    compute.OpType
	Of    []*ir.Value // its operands
	About string      // sentence about the operation's use of rows
}

func (c *Crossing) Error() string {
	text := c.Op.String() + " of "
	for i, v := range c.Of {
		if i > 0 {
			text += ", "
		}
		text += v.Shape.String()
	}
	return text + " " + c.About
}

// Check returns a *Crossing unless the results of f are row by row. params has for every parameter
// how many elements of its first axis belong to a row, 0 if the parameter is the same for all rows;
// results likewise, with a negative number for results that are not looked at. There are rows rows.
func Check(f *ir.Func, rows int, params, results []int) error {
	if len(params) != len(f.Params) || len(results) > len(f.Results) {
		return fmt.Errorf("%d parameters and %d results are described of %d and %d", len(params), len(results), len(f.Params), len(f.Results))
	}
	in := make([]state, len(params))
	for i, inner := range params {
		if inner > 0 {
			in[i] = state{kind: byRow, inner: inner}
			if d := f.Params[i].Shape.Dimensions; len(d) == 0 || d[0] != rows*inner {
				return fmt.Errorf("parameter %d of shape %s has no %d x %d rows", i, f.Params[i].Shape, rows, inner)
			}
		}
	}
	c := &checker{rows: rows}
	for i, s := range c.function(f, in, nil) {
		if i >= len(results) || results[i] < 0 {
			continue
		}
		if err := c.result(f.Results[i], s, results[i]); err != nil {
			return err
		}
	}
	return nil
}

// kind is how a value depends on rows.
type kind uint8

const (
	common kind = iota // the same for all rows
	byRow              // rows along an axis
	mixed              // of several rows
)

// state is how a value depends on rows. Along axis, index i is of row i/inner%rows: a reshape may
// have joined the axis of rows with others.
type state struct {
	kind        kind
	axis, inner int
	why         *Crossing // reason why a value is mixed
}

// result checks that a result of inner elements a row is row by row along its first axis.
func (c *checker) result(v *ir.Value, s state, inner int) error {
	switch {
	case s.kind == mixed:
		return s.why
	case s.kind == common || inner > 0 && s.axis == 0 && s.inner == inner && v.Shape.Dimensions[0] == c.rows*inner:
		return nil
	case inner == 0:
		return &Crossing{Op: v.Node.Op, Of: []*ir.Value{v}, About: "has rows, and is returned as if it had none"}
	}
	return &Crossing{Op: v.Node.Op, Of: []*ir.Value{v}, About: "is returned with its rows not along the first axis"}
}

// checker follows rows through functions.
type checker struct{ rows int }

// function returns the states of a function's results, given those of its parameters and captures.
func (c *checker) function(f *ir.Func, params, captures []state) []state {
	known := map[*ir.Value]state{}
	for i, v := range f.Params {
		known[v] = params[i]
	}
	for i, v := range f.Captures {
		known[v] = captures[i]
	}
	for _, n := range f.Nodes {
		if _, ok := known[n.Outputs[0]]; ok { // a parameter or a capture
			continue
		}
		in := make([]state, len(n.Inputs))
		for i, v := range n.Inputs {
			in[i] = known[v]
		}
		for i, s := range c.node(n, in) {
			known[n.Outputs[i]] = s
		}
	}
	out := make([]state, len(f.Results))
	for i, v := range f.Results {
		out[i] = known[v]
	}
	return out
}

// node returns the states of a node's outputs.
func (c *checker) node(n *ir.Node, in []state) []state {
	switch n.Op {
	case compute.OpTypeWhile:
		return c.while(n, in)
	case compute.OpTypeIf:
		return c.branch(n, in)
	case compute.OpTypeCall:
		return c.function(n.Funcs[0], in, nil)
	}
	worst := state{}
	for _, s := range in {
		if s.kind > worst.kind {
			worst = s
		}
	}
	if worst.kind == byRow {
		worst = c.operation(n, in)
	}
	return same(n, worst)
}

// same returns one state for all outputs.
func same(n *ir.Node, s state) []state {
	out := make([]state, len(n.Outputs))
	for i := range out {
		out[i] = s
	}
	return out
}

func cross(n *ir.Node, about string) state {
	return state{kind: mixed, why: &Crossing{Op: n.Op, Of: n.Operands(), About: about}}
}

// join returns the state of what depends on values in two states whose axes correspond.
func join(n *ir.Node, a, b state) state {
	switch {
	case a.kind == mixed || b.kind == common:
		return a
	case b.kind == mixed || a.kind == common:
		return b
	case a.axis != b.axis || a.inner != b.inner:
		return cross(n, "puts rows along different axes together")
	}
	return a
}

func joinAll(n *ir.Node, in []state) (s state) {
	for _, x := range in {
		s = join(n, s, x)
	}
	return s
}

// while finds the states that a loop hands on: what they are at first, joined with what rounds make
// of them, until nothing changes.
func (c *checker) while(n *ir.Node, in []state) []state {
	operands := len(n.Operands())
	now := append([]state(nil), in[:operands]...)
	cond, body := in[operands:operands+len(n.Funcs[0].Captures)], in[operands+len(n.Funcs[0].Captures):]
	for changed := true; changed; {
		changed = false
		if s := c.function(n.Funcs[0], now, cond)[0]; s.kind != common { // a scalar of rows is of several
			return same(n, s)
		}
		for i, s := range c.function(n.Funcs[1], now, body) {
			if next := join(n, now[i], s); next.kind != now[i].kind {
				now[i], changed = next, true
			}
		}
	}
	return now
}

// branch joins what the arms of an If give.
func (c *checker) branch(n *ir.Node, in []state) []state {
	operands := len(n.Operands())
	if s := in[0]; s.kind != common { // a scalar of rows is of several
		return same(n, s)
	}
	at := operands
	var out []state
	for _, arm := range n.Funcs {
		states := c.function(arm, nil, in[at:at+len(arm.Captures)])
		at += len(arm.Captures)
		for i, s := range states {
			if out != nil && i < len(out) {
				s = join(n, out[i], s)
			}
			states[i] = s
		}
		out = states
	}
	return out
}

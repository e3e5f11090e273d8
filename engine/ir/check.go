package ir

import (
	"errors"
	"fmt"

	"github.com/gomlx/compute"
)

// Check reports everything that is wrong with the module: operands defined after their use or in
// another function, nodes whose closures do not fit their operands, broadcasting left implicit.
func (m *Module) Check() error {
	var errs []error
	for _, f := range m.Funcs {
		errs = append(errs, f.Check())
	}
	if len(m.Main.Captures) > 0 {
		errs = append(errs, fmt.Errorf("the main function captures %d values: it may capture none", len(m.Main.Captures)))
	}
	return errors.Join(append(errs, m.Main.Check())...)
}

// Check reports everything that is wrong with the function and its closures.
func (f *Func) Check() error {
	c := &checker{seen: map[*Value]bool{}, inputs: map[*Value]bool{}}
	for _, v := range append(append([]*Value{}, f.Params...), f.Captures...) {
		c.inputs[v] = true
	}
	for i, n := range f.Nodes {
		c.node(i, n)
	}
	for i, r := range f.Results {
		if !c.seen[r] {
			c.failf("result %d is not defined in the function", i)
		}
	}
	for _, v := range f.Params {
		if !c.seen[v] {
			c.failf("a parameter has no node")
		}
	}
	return errors.Join(c.errs...)
}

type checker struct {
	seen, inputs map[*Value]bool
	errs         []error
}

func (c *checker) failf(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

func (c *checker) node(i int, n *Node) {
	for j, v := range n.Inputs {
		if v == nil || !c.seen[v] {
			c.failf("node %d (%s): operand %d is not defined before it", i, n.Op, j)
		}
	}
	for j, v := range n.Outputs {
		if v.Node != n || v.Index != j {
			c.failf("node %d (%s): output %d belongs to another node", i, n.Op, j)
		}
		if c.seen[v] {
			c.failf("node %d (%s): output %d is defined twice", i, n.Op, j)
		}
		c.seen[v] = true
	}
	if n.Op == compute.OpTypeParameter || n.Op == compute.OpTypeCapturedValue {
		if !c.inputs[n.Outputs[0]] {
			c.failf("node %d (%s) is not an input of the function", i, n.Op)
		}
	}
	c.broadcast(i, n)
	c.closures(i, n)
}

// broadcast checks that elementwise operands have the dimensions of the output.
func (c *checker) broadcast(i int, n *Node) {
	if !Elementwise(n.Op) {
		return
	}
	for j, v := range n.Inputs {
		if !v.Shape.EqualDimensions(n.Outputs[0].Shape) {
			c.failf("node %d (%s): operand %d is %s, the output %s", i, n.Op, j, ShapeText(v), ShapeText(n.Outputs[0]))
		}
	}
}

func (c *checker) closures(i int, n *Node) {
	if len(n.Funcs) == 0 {
		return
	}
	captured := 0
	for _, f := range n.Funcs {
		captured += len(f.Captures)
	}
	if captured > len(n.Inputs) {
		c.failf("node %d (%s): closures capture %d values, the node has %d operands", i, n.Op, captured, len(n.Inputs))
		return
	}
	for j, f := range n.Funcs {
		for k, v := range n.CapturesOf(j) {
			if !v.Shape.Equal(f.Captures[k].Shape) {
				c.failf("node %d (%s): capture %d of closure %d is %s, given %s", i, n.Op, k, j,
					ShapeText(f.Captures[k]), ShapeText(v))
			}
		}
		if n.Op != compute.OpTypeCall {
			if err := f.Check(); err != nil {
				c.failf("node %d (%s), closure %d: %w", i, n.Op, j, err)
			}
		}
	}
	c.signature(i, n)
}

// signature checks the parameters and results of closures against the operands and outputs of the
// node.
func (c *checker) signature(i int, n *Node) {
	match := func(what string, got, want []*Value) {
		if len(got) != len(want) {
			c.failf("node %d (%s): %s: %d values for %d", i, n.Op, what, len(got), len(want))
			return
		}
		for j := range got {
			if !got[j].Shape.Equal(want[j].Shape) {
				c.failf("node %d (%s): %s %d is %s, not %s", i, n.Op, what, j, ShapeText(got[j]), ShapeText(want[j]))
			}
		}
	}
	switch n.Op {
	case compute.OpTypeWhile:
		match("condition parameter", n.Funcs[0].Params, n.Operands())
		match("body parameter", n.Funcs[1].Params, n.Operands())
		match("body result", n.Funcs[1].Results, n.Outputs)
	case compute.OpTypeIf:
		match("true result", n.Funcs[0].Results, n.Outputs)
		match("false result", n.Funcs[1].Results, n.Outputs)
	case compute.OpTypeCall:
		match("parameter", n.Funcs[0].Params, n.Operands())
		match("result", n.Funcs[0].Results, n.Outputs)
	}
}

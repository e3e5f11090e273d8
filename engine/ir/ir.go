// Package ir is the recorded form of a GoMLX computation: functions of typed nodes in
// single-assignment order, with closures lifted so that whatever a closure captures is an operand
// of the node that runs it.
//
// It is plain data. The CPU engine compiles it to a flat program; an emitter for another device can
// walk the same nodes. Implicit broadcasting is written out as BroadcastInDim nodes, so that the
// operands of an elementwise node always have the node's own dimensions.
package ir

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// Module is a whole computation: a main function, and the named functions that Call nodes refer to.
type Module struct {
	Name  string
	Main  *Func
	Funcs []*Func

	// Replicas is on how many devices the module runs at once, each with inputs of its own; 0 is
	// one device. Collective nodes (AllReduce) join them.
	Replicas int
	// Split says how the module's values are shared out among devices, where it is one computation
	// on several; nil elsewhere. Whoever compiles it finds the collectives.
	Split *Split
	// Devices lists the devices of the replicas or of the parts, if they were chosen.
	Devices []int
}

// Split is a computation whose parameters and results are whole, or cut into equal parts, one on
// each device.
type Split struct {
	Devices int
	// Params and Results are the axes of main's parameters and results that are cut; Whole is none.
	Params, Results []int
}

// Whole is the axis of a value that every device has all of.
const Whole = -1

// Over returns on how many devices the module runs at once.
func (m *Module) Over() int {
	if m.Split != nil {
		return m.Split.Devices
	}
	return max(m.Replicas, 1)
}

// Func is one function: its parameters, the values it captures from the function around it, and its
// nodes in an order in which every node comes after its operands.
//
// Captures are inputs like parameters; the node that owns the closure passes them after the
// ordinary operands.
type Func struct {
	Name     string // empty for closures
	Params   []*Value
	Captures []*Value
	Nodes    []*Node
	Results  []*Value
}

// Node is one operation. Nodes that run closures (While, If, Sort) or call functions (Call) list
// them in Funcs, and their Inputs end in the captures of those functions, function after function.
type Node struct {
	ID      int // position among the nodes of its function, set by Func.Renumber
	Op      compute.OpType
	Inputs  []*Value
	Outputs []*Value
	Attr    any // one of the attribute types of this package, or nil
	Funcs   []*Func
}

// Value is one output of a node.
type Value struct {
	Node  *Node
	Index int
	Shape shapes.Shape
}

// DType returns the element type of the value.
func (v *Value) DType() dtypes.DType { return v.Shape.DType }

// Size returns the number of elements of the value.
func (v *Value) Size() int { return v.Shape.Size() }

// Bytes returns the size of the value's storage.
func (v *Value) Bytes() int { return v.Shape.Size() * v.Shape.DType.Size() }

// NewNode makes a node with one output for each shape; the caller appends it to a function.
func NewNode(op compute.OpType, attr any, inputs []*Value, outputs ...shapes.Shape) *Node {
	n := &Node{Op: op, Attr: attr, Inputs: inputs, Outputs: make([]*Value, len(outputs))}
	for i, s := range outputs {
		n.Outputs[i] = &Value{Node: n, Index: i, Shape: s}
	}
	return n
}

// Add appends the node to the function and returns its first output.
func (f *Func) Add(n *Node) *Value {
	n.ID = len(f.Nodes)
	f.Nodes = append(f.Nodes, n)
	return n.Outputs[0]
}

// Renumber sets every node's ID to its position.
func (f *Func) Renumber() {
	for i, n := range f.Nodes {
		n.ID = i
	}
}

// Live returns the nodes that the results depend on.
func (f *Func) Live() map[*Node]bool {
	live := map[*Node]bool{}
	for _, r := range f.Results {
		live[r.Node] = true
	}
	for i := len(f.Nodes) - 1; i >= 0; i-- {
		if n := f.Nodes[i]; live[n] {
			for _, v := range n.Inputs {
				live[v.Node] = true
			}
		}
	}
	return live
}

// Closures calls fn for every function nested in f, innermost first.
func (f *Func) Closures(fn func(*Func)) {
	for _, n := range f.Nodes {
		if n.Op == compute.OpTypeCall {
			continue
		}
		for _, c := range n.Funcs {
			c.Closures(fn)
			fn(c)
		}
	}
}

// CapturesOf returns the operands of n that feed the captures of its i-th function.
func (n *Node) CapturesOf(i int) []*Value {
	end := len(n.Inputs)
	for j := len(n.Funcs) - 1; j > i; j-- {
		end -= len(n.Funcs[j].Captures)
	}
	return n.Inputs[end-len(n.Funcs[i].Captures) : end]
}

// Operands returns the inputs of n without what its functions capture.
func (n *Node) Operands() []*Value {
	end := len(n.Inputs)
	for _, f := range n.Funcs {
		end -= len(f.Captures)
	}
	return n.Inputs[:end]
}

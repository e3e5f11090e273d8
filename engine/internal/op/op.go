// Package op is the table of the engine's operations. A row says all that the engine knows of an
// operation: its class, the element types it takes, its loops, how graphs with it are simplified,
// and its form in StableHLO, ONNX and PTX. The packages that record graphs, check, simplify and run
// them, or write them for other devices, ask the table when a program is compiled; nothing looks
// into it while one runs.
//
// A new elementwise operation or reduction is a row here, and the kernels that the row names. An
// operation of another class, which moves, multiplies or searches elements, also has its code in
// the packages that record, run and write it; its row has what they have in common.
package op

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/assembly"
	"github.com/weft-rl/weft/engine/internal/kernel"
	"github.com/weft-rl/weft/engine/internal/loops"
)

// Row describes one operation to all of the engine.
type Row struct {
	Op    compute.OpType
	Class Class
	Takes Types // the element types of elementwise operations and reductions

	// Bool is set if the result has bools, whatever the operands have.
	Bool bool

	// Loops compute an elementwise operation. Those of 16-bit floats are made of float32's where
	// they are missing.
	Loops loops.Set
	// Dear is set if a loop takes several nanoseconds an element.
	Dear bool
	// AfterAdd is the vector kernel of the operation that adds two operands first; Identity is
	// none.
	AfterAdd kernel.UnaryOp

	// Commutes is set if the operands can be exchanged.
	Commutes bool
	// Involution is set if the operation undoes itself.
	Involution bool
	// Neutral is an operand that changes nothing, if there is one.
	Neutral *Neutral

	// Fold is how a binary operation joins the elements of a reduction, a window or a scatter; None
	// if it does not.
	Fold loops.Kind
	// By is the binary operation by which a reduction or a scatter joins two elements.
	By compute.OpType
	// Wide says where the operation is done in float32 if its elements are 16-bit floats.
	Wide Wide

	// HLO is the operation in StableHLO. It is empty if package stablehlo has code for the
	// operation, or none.
	HLO HLO
	// ONNX is the operation in ONNX. It is empty if package onnx has code for the operation, or
	// none. A line is an operator, its operands and attributes, with $ before what is filled in:
	//
	//	$x      all operands, as without any   $axes  the attribute, as an operand or an attribute
	//	$0 $1   operand 0, 1                   $axis  the same of a single axis
	//	$^      the line before                $type  number of the result's element type
	//
	// A number is an operand too. The last of several lines gives the result.
	ONNX string
	// PTX writes one element of an elementwise operation for GPUs; nil if there is no form.
	PTX assembly.Form
}

// Class sorts operations by how their elements depend on those of the operands.
type Class int

// The classes. Element i of the result of a Unary, Binary, Ternary or Convert operation depends on
// element i of the operands alone.
const (
	Missing   Class = iota // not an operation of the engine
	Source                 // gives a value without computing anything
	Unary                  // elementwise, of one operand
	Binary                 // elementwise, of two operands
	Ternary                // elementwise, of three operands
	Convert                // elementwise, to another type
	Same                   // gives its first operand
	View                   // gives the bytes of its operand another shape or type
	Move                   // puts elements elsewhere
	Reduce                 // makes the elements along axes one
	Scatter                // joins updates into an operand
	Special                // has code of its own wherever it is used
	Control                // runs functions
	Composite              // is recorded as other operations
)

// Elementwise reports whether element i of the output depends on element i of the operands alone.
func (r *Row) Elementwise() bool { return r.Class >= Unary && r.Class <= Convert }

// View reports whether the output has the very bytes of the first operand, in the same order.
func (r *Row) View() bool { return r.Class == Same || r.Class == View }

// Neutral is an operand that leaves the other one as it is, to the bit.
type Neutral struct {
	Value float64
	// Left is set if the operand may stand on the left too.
	Left bool
}

// Wide says where an operation on 16-bit floats is done in float32 and rounded at the end.
type Wide int

// The places.
const (
	Never      Wide = iota // nowhere
	InLoops                // in the engine, which has no 16-bit loops for the operation
	Everywhere             // on every device: 16 bits are too few to add or multiply many elements in
)

// HLO is an operation in StableHLO. Text is the operation with $ before what is filled in:
//
//	$x      all operands         $in     type of the first operand    $order  how elements are compared
//	$0 $1   operand 0, 1         $out    type of the result           $total  the same, in the total order
//	$^      the line before      $sig    types of all: (...) -> ...   $axes $axis  the attribute
//
// Several lines are several operations, of which the last gives the result. A text of one operand
// alone needs no operation. Without Text, it is that of an operation whose operands and result have
// one type.
type HLO struct {
	Name     string // without its dialect, as reductions name it
	Text     string
	Unsigned string // the text for unsigned integers, where it differs
}

// Types is a set of element types.
type Types uint8

// The sets.
const (
	Floats Types = 1 << iota
	Signed
	Unsigned
	Bools
	Ints    = Signed | Unsigned
	Numbers = Floats | Ints
	All     = Numbers | Bools
)

// Has reports whether an element type is in the set.
func (t Types) Has(d dtypes.DType) bool {
	switch {
	case d == dtypes.Bool:
		return t&Bools != 0
	case d.IsFloat():
		return t&Floats != 0
	case d.IsUnsigned():
		return t&Unsigned != 0
	}
	return d.IsInt() && t&Signed != 0
}

// completed returns rows with the loops of 16-bit floats, which follow from those of float32.
func completed(rows []Row) []Row {
	for i, r := range rows {
		rows[i].Loops = r.Loops.Halves(r.Bool)
	}
	return rows
}

// index has the row of every operation.
var index = indexed(table)

func indexed(rows []Row) (all [compute.OpTypeLast]*Row) {
	for i := range all {
		all[i] = &Row{Op: compute.OpType(i)}
	}
	for i := range rows {
		all[rows[i].Op] = &rows[i]
	}
	return all
}

// Of returns the row of an operation. That of an operation which the engine does not have is of
// class Missing.
func Of(t compute.OpType) *Row { return index[t] }

// Rows returns all operations of the engine.
func Rows() []Row { return table }

// Joins returns the row of the operation by which a kind of reduction joins two elements; of class
// Missing for kinds that there are no loops for.
func Joins(kind compute.ReduceOpType) *Row {
	switch kind {
	case compute.ReduceOpSum:
		return Of(compute.OpTypeAdd)
	case compute.ReduceOpProduct:
		return Of(compute.OpTypeMul)
	case compute.ReduceOpMax:
		return Of(compute.OpTypeMax)
	case compute.ReduceOpMin:
		return Of(compute.OpTypeMin)
	}
	return Of(compute.OpTypeInvalid)
}

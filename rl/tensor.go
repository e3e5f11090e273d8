package rl

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/gotype"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/internal/copies"
	"github.com/weft-rl/weft/internal/total"
)

// How values and graphs go together.
//
// rl.Tensor is a value while the loop runs and a GoMLX graph node while a graph function is traced.
// One struct type of tensors (Sample, ActOut) therefore names what a function takes both where the
// loop calls it and where its arithmetic is written, and the same loop can later be traced as a
// whole. It is immutable.
//
//   - rl.Func is a graph function. It is traced and compiled once for every combination of input
//     shapes; Call on values runs the program, Call on nodes builds into the caller's graph.
//     rl.Loss gives a loss and a weight per row; Grad differentiates their weighted sum and returns
//     sums and weight separately, so that gradients of several learners add up exactly;
//     rl.Opt.Apply divides, clips and steps. The gradient and its application are separate
//     operations because distribution cuts between them.
//   - rl.Params are GoMLX variables under one scope of a store: any GoMLX layer works in a graph
//     function through Ctx.Scope. Graph functions only read them; what is not made by NewParams is
//     an error.
//   - Structs of tensors are taken apart by a codec that is worked out once per type
//     (rl/leaves.go).
//   - Operations that only move data (Select, Stack, Gather, ...) are plain Go on values and graph
//     code on nodes; what rounds is graph code everywhere, so that there is one definition of it.

// Tensor is a value while the loop runs and a graph node while a graph function
// is traced, so that one struct type serves as argument of both. It is
// immutable: an operation that changes something returns another Tensor. The
// zero Tensor is absent: an optional leaf that is not there.
//
//weft:batch
type Tensor struct {
	node *graph.Node
	val  *value
}

// value is a tensor outside any graph. Exactly one of buf, flat and parts is set:
// flat is memory of Go's, which goes to a device only with the call that uses it, or
// the *later that it will be.
// What it is never changes once it was made, so that it needs no lock; copies only
// remembers where else it is.
type value struct {
	share  *Span         // the rows of a batch of all replicas that these are, where that was shared out
	shape  *shapes.Shape // shared: there are many tensors of few shapes
	dev    *Device       // device that made it, or that it is for; nil for a constant
	buf    compute.Buffer
	flat   any
	parts  *inPart
	only   *string // the graph function that made it of a replica's rows alone; nil elsewhere
	copies copies.Set[*Device]
}

// Wrap makes a graph node a Tensor, to be returned from a graph function.
//
//weft:refuse compute in a graph function
func Wrap(n *graph.Node) Tensor { return Tensor{node: n} }

var scalar32, scalarDouble = shapes.Make(dtypes.Float32), shapes.Make(dtypes.Float64)

// Scalar returns the float32 constant x.
//
//weft:op batch shape=one device=- number=0
func Scalar(x float64) Tensor {
	return Tensor{val: &value{shape: &scalar32, flat: []float32{float32(x)}}}
}

// FromFlat copies data, in row-major order, into a tensor of the given
// dimensions on s's device.
//
//weft:refuse make tensors in the constructor, or from numbers with rl.Scalar
//weft:sizes 2+
func FromFlat[T gotype.Supported](s *Scope, data []T, dims ...int) Tensor {
	shape := shapes.Make(dtypes.FromGenericsType[T](), dims...)
	if shape.Size() != len(data) {
		failf("tensor of shape %s needs %d elements, got %d", shape, shape.Size(), len(data))
	}
	return s.Device().from(data, shape)
}

// Node returns the graph node of a tensor inside a graph function.
//
//weft:refuse compute in a graph function
func (t Tensor) Node() *graph.Node {
	if t.node == nil {
		failf("a tensor's node exists only inside a graph function (tensor is %s)", t.describe())
	}
	return t.node
}

// Ok reports whether the tensor is there: it is false for the zero Tensor.
//
//weft:op batch host rows
func (t Tensor) Ok() bool { return t.node != nil || t.val != nil }

// Shape of the tensor, node or value.
//
//weft:op batch whole host
func (t Tensor) Shape() shapes.Shape {
	switch {
	case t.node != nil:
		return t.node.Shape()
	case t.val != nil:
		return *t.val.shape
	}
	return shapes.Invalid()
}

// Rows returns the size of the first axis, the environments of a batch; 1 for a scalar.
//
//weft:op batch whole host
func (t Tensor) Rows() int {
	if s := t.Shape(); s.Rank() > 0 {
		return s.Dimensions[0]
	}
	return 1
}

// String describes a tensor by kind and shape, not by content.
//
//weft:op batch whole host
func (t Tensor) String() string { return t.describe() }

func (t Tensor) describe() string {
	switch {
	case t.node != nil:
		return fmt.Sprintf("node %s", t.node.Shape())
	case t.val != nil:
		return fmt.Sprintf("value %s", t.val.shape)
	}
	return "absent"
}

// Read returns a tensor's data in row-major order. The slice may be the tensor's own
// memory: it is for reading only.
//
//weft:op batch whole host shows
func Read[T gotype.Supported](t Tensor) []T {
	t.mustBeValue()
	if want := dtypes.FromGenericsType[T](); t.Shape().DType != want {
		failf("tensor holds %s, not %s", t.Shape().DType, want)
	}
	data := bytesOf(t)
	if len(data) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&data[0])), t.val.shape.Size())
}

// Flat does what Read does for a dtype that is known only at run time: a slice of the tensor's
// dtype, for reading only.
func Flat(t Tensor) any { return t.host() }

// Bytes returns a tensor's data as it lies in memory, for reading only. The bytes stay valid and
// unchanged while the tensor is reachable.
func (system) Bytes(t Tensor) []byte {
	t.mustBeValue()
	return bytesOf(t)
}

// memory is a buffer whose bytes can be had without an allocation. This is on
// the way of every check of every step.
type memory interface{ Bytes() []byte }

// bytesOf returns a tensor's data; for reading only, like that of Read.
func bytesOf(t Tensor) []byte {
	if t.val != nil && t.val.buf != nil {
		if m, ok := t.val.buf.(memory); ok {
			return m.Bytes()
		}
	}
	return dtypes.UnsafeByteSliceFromAny(t.host())
}

func (t Tensor) mustBeValue() {
	if t.val == nil {
		failf("%s has no data to read: only a value of the loop has", t.describe())
	}
}

// host returns the tensor's data as a Go slice of its dtype.
func (t Tensor) host() any {
	t.mustBeValue()
	return t.val.memory()
}

// Floats returns a tensor's data as float64, whatever its dtype; bool counts as 0 and 1.
//
//weft:op batch whole host
func Floats(t Tensor) []float64 { return firstFloats(t, t.Shape().Size()) }

// firstFloats returns Floats of the first n elements.
func firstFloats(t Tensor, n int) []float64 {
	t.mustBeValue()
	switch t.Shape().DType {
	case dtypes.Float32:
		return convert(Read[float32](t)[:n])
	case dtypes.Float64:
		return slices.Clone(Read[float64](t)[:n])
	case dtypes.Int32:
		return convert(Read[int32](t)[:n])
	case dtypes.Int64:
		return convert(Read[int64](t)[:n])
	case dtypes.Uint8:
		return convert(Read[uint8](t)[:n])
	case dtypes.Uint32:
		return convert(Read[uint32](t)[:n])
	case dtypes.Uint64:
		return convert(Read[uint64](t)[:n])
	case dtypes.Int8:
		return convert(Read[int8](t)[:n])
	case dtypes.Int16:
		return convert(Read[int16](t)[:n])
	case dtypes.Uint16:
		return convert(Read[uint16](t)[:n])
	case dtypes.Bool:
		return convert(dtypes.UnsafeByteSlice(Read[bool](t)[:n]))
	}
	failf("cannot read %s as numbers", t.Shape())
	return nil
}

func convert[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32](x []T) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

// Total returns the sum of a tensor's elements in float64, and their number. The order
// of summation is written down, so that a device program adds up the same: see
// package total.
func Total(t Tensor) (sum float64, n int) {
	if t.Shape().DType == dtypes.Float32 { // the usual case, of large batches too
		return total.Sum(Read[float32](t)), t.Shape().Size()
	}
	return total.Sum(Floats(t)), t.Shape().Size()
}

// SameMemory reports whether two values share memory. They do only if an operation wrote into a
// result it had returned before.
//
//weft:op batch whole host
func SameMemory(a, b Tensor) bool {
	if a.val == nil || b.val == nil || a.val.shape.Size() == 0 || b.val.shape.Size() == 0 {
		return false
	}
	return &bytesOf(a)[0] == &bytesOf(b)[0]
}

package edge

import "github.com/weft-rl/weft/rl"

// X is a replica's end of all its edges.
type X struct {
	Link
	// Own is the range of the group's axis that the replica owns, of Of things.
	Lo, Hi, Of int
}

// Link carries messages for one replica. A runner provides it. Errors do not
// return to a program: what fails stops it through rl.Fail.
type Link interface{}

// Gather sends this replica's rows; the other end is Gathered.
func Gather[T any](x *X, edge int, v T) {}

// Gathered is the rows of all replicas.
func Gathered[T any](x *X, edge int) (v T) { return v }

// Scatter sends every replica of the other group its rows; the other end is
// Scattered.
func Scatter[T any](x *X, edge int, v T) {}

// Scattered is this replica's rows.
func Scattered[T any](x *X, edge int) (v T) { return v }

// Send sends a value, a batch or a Go number, to every replica of the other group;
// of several senders the first one's counts, all having the same.
func Send[T any](x *X, edge int, v T) {}

// Sent is what Send sent.
func Sent[T any](x *X, edge int) (v T) { return v }

// Publish sends a resource (parameters, statistics) if it has changed since it was
// last published on this edge.
func Publish(x *X, edge int, c rl.Component) {}

// Fetch brings a copy of the resource up to date.
func Fetch(x *X, edge int, c rl.Component) {}

// Reduce sends this replica's part of a gradient; the other end is Reduced.
func Reduce(x *X, edge int, g rl.Grads) {}

// Reduced is the sum of all replicas' gradients, in rank order, for the receiver's
// own parameters.
func Reduced(x *X, edge int) (g rl.Grads) { return g }

// AllReduce is the sum of all replicas' gradients, in rank order.
func AllReduce(x *X, edge int, g rl.Grads) rl.Grads { return g }

// AllGather is the rows of all replicas, for all of them.
func AllGather[T any](x *X, edge int, v T) T { return v }

// Part is this replica's even share of a batch that all replicas have.
func Part[T any](x *X, v T) T { return v }

// LogOnce records what is the same in all replicas, in the first of them alone.
func LogOnce(x *X, run *rl.Run, name string, v rl.Tensor) {}

// OwnRows is this replica's part of what was computed from an AllGather: the rows
// that it gave to it.
func OwnRows[T any](x *X, edge int, v T) T { return v }

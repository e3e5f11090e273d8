package edge

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// The functions of this file are what generated code calls where a part of a loop, or all of
// it, becomes one graph. The author's statements run once, on nodes: loops and branches of
// the device program are For, Until and If, and what only the host knows (schedules, counters)
// comes in by HostFloat, HostBool and Host.

// For makes a loop of a device program: body n times, with the variables that it changes and that
// live on.
func For(run *rl.Run, n int, vars []rl.Carried, body func(i rl.Int)) {
	rl.System.For(run, n, vars, body)
}

// Until does what For does that ends early, after the round in which body returns true, a bool
// scalar.
func Until(run *rl.Run, n int, vars []rl.Carried, body func(i rl.Int) (stop rl.Tensor)) {
	rl.System.Until(run, n, vars, body)
}

// If makes a branch of a device program: one of two bodies, with the variables that they change
// and that live on. A body that is nil does nothing.
func If(run *rl.Run, yes rl.Tensor, vars []rl.Carried, then, otherwise func()) {
	rl.System.If(run, yes, vars, then, otherwise)
}

// Fused does a part of an iteration as one compiled graph, which changes no result. body builds
// it, on nodes; vars are the variables that it takes from the statements around it or leaves to
// them, and of are the members of families that it is for. It reports false where the plain
// statements have to do the work.
func Fused(run *rl.Run, name string, vars []rl.Carried, body func(), of ...int) bool {
	return rl.System.Fused(run, name, vars, body, of...)
}

// KeyAt does what run.Key does with positions that may be indices of a device program's loops.
func KeyAt(run *rl.Run, use string, at ...rl.Int) rl.Key { return rl.System.KeyAt(run, use, at...) }

// ApplyAt does what o.Apply does inside a device program, with a learning rate that may be a graph
// value.
func ApplyAt(o *rl.Opt, g rl.Grads, lr rl.Tensor) { rl.System.ApplyAt(o, g, lr) }

// CountAt does what o.Count does inside a device program, an int64 scalar.
func CountAt(o *rl.Opt) rl.Tensor { return rl.System.CountAt(o) }

// Component returns the component of a name in the run's scope, or nil.
func Component(run *rl.Run, name string) rl.Component {
	return rl.System.Component(run.Scope(), name)
}

// HostFloat returns a number that f computes from the counters of every iteration: a schedule,
// say. It is a float32 scalar.
func HostFloat(run *rl.Run, f func(*rl.Run) float64) rl.Tensor {
	return rl.System.Table(run, dtypes.Float32, f)
}

// HostBool returns a condition that f computes from the counters of every iteration.
func HostBool(run *rl.Run, f func(*rl.Run) bool) rl.Tensor {
	x := rl.System.Table(run, dtypes.Int32, func(run *rl.Run) float64 {
		if f(run) {
			return 1
		}
		return 0
	}).Node()
	return rl.Wrap(graph.NotEqual(x, graph.ZerosLike(x)))
}

// Host returns a number that f computes from the counters of every iteration, for arithmetic
// with numbers that only the device knows.
func Host[N int | int64 | float64](run *rl.Run, f func(*rl.Run) N) rl.Tensor {
	var zero N
	d := dtypes.Int64
	if _, ok := any(zero).(float64); ok {
		d = dtypes.Float64
	}
	return rl.System.Table(run, d, func(run *rl.Run) float64 { return float64(f(run)) })
}

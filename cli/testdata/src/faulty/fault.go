package faulty

import (
	"slices"

	"github.com/gomlx/compute/support/xslices"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/rl"
)

// Fault is the one that is on; empty for none. Tests set it.
var Fault string

// The faults.
const (
	NoCopy      = "copy"    // the learner's weights do not cross
	Reversed    = "gather"  // rows are put together in reverse order
	LocalDraw   = "draw"    // replicas draw by local rows
	GraphDraw   = "graph"   // the collector's graph draws at another position
	NoSum       = "reduce"  // gradients of learners are not summed
	NoLog       = "log"     // a metric is not logged
	NoFetch     = "deadly"  // a receiver does not receive
	LoweredDraw = "lowered" // the device program draws at another position
	SplitDraw   = "split"   // the loop itself draws by local rows, which a compiler would refuse
)

// turn reverses the rows of what was gathered.
func turn[T any](v T) T {
	if Fault != Reversed {
		return v
	}
	return rl.Map(v, func(t rl.Tensor) rl.Tensor {
		rows := xslices.Iota(0, t.Rows())
		slices.Reverse(rows)
		return rl.Gather(t, 1, rows)
	})
}

// key is that of the collector's draws.
func key(run *rl.Run, i int) rl.Key {
	if Fault == LocalDraw {
		return local(run, i)
	}
	return run.Key("act", i)
}

// drawn is the key of the loop's own draws, and of those of its learners.
func drawn(run *rl.Run, i int) rl.Key {
	if Fault == SplitDraw {
		return local(run, i)
	}
	return run.Key("act", i)
}

// local is a key that does not know which environments a replica has.
func local(run *rl.Run, i int) rl.Key {
	return run.Scope().Key("act").Fold(uint64(run.Iter())).Fold(uint64(i))
}

// keyAt is that of draws of a graph that a fault is in.
func keyAt(run *rl.Run, i rl.Int, fault string) rl.Key {
	if Fault == fault {
		return edge.KeyAt(run, "action", i)
	}
	return edge.KeyAt(run, "act", i)
}

// reduced are the gradients of all learners.
func reduced(x *edge.X, n int, g rl.Grads) rl.Grads {
	if Fault == NoSum {
		return g
	}
	return edge.AllReduce(x, n, g)
}

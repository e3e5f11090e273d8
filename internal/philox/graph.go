package philox

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/internal/subgraph"
)

// UnitNode does what Unit does.
func UnitNode(x *graph.Node) *graph.Node {
	odd := graph.AddScalar(graph.MulScalar(graph.BitwiseShiftRightLogicalScalar(x, 9), 2), 1)
	// Through int32, which is exact below 2^24 and which every backend converts.
	f := graph.ConvertDType(graph.ConvertDType(odd, dtypes.Int32), dtypes.Float32)
	return graph.MulScalar(f, 1.0/(1<<24))
}

// trip is how many rounds a trip makes where Philox is a loop: the more, the
// fewer trips; the fewer, the less to compile.
const trip = 2

// Nodes returns Block. Where rolls is true its rounds are a loop of the graph.
func Nodes(c [4]*graph.Node, k [2]*graph.Node, rolls bool) [4]*graph.Node {
	if !rolls {
		c, _ = some(rounds, c, k)
		return c
	}
	state := append(c[:], k[:]...)
	return [4]*graph.Node(subgraph.Repeat(c[0].Graph(), rounds/trip, state, func(_ *graph.Node, now []*graph.Node) []*graph.Node {
		c, k := some(trip, [4]*graph.Node(now), [2]*graph.Node(now[4:]))
		return append(c[:], k[:]...)
	}))
}

// some makes n rounds of Philox, and the key of the next.
func some(n int, c [4]*graph.Node, k [2]*graph.Node) ([4]*graph.Node, [2]*graph.Node) {
	for range n {
		hi0, lo0 := mul32(c[0], mul0)
		hi1, lo1 := mul32(c[2], mul1)
		c = [4]*graph.Node{
			graph.BitwiseXor(graph.BitwiseXor(hi1, c[1]), k[0]), lo1,
			graph.BitwiseXor(graph.BitwiseXor(hi0, c[3]), k[1]), lo0,
		}
		k[0] = graph.AddScalar(k[0], uint32(weyl0))
		k[1] = graph.AddScalar(k[1], uint32(weyl1))
	}
	return c, k
}

// mul32 returns the 64-bit product of x and m, as two words.
func mul32(x *graph.Node, m uint32) (hi, lo *graph.Node) {
	p := graph.Mul(graph.ConvertDType(x, dtypes.Uint64), graph.Const(x.Graph(), uint64(m)))
	hi = graph.ConvertDType(graph.BitwiseShiftRightLogicalScalar(p, 32), dtypes.Uint32)
	return hi, graph.Mul(x, graph.Const(x.Graph(), m))
}

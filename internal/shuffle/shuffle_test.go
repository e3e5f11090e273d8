package shuffle

import (
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/engine"
)

// TestOrder: At, Fill and the graph give the same order, and every number is in it once.
func TestOrder(t *testing.T) {
	b, err := engine.New("threads=1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Finalize)
	key := [Words]uint32{0x12345678, 0x9abcdef0, 3, 1 << 31, 5, 0xffffffff, 7, 11}
	for _, n := range []int{1, 5, 64, 100, 513, 4096} {
		p := New(n, key)
		filled := make([]int, n)
		p.Fill(filled, 0)
		positions := make([]uint32, n)
		for j := range positions {
			positions[j] = uint32(j)
			if at := p.At(j); at != filled[j] {
				t.Fatalf("%d things: position %d is %d, filled in %d", n, j, at, filled[j])
			}
		}
		exec := graph.MustNewExec(b, func(x *graph.Node) *graph.Node {
			var words [Words]*graph.Node
			for i, w := range key {
				words[i] = graph.Const(x.Graph(), w)
			}
			return Nodes(n, words, x)
		})
		for j, at := range exec.MustCall(positions)[0].Value().([]int32) {
			if int(at) != filled[j] {
				t.Fatalf("%d things: position %d is %d, as a graph %d", n, j, filled[j], at)
			}
		}
		slices.Sort(filled)
		for i, x := range filled {
			if i != x {
				t.Fatalf("%d things: %d is missing, or there twice", n, i)
			}
		}
	}
}

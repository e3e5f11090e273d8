package blocks

import (
	"reflect"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/engine"
	"github.com/weft-rl/weft/internal/subgraph"
)

// run computes the results of a graph function of one vector.
func run(t *testing.T, f func(x *graph.Node) []*graph.Node, x []float32) (out []any) {
	t.Helper()
	b, err := engine.New("threads=1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Finalize)
	for _, y := range graph.MustNewExec(b, f).MustCall(x) {
		out = append(out, y.Value())
	}
	return out
}

// TestLoop: rounds put their items one after another, and absent leaves stay absent.
func TestLoop(t *testing.T) {
	got := run(t, func(x *graph.Node) []*graph.Node {
		g := x.Graph()
		round := func(x, i *graph.Node) Block {
			at := graph.AddScalar(graph.ConvertDType(i, x.DType()), 10)
			return Join([]Block{One([]*graph.Node{x, nil}), One([]*graph.Node{graph.Add(x, graph.BroadcastToShape(at, x.Shape())), nil})})
		}
		seen := round(x, graph.Const(g, int32(0)))
		if len(seen.Present()) != 1 || seen.Items != 2 {
			t.Errorf("a round puts %+v", seen)
		}
		room := subgraph.Repeat(g, 3, seen.Room(g, 3), func(i *graph.Node, now []*graph.Node) []*graph.Node {
			out, rest := round(x, i).Put(g, i, now)
			return append(out, rest...)
		})
		all, rest := seen.Gather(3, room)
		if all.Items != 6 || all.Leaves[1] != nil || len(rest) != 0 {
			t.Errorf("all rounds put %+v", all)
		}
		return all.Present()
	}, []float32{1, 2})
	if want := [][]float32{{1, 2}, {11, 12}, {1, 2}, {12, 13}, {1, 2}, {13, 14}}; !reflect.DeepEqual(got[0], want) {
		t.Errorf("the loop puts %v, want %v", got[0], want)
	}
}

// TestBranch: each arm leaves room for what the other would have put, so that both have as much.
func TestBranch(t *testing.T) {
	got := run(t, func(x *graph.Node) []*graph.Node {
		then, otherwise := Join([]Block{One([]*graph.Node{x}), One([]*graph.Node{x})}), One([]*graph.Node{x})
		s := Sides{Items: [2]int{then.Items, otherwise.Items}, Like: then.Leaves}
		made := append(s.Pad(0, then), s.Pad(1, otherwise)...)
		b, rest := s.Take(made)
		if b.Items != 3 || len(rest) != 1 {
			t.Errorf("behind the branch there are %d items", b.Items)
		}
		return made
	}, []float32{4})
	if want := []any{[][]float32{{4}, {4}, {0}}, [][]float32{{0}, {0}, {4}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("the arms put %v, want %v", got, want)
	}
}

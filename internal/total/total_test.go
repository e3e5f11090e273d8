package total

import (
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/engine"
)

// TestSum: Go and the graph add up in the same order, so that they round alike.
func TestSum(t *testing.T) {
	b, err := engine.New("threads=1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Finalize)
	exec := graph.MustNewExec(b, Node)
	for _, n := range []int{1, 2, 3, 7, 64, 1000} {
		x := make([]float32, n)
		exact := 0.
		for i := range x {
			x[i] = 1 / float32(3+i*i%17)
			exact += float64(x[i])
		}
		got, want := Sum(x), exec.MustCall(x)[0].Value().(float64)
		if got != want || got < exact*(1-1e-9) || got > exact*(1+1e-9) {
			t.Errorf("%d numbers: %v, as a graph %v, one after another %v", n, got, want, exact)
		}
	}
	if got := Sum[float64](nil); got != 0 {
		t.Errorf("no numbers add up to %v", got)
	}
}

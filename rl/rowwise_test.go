package rl_test

import (
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/engine"
	"github.com/weft-rl/weft/rl"
)

// centred returns a graph function whose rows look at each other.
func centred(_ *rl.Ctx, x rl.Tensor) rl.Tensor {
	return rl.Wrap(graph.Sub(x.Node(), graph.ReduceAllMean(x.Node())))
}

func doubled(_ *rl.Ctx, x rl.Tensor) rl.Tensor { return rl.Wrap(graph.Add(x.Node(), x.Node())) }

func meanOf(_ *rl.Ctx, x rl.Tensor) rl.Tensor { return rl.Wrap(graph.ReduceAllMean(x.Node())) }

// replicas returns the scopes of k replicas that have n environments between them, on the
// engine, which knows what rows do.
func replicas(t *testing.T, n, k int) []*rl.Scope {
	b, err := engine.New("threads=1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Finalize)
	return shards(rl.NewScope(rl.NewDevice(b), 1), n, k)
}

// TestSplitCall: a function whose rows look at each other is refused on a part of a
// batch, also on a part of one row, and not on the whole.
func TestSplitCall(t *testing.T) {
	for _, k := range []int{1, 2, 4} {
		s := replicas(t, 4, k)[0]
		x := floats(s, make([]float64, 4/k), 4/k)
		rl.NewFunc(s, "doubled", doubled).Call(rl.Key{}, x)
		call := func() { rl.NewFunc(s, "centred", centred).Call(rl.Key{}, x) }
		if k == 1 {
			call()
			continue
		}
		fails(t, call, `graph function "centred" (rl_test.centred) looks across rows: ReduceSum of (Float32)[13] is over rows`)
		rl.NewFunc(s, "centred", centred).Call(rl.Key{}, floats(s, make([]float64, 4), 4)) // all rows, gathered
	}
}

// TestSplitScalar: what a function makes of all rows may be logged by a replica that
// has some of them, and nothing else.
func TestSplitScalar(t *testing.T) {
	s := replicas(t, 4, 2)[1]
	run := rl.NewRun(s, 1, nil)
	m := rl.NewFunc(s, "mean", meanOf).Call(rl.Key{}, floats(s, []float64{1, 2}, 2))
	run.Log("mean", m)
	const why = `a result of graph function "mean" that has no rows is `
	fails(t, func() { run.Value(m) }, why+"read by run.Value")
	fails(t, func() { rl.NewFunc(s, "doubled", doubled).Call(rl.Key{}, m) }, why+`given to graph function "doubled"`)
	whole := scope(t)
	m = rl.NewFunc(whole, "mean", meanOf).Call(rl.Key{}, floats(whole, []float64{1, 2}, 2))
	if got := rl.NewRun(whole, 1, nil).Value(m); got != 1.5 {
		t.Errorf("the mean is %v", got)
	}
}

// TestSplitLoss: a loss whose rows look at each other is refused where gradients of
// several learners are added up, with all rows of a minibatch and with some.
func TestSplitLoss(t *testing.T) {
	type sample struct{ X, Y rl.Tensor }
	build := func(across bool) func(k, rows int) func() {
		return func(k, rows int) func() {
			s := replicas(t, 4, k)[0]
			p := params(s, "net", 2, 1)
			l := rl.NewLoss(s, "fit", func(c *rl.Ctx, in sample) (loss, weight, aux rl.Tensor) {
				e := graph.Sub(graph.Squeeze(linear(c, p, in.X.Node(), 1), 1), in.Y.Node())
				if across {
					e = graph.Sub(e, graph.ReduceAllMean(e))
				}
				return rl.Wrap(graph.Square(e)), rl.Tensor{}, rl.Wrap(graph.ReduceAllMean(e))
			}, p)
			in := sample{floats(s, make([]float64, 2*rows), rows, 2), floats(s, make([]float64, rows), rows)}
			return func() { l.Grad(rl.Key{}, in) }
		}
	}
	for _, rows := range []int{1, 2, 3, 4} {
		build(false)(2, rows)()
		build(true)(1, rows)()
		fails(t, build(true)(2, rows), `loss "fit" (rl_test.TestSplitLoss`)
	}
}

// TestSplitOnce: a function is checked once for all numbers of rows.
func TestSplitOnce(t *testing.T) {
	s := replicas(t, 64, 2)[0]
	traced := 0
	f := rl.NewFunc(s, "counted", func(c *rl.Ctx, x rl.Tensor) rl.Tensor { traced++; return doubled(c, x) })
	for rows := 1; rows <= 5; rows++ {
		for range 3 {
			f.Call(rl.Key{}, floats(s, make([]float64, rows), rows))
		}
	}
	if traced != 6 {
		t.Errorf("traced %d times for 5 numbers of rows, want once more than that", traced)
	}
}

// TestDeclared: an error names the author's function.
func TestDeclared(t *testing.T) {
	s := replicas(t, 4, 2)[0]
	f := rl.NewFunc(s, "method", wide{}.centred)
	err := rl.Catch(func() error { f.Call(rl.Key{}, floats(s, []float64{1, 2}, 2)); return nil })
	if err == nil || !strings.Contains(err.Error(), "(rl_test.wide.centred)") || !strings.Contains(err.Error(), "rowwise_test.go:") {
		t.Error(err)
	}
}

type wide struct{}

func (wide) centred(c *rl.Ctx, x rl.Tensor) rl.Tensor { return centred(c, x) }

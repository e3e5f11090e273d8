package edge_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
	"go.uber.org/goleak"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) }

const (
	many = "many"
	one  = "one"
)

// world is k replicas of group many, which share out n rows, and one of group one.
type world struct {
	top    *edge.Topology
	link   *edge.Local
	scopes []*rl.Scope
	x      []*edge.X
	stop   context.CancelCauseFunc
}

func newWorld(t *testing.T, k, n, queue int, async *edge.Async, edges ...plan.Edge) *world {
	t.Helper()
	queues := make([]int, len(edges)+edge.Control)
	for i := range queues {
		queues[i] = queue
	}
	return newQueues(t, k, n, queues, async, edges...)
}

var errDone = errors.New("done")

func newQueues(t *testing.T, k, n int, queues []int, async *edge.Async, edges ...plan.Edge) *world {
	t.Helper()
	dev, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	own := make([]rl.Span, k)
	for r := range own {
		lo, hi := rl.System.Shard(n, 1, r, k)
		own[r] = rl.Span{Lo: lo, Hi: hi, Of: n}
	}
	w := &world{stop: stop, top: &edge.Topology{
		Edges: edges, Async: async, Groups: []edge.Members{{Name: many, Own: own}, {Name: one, Own: make([]rl.Span, 1)}},
	}}
	w.link = edge.NewLocal(k+1, queues)
	root := rl.NewScope(dev, 1)
	for i := range k + 1 {
		group, r, s := 0, i, root
		if i == k {
			group, r = 1, 0
		} else {
			s = root.Shard(i, k)
		}
		x, err := edge.New(ctx, w.top, group, r, s, w.link.Link(i))
		if err != nil {
			t.Fatal(err)
		}
		w.scopes, w.x = append(w.scopes, s), append(w.x, x)
	}
	return w
}

// run runs f for every replica and gives their errors.
func (w *world) run(f func(i int, x *edge.X, s *rl.Scope)) []error {
	errs := make([]error, len(w.x))
	var all sync.WaitGroup
	for i := range w.x {
		all.Go(func() {
			errs[i] = rl.Catch(func() error { f(i, w.x[i], w.scopes[i]); return nil })
			if errs[i] != nil {
				w.stop(errs[i])
			}
		})
	}
	all.Wait()
	return errs
}

func (w *world) must(t *testing.T, f func(i int, x *edge.X, s *rl.Scope)) {
	t.Helper()
	if err := errors.Join(w.run(f)...); err != nil {
		t.Fatal(err)
	}
}

type batch struct {
	X     rl.Tensor // [row, 2]
	Flag  rl.Tensor // [row] bool
	Scale rl.Tensor // scalar
	None  rl.Tensor
	Tree  rl.Tree
}

func rowsOf(s *rl.Scope, lo, hi int) batch {
	var x []float32
	var flag []bool
	for i := lo; i < hi; i++ {
		x, flag = append(x, float32(i), float32(i)/2), append(flag, i%3 == 0)
	}
	return batch{
		X: rl.FromFlat(s, x, hi-lo, 2), Flag: rl.FromFlat(s, flag, hi-lo), Scale: rl.Scalar(3),
		Tree: rl.NewTree([]string{"a"}, []rl.Tensor{rl.FromFlat(s, x, hi-lo, 2, 1)}),
	}
}

func same(t *testing.T, what string, got, want batch) {
	t.Helper()
	a, b := rl.Leaves(got), rl.Leaves(want)
	if len(a) != len(b) {
		t.Fatalf("%s: %v, want %v", what, a, b)
	}
	for i := range a {
		if a[i].Ok() != b[i].Ok() || a[i].Ok() && (!a[i].Shape().Equal(b[i].Shape()) || !slices.Equal(rl.Floats(a[i]), rl.Floats(b[i]))) {
			t.Errorf("%s: leaf %d is %v, want %v", what, i, a[i], b[i])
		}
	}
}

// TestRows: what one batch is split into comes together again in its order,
// whatever the number of replicas.
func TestRows(t *testing.T) {
	const n = 11
	for _, k := range []int{1, 2, 3, 5, 8, 11} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			w := newWorld(t, k, n, 1, nil,
				plan.Edge{Name: "up", Operator: fdg.Gather, From: many, To: one},
				plan.Edge{Name: "down", Operator: fdg.Scatter, From: one, To: many},
				plan.Edge{Name: "all", Operator: fdg.AllGather, From: many, To: many},
				plan.Edge{Name: "number", Operator: fdg.Send, From: one, To: many},
				plan.Edge{Name: "first", Operator: fdg.Send, From: many, To: one})
			w.must(t, func(i int, x *edge.X, s *rl.Scope) {
				whole := rowsOf(s, 0, n)
				for round := range 3 {
					if i == k {
						got := edge.Gathered[batch](x, 0)
						same(t, "gathered", got, whole)
						edge.Scatter(x, 1, got)
						edge.Send(x, 3, round)
						if got := edge.Sent[[]string](x, 4); !slices.Equal(got, []string{"0", "x"}) {
							t.Errorf("sent %q", got)
						}
						continue
					}
					mine := rowsOf(s, x.Lo, x.Hi)
					edge.Gather(x, 0, mine)
					same(t, "scattered", edge.Scattered[batch](x, 1), mine)
					all := edge.AllGather(x, 2, mine)
					same(t, "all", all, whole)
					same(t, "own", edge.OwnRows(x, 2, all), mine)
					if got := edge.Sent[int](x, 3); got != round {
						t.Errorf("sent %d, want %d", got, round)
					}
					edge.Send(x, 4, []string{fmt.Sprint(i), "x"})
				}
			})
			if s := w.x[0].Stats()[0]; s.Messages != 3 || s.Bytes == 0 {
				t.Errorf("figures of the gather: %+v", s)
			}
		})
	}
}

// TestUneven: all-gathered parts may have any number of rows, none included.
func TestUneven(t *testing.T) {
	const k = 3
	w := newWorld(t, k, 6, 1, nil, plan.Edge{Name: "all", Operator: fdg.AllGather, From: many, To: many})
	bounds := []int{0, 4, 4, 6}
	w.must(t, func(i int, x *edge.X, s *rl.Scope) {
		if i == k {
			return
		}
		mine := rowsOf(s, bounds[i], bounds[i+1])
		all := edge.AllGather(x, 0, mine)
		same(t, "all", all, rowsOf(s, 0, 6))
		same(t, "own", edge.OwnRows(x, 0, all), mine)
	})
}

func net(s *rl.Scope) *rl.Params {
	return rl.NewParams(s, "net", func(c *rl.Ctx, sc *model.Scope) {
		sc.VariableWithValue("w", []float32{1, 2})
	})
}

type sgd struct{}

func (sgd) Slots() []string { return nil }
func (sgd) Update(p, g *graph.Node, _ []*graph.Node, lr, _ *graph.Node) (*graph.Node, []*graph.Node) {
	return graph.Sub(p, graph.Mul(g, lr)), nil
}

// learner is one parameter vector and the loss w·x by row.
type learner struct {
	p    *rl.Params
	loss *rl.Loss[rl.Tensor, rl.Tensor]
	opt  *rl.Opt
}

func newLearner(s *rl.Scope) *learner {
	l := &learner{p: net(s)}
	l.loss = rl.NewLoss(s, "loss", l.graph, l.p)
	l.opt = rl.NewOpt(s, "sgd", sgd{}, l.p)
	return l
}

func (l *learner) graph(c *rl.Ctx, x rl.Tensor) (loss, weight, aux rl.Tensor) {
	w := c.Scope(l.p).VariableWithValue("w", []float32{1, 2}).NodeValue(c.Graph())
	y := graph.ReduceSum(graph.Mul(x.Node(), graph.ExpandLeftToRank(w, 2)), 1)
	return rl.Wrap(y), rl.Tensor{}, rl.Wrap(y)
}

// TestGradients: parts add up, and copies follow the weights they were made for.
func TestGradients(t *testing.T) {
	const n = 11
	for _, k := range []int{1, 2, 3, 5} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			w := newWorld(t, k, n, 1, nil,
				plan.Edge{Name: "g", Operator: fdg.Reduce, From: many, To: one},
				plan.Edge{Name: "net", Operator: fdg.Broadcast, From: one, To: many},
				plan.Edge{Name: "g2", Operator: fdg.AllReduce, From: many, To: many})
			result := make([][]float32, k+1)
			w.must(t, func(i int, x *edge.X, s *rl.Scope) {
				l := newLearner(s)
				for range 4 {
					if i == k {
						l.opt.Apply(edge.Reduced(x, 0), .1)
						edge.Publish(x, 1, l.p)
						edge.Publish(x, 1, l.p) // unchanged
						continue
					}
					g, _ := l.loss.Grad(rl.Key{}, rowsOf(s, x.Lo, x.Hi).X)
					edge.Reduce(x, 0, g)
					edge.Fetch(x, 1, l.p)
					edge.Fetch(x, 1, l.p)
				}
				if i < k {
					for range 2 {
						g, _ := l.loss.Grad(rl.Key{}, rowsOf(s, x.Lo, x.Hi).X)
						l.opt.Apply(edge.AllReduce(x, 2, g), .1)
					}
				}
				result[i] = slices.Clone(rl.Read[float32](l.p.Tensors()[0]))
			})
			// The mean of the rows is (5, 2.5).
			if got, want := result[k], []float32{1 - 4*.5, 2 - 4*.25}; !near(got, want) {
				t.Errorf("weights %v, want %v", got, want)
			}
			for i := range k {
				if want := []float32{1 - 6*.5, 2 - 6*.25}; !near(result[i], want) || !slices.Equal(result[i], result[0]) {
					t.Errorf("replica %d has weights %v, want %v", i, result[i], want)
				}
			}
		})
	}
}

func near(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return x-y < 1e-5 && y-x < 1e-5 })
}

// TestFailure: the first cause wins, and nobody goes on waiting.
func TestFailure(t *testing.T) {
	cause := errors.New("the wheel came off")
	w := newWorld(t, 3, 3, 1, nil, plan.Edge{Name: "up", Operator: fdg.Gather, From: many, To: one})
	errs := w.run(func(i int, x *edge.X, s *rl.Scope) {
		if i == 1 {
			rl.Fail(cause)
		}
		for {
			if i == 3 {
				edge.Gathered[rl.Tensor](x, 0)
			} else {
				edge.Gather(x, 0, rl.FromFlat(s, []float32{1}, 1))
			}
		}
	})
	for i, err := range errs {
		if !errors.Is(err, cause) || errors.Is(err, edge.ErrStopped) != (i != 1) {
			t.Errorf("replica %d: %v", i, err)
		}
	}
	if !strings.HasPrefix(errs[1].Error(), "edge_test.go:") {
		t.Errorf("no position: %v", errs[1])
	}
}

// TestMisfit: rows that are not shared out are refused.
func TestMisfit(t *testing.T) {
	w := newWorld(t, 2, 4, 1, nil, plan.Edge{Name: "acts", Operator: fdg.Scatter, From: one, To: many})
	errs := w.run(func(i int, x *edge.X, s *rl.Scope) {
		if i == 2 {
			edge.Scatter(x, 0, rowsOf(s, 0, 3))
		} else {
			edge.Scattered[batch](x, 0)
		}
	})
	if errs[2] == nil || !strings.Contains(errs[2].Error(), "acts has 3 rows where the replicas share out 4") {
		t.Errorf("%v", errs[2])
	}
}

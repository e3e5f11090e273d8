package rl_test

import (
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// list observes a loop.
type list []string

func (l *list) Next(int64) { *l = append(*l, "next") }

func (l *list) Operation(op rl.Operation) {
	text := op.Kind + " " + op.Name
	for _, x := range op.In {
		text += " " + x.Name
	}
	*l = append(*l, text)
}

// observed is a loop of graph functions, one of which is for some rows.
type observed struct {
	scope *rl.Scope
	f     *rl.Func[rl.Tensor, rl.Tensor]
	slots *rl.Slots[rl.Tensor]
}

func (o *observed) Train(run *rl.Run) error {
	x := rl.FromFlat(o.scope, []float32{1, 2}, 2)
	for run.Next() {
		y := o.f.Call(rl.Key{}, x)
		o.slots.Set(o.f.Rows(rl.FromFlat(o.scope, []bool{false, true}, 2), rl.Key{}, y))
		run.Log("sum", y)
		o.scope.AddSteps(1)
	}
	return run.Err()
}

func (o *observed) Agent() rl.Agent { return nil }

func newObserved(t *testing.T) *observed {
	t.Helper()
	s := scope(t)
	return &observed{
		scope: s, slots: rl.NewSlots(s, "memory", rl.FromFlat(s, make([]float32, 2), 2)),
		f: rl.NewFunc(s, "double", func(_ *rl.Ctx, x rl.Tensor) rl.Tensor { return rl.Wrap(graph.MulScalar(x.Node(), 2)) }),
	}
}

// TestObserve: an observer sees every operation once, and not what an operation is made
// of.
func TestObserve(t *testing.T) {
	o := newObserved(t)
	var seen list
	rl.System.Observe(o.scope, &seen)
	if err := rl.Train(o, rl.NewRun(o.scope, 2, nil)); err != nil {
		t.Fatal(err)
	}
	once := []string{"next", "rl.Func.Call double ", "rl.Func.Rows double mask ", "rl.Slots.Set memory ", "rl.Run.Log sum sum"}
	if want := slices.Concat(once, once); !slices.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
}

// TestUnobserved: without an observer an operation allocates nothing for it.
func TestUnobserved(t *testing.T) {
	o := newObserved(t)
	x := rl.FromFlat(o.scope, []float32{1, 2}, 2)
	if n := testing.AllocsPerRun(100, func() {
		if o.scope.Observed() != nil {
			t.Error("observed")
		}
		o.slots.Set(x)
	}); n > 2 { // the leaves of two values
		t.Errorf("%v allocations", n)
	}
}

package replay_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// remembered is a step with memory that a learner refreshes.
type remembered struct {
	X      rl.Tensor
	Memory rl.Tensor `replay:"patch"`
}

// insertRemembered inserts a step of two environments, of which the number and the memory are
// 10 step + environment.
func insertRemembered(s *rl.Scope, table *replay.Table[remembered], step int, done bool) {
	x := []float32{float32(10 * step), float32(10*step + 1)}
	table.Insert(remembered{rl.FromFlat(s, x, 2), rl.FromFlat(s, x, 2, 1)}, rl.FromFlat(s, []bool{done, false}, 2))
}

// TestPatch: sequences go on beyond the end of an episode, the last of several values counts, and
// steps that were overwritten are left out.
func TestPatch(t *testing.T) {
	s := scope(t)
	table := replay.NewTable[remembered](s, "table", 8, replay.Options{Sequence: 3})
	for step := range 5 { // the first is overwritten, by the last
		insertRemembered(s, table, step, step == 2)
	}
	index := rl.FromFlat(s, []int64{4, 0, 2}, 3)                                      // steps 2 to 4 of environment 0, 0 to 2, 1 to 3
	table.Patch(index, rl.FromFlat(s, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}, 3, 3, 1)) // 4 is too late
	want := map[float32]float32{10: 7, 20: 8, 30: 9, 40: 3, 11: 11, 21: 21, 31: 31, 41: 41}
	seen := map[float32]bool{}
	for i := range 20 {
		x := table.Sample(rl.NewKey(uint64(i)), 4)
		for j, number := range rl.Read[float32](x.Data.X) {
			if got := rl.Read[float32](x.Data.Memory)[j]; got != want[number] {
				t.Fatalf("memory of %v is %v, want %v", number, got, want[number])
			}
			seen[number] = true
		}
	}
	if len(seen) != len(want) {
		t.Errorf("only %v were drawn", seen)
	}
}

func TestPatchNeedsOneField(t *testing.T) {
	s := scope(t)
	type plain struct{ X rl.Tensor }
	table := replay.NewTable[plain](s, "table", 4, replay.Options{})
	table.Insert(plain{rl.FromFlat(s, []float32{1}, 1)}, rl.FromFlat(s, []bool{false}, 1))
	fails(t, func() { table.Patch(rl.FromFlat(s, []int64{0}, 1), rl.FromFlat(s, []float32{2}, 1)) }, "exactly one field")
}

// patcher fills a table with what random actions do in CartPole, and adds the observations of
// samples to the memory that goes with them.
type patcher struct {
	env   env.Batch
	table *replay.Table[recalled]
	act   *rl.Func[rl.Obs, rl.Tree]
	add   *rl.Func[replay.Sample[recalled], rl.Tensor]
}

type recalled struct {
	Obs    rl.Tree
	Memory rl.Tensor `replay:"patch"`
}

func newPatcher(t *testing.T) (*patcher, *rl.Scope) {
	t.Helper()
	d, err := device.Open(device.Default)
	if err != nil {
		t.Fatal(err)
	}
	s := rl.NewScope(d, 7)
	e, err := env.Open(s, classic.All[0], 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &patcher{
		env: e, table: replay.NewTable[recalled](s, "table", 50, replay.Options{Sequence: 6}),
		act: rl.NewFunc(s, "act", func(c *rl.Ctx, obs rl.Obs) rl.Tree {
			u := c.Uniform("action", 3)
			return rl.One(rl.Wrap(graph.ConvertDType(graph.GreaterThan(u, graph.MulScalar(graph.OnesLike(u), .5)), dtypes.Int32)))
		}),
		add: rl.NewFunc(s, "add", func(c *rl.Ctx, x replay.Sample[recalled]) rl.Tensor {
			memory := x.Data.Memory.Node()
			return rl.Wrap(graph.Add(graph.Add(memory, x.Data.Obs.Leaf("").Node()), c.Uniform("row", memory.Shape().Dimensions...)))
		}),
	}, s
}

func (l *patcher) plain(run *rl.Run) error {
	for run.Next() {
		obs := l.env.Obs()
		for i := range 4 {
			out := l.env.Step(l.act.Call(run.Key("act", i), obs))
			l.table.Insert(recalled{obs.X, obs.X.Leaf("")}, out.Over)
			obs = out.Obs
		}
		if l.table.Ready(3) {
			for u := range 2 {
				s := l.table.Sample(run.Key("sample", u), 5)
				l.table.Patch(s.Index, l.add.Call(run.Key("add", u), s))
			}
		}
	}
	return run.Err()
}

// lowered trains as plain does, as generated code has it.
func (l *patcher) lowered(run *rl.Run) {
	obs := l.env.Obs()
	rl.System.For(run, 4, []rl.Carried{rl.Carry(&obs)}, func(i rl.Int) {
		out := l.env.Step(l.act.Call(rl.System.KeyAt(run, "act", i), obs))
		l.table.Insert(recalled{obs.X, obs.X.Leaf("")}, out.Over)
		obs = out.Obs
	})
	rl.System.If(run, l.table.ReadyAt(3), nil, func() {
		rl.System.For(run, 2, nil, func(u rl.Int) {
			s := l.table.Sample(rl.System.KeyAt(run, "sample", u), 5)
			l.table.Patch(s.Index, l.add.Call(rl.System.KeyAt(run, "add", u), s))
		})
	}, nil)
}

// TestPatchLowered: rows that are patched inside a device program have the bits of those in a loop,
// where sequences overlap, go around the ring and are drawn twice.
func TestPatchLowered(t *testing.T) {
	train := func(with func(l *patcher, run *rl.Run) error) []rl.Array {
		l, s := newPatcher(t)
		run := rl.NewRun(s, 3*4*20, nil)
		if err := with(l, run); err != nil {
			t.Fatal(err)
		}
		st := rl.NewState(s)
		s.Save(st)
		return st.Arrays()
	}
	want := train((*patcher).plain)
	got := train(func(l *patcher, run *rl.Run) error {
		train, err := rl.System.Lower(run, rl.Chunks{Most: 3}, l.lowered)
		if err != nil {
			return err
		}
		return train(func(int64) int64 { return math.MaxInt64 })
	})
	same := func(p, q rl.Array) bool { return p.Name == q.Name && fmt.Sprint(p.Flat) == fmt.Sprint(q.Flat) }
	if !slices.EqualFunc(want, got, same) {
		t.Error("states differ")
	}
}

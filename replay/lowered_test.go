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

// stretch is a step of an environment, for a device program.
type stretch struct {
	Obs    rl.Tree
	Action rl.Tree
	Memory rl.Tensor `replay:"start"`
}

// summary is numbers of a sample that no change of it would leave as they are.
type summary struct{ Data, Memory, Masks, Priority rl.Tensor }

// looper fills sequences with what random actions do in CartPole, whose poles fall
// after some twenty steps, and learns nothing from them.
type looper struct {
	env       env.Batch
	table     *replay.Sequences[stretch]
	act       *rl.Func[rl.Obs, rl.Tree]
	summarise *rl.Func[replay.Sample[stretch], summary]
	how       replay.SequenceOptions
}

func newLooper(t *testing.T, capacity int, how replay.SequenceOptions) (*looper, *rl.Scope) {
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
	return &looper{
		env: e, how: how, table: replay.NewSequences[stretch](s, "table", capacity, how),
		act: rl.NewFunc(s, "act", func(c *rl.Ctx, obs rl.Obs) rl.Tree {
			u := c.Uniform("action", 3)
			return rl.One(rl.Wrap(graph.ConvertDType(graph.GreaterThan(u, graph.MulScalar(graph.OnesLike(u), .5)), dtypes.Int32)))
		}),
		summarise: rl.NewFunc(s, "summarise", func(c *rl.Ctx, x replay.Sample[stretch]) summary {
			masks := graph.Add(graph.ConvertDType(x.Valid.Node(), dtypes.Float32), graph.MulScalar(graph.ConvertDType(x.Learn.Node(), dtypes.Float32), 2))
			row := graph.ConvertDType(graph.Mod(x.Index.Node(), graph.MulScalar(graph.OnesLike(x.Index.Node()), 97)), dtypes.Float32)
			return summary{x.Data.Obs.Leaf(""), x.Data.Memory, rl.Wrap(masks), rl.Wrap(graph.Add(graph.OnePlus(row), x.Prob.Node()))}
		}),
	}, s
}

// insert adds a step. Its memory is the observation before it.
func (l *looper) insert(obs rl.Obs, action rl.Tree, out rl.Step) {
	l.table.Insert(stretch{obs.X, action, obs.X.Leaf("")}, out.Over)
}

func (l *looper) learn(run *rl.Run, k rl.Key) {
	s := l.table.Sample(k, 5)
	m := l.summarise.Call(rl.Key{}, s)
	run.Log("data", m.Data)
	run.Log("memory", m.Memory)
	run.Log("masks", m.Masks)
	run.Log("priority", m.Priority)
	if l.how.Priority {
		l.table.Prioritise(s.Index, m.Priority)
	}
}

func (l *looper) plain(run *rl.Run) error {
	for run.Next() {
		obs := l.env.Obs()
		for i := range 4 {
			action := l.act.Call(run.Key("act", i), obs)
			out := l.env.Step(action)
			l.insert(obs, action, out)
			obs = out.Obs
		}
		if l.table.Ready(3) {
			for u := range 2 {
				l.learn(run, run.Key("sample", u))
			}
		}
	}
	return run.Err()
}

// lowered trains as plain does, as generated code has it.
func (l *looper) lowered(run *rl.Run) {
	obs := l.env.Obs()
	rl.System.For(run, 4, []rl.Carried{rl.Carry(&obs)}, func(i rl.Int) {
		action := l.act.Call(rl.System.KeyAt(run, "act", i), obs)
		out := l.env.Step(action)
		l.insert(obs, action, out)
		obs = out.Obs
	})
	rl.System.If(run, l.table.ReadyAt(3), nil, func() {
		rl.System.For(run, 2, nil, func(u rl.Int) { l.learn(run, rl.System.KeyAt(run, "sample", u)) })
	}, nil)
}

// TestSequencesLowered: sequences inside a device program have the bits of those in a
// loop, and a loop can go on where the program stopped.
func TestSequencesLowered(t *testing.T) {
	for i, how := range []replay.SequenceOptions{
		{Length: 6, Stride: 2, BurnIn: 2}, {Length: 5, Priority: true}, {Length: 8, Stride: 3, BurnIn: 1, Priority: true},
	} {
		t.Run(fmt.Sprintf("%+v", how), func(t *testing.T) {
			const steps = 3 * 4 * 20
			train := func(with func(*looper, *rl.Run) error) (logs [][]rl.Logged, state []rl.Array) {
				l, s := newLooper(t, 100, how)
				run := rl.NewRun(s, steps, func(c rl.Cut) error { logs = append(logs, c.Logs); return nil })
				if err := with(l, run); err != nil {
					t.Fatal(err)
				}
				again := rl.NewRun(s, 2*steps, func(c rl.Cut) error { logs = append(logs, c.Logs); return nil })
				if err := l.plain(again); err != nil {
					t.Fatal(err)
				}
				st := rl.NewState(s)
				s.Save(st)
				return logs, st.Arrays()
			}
			logs, state := train((*looper).plain)
			gotLogs, got := train(func(l *looper, run *rl.Run) error {
				train, err := rl.System.Lower(run, rl.Chunks{Most: 3, Far: i == 0}, l.lowered)
				if err != nil {
					return err
				}
				return train(func(int64) int64 { return math.MaxInt64 })
			})
			if !slices.EqualFunc(logs, gotLogs, slices.Equal[[]rl.Logged]) || len(slices.Concat(logs...)) < 100 {
				t.Errorf("logs\n%v\nwant\n%v", gotLogs, logs)
			}
			same := func(p, q rl.Array) bool { return p.Name == q.Name && fmt.Sprint(p.Flat) == fmt.Sprint(q.Flat) }
			if !slices.EqualFunc(state, got, same) {
				t.Error("states differ")
			}
		})
	}
}

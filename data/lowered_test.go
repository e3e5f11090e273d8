package data_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// looper draws in every way, and logs what it drew.
type looper struct {
	set  *data.Set[replay.Transition]
	look *rl.Func[replay.Sample[replay.Transition], []rl.Tensor]
	wide bool // sequences and episodes too
}

func newLooper(t *testing.T, how data.Options) (*looper, *rl.Scope) {
	t.Helper()
	s := rl.NewScope(algotest.Device(t), 7)
	l := &looper{set: data.New[replay.Transition](s, "data", set(t), how), wide: how.NStep < 2}
	l.look = rl.NewFunc(s, "look", func(_ *rl.Ctx, x replay.Sample[replay.Transition]) (out []rl.Tensor) {
		for _, t := range rl.Leaves(x) {
			if t.Ok() {
				out = append(out, rl.Wrap(graph.ConvertDType(t.Node(), dtypes.Float32)))
			}
		}
		return out
	})
	return l, s
}

func (l *looper) once(run *rl.Run) {
	all := []replay.Sample[replay.Transition]{l.set.Sample(run.Key("sample"), 7)}
	if l.wide {
		all = append(all, l.set.Sequences(run.Key("sequences"), 5, 3), l.set.Episodes(run.Key("episodes"), 2))
	}
	for i, s := range all {
		for j, x := range l.look.Call(rl.Key{}, s) {
			run.Log(fmt.Sprint(i, j), x)
		}
	}
}

// TestLowered: a set inside a device program draws what it draws in a loop, on the device and,
// where it is too large for that, on the host.
func TestLowered(t *testing.T) {
	for _, how := range []data.Options{{}, {Discount: .9}, {NStep: 3, Discount: .5}, {OnDevice: -1}, {OnDevice: 200}, {NStep: 3, Discount: .5, OnDevice: -1}} {
		t.Run(fmt.Sprintf("%+v", how), func(t *testing.T) {
			train := func(with func(*looper, *rl.Run) error) (logs [][]rl.Logged) {
				l, s := newLooper(t, how)
				run := rl.NewRun(s, 20, func(c rl.Cut) error { logs = append(logs, c.Logs); return nil })
				if err := with(l, run); err != nil {
					t.Fatal(err)
				}
				if run.Steps() != 20 {
					t.Errorf("%d steps, want one for each of 20 iterations", run.Steps())
				}
				return logs
			}
			want := train(func(l *looper, run *rl.Run) error {
				for run.Next() {
					l.once(run)
				}
				return run.Err()
			})
			got := train(func(l *looper, run *rl.Run) error {
				train, err := rl.System.Lower(run, rl.Chunks{Most: 3}, l.once)
				if err != nil {
					return err
				}
				return train(func(int64) int64 { return math.MaxInt64 })
			})
			if !slices.EqualFunc(got, want, slices.Equal[[]rl.Logged]) || len(slices.Concat(want...)) < 100 {
				t.Errorf("logs\n%v\nwant\n%v", got, want)
			}
		})
	}
}

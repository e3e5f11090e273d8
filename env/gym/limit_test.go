package gym

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/envtest"
	"github.com/weft-rl/weft/env/wrap"
	"github.com/weft-rl/weft/rl"
)

// limited returns an environment of PettingZoo with a time limit from here.
func limited(t testing.TB, id string, n int) env.Entry {
	return wrap.Entry(zoo(t, id), wrap.List{wrap.TimeLimit(n)}, "")
}

// With a limit, agents that leave and return, and agents that act in turn, keep
// the contract: snapshots in the middle of an episode included.
func TestZooLimitConformance(t *testing.T) {
	needs(t, "pettingzoo")
	t.Parallel()
	for _, c := range []struct {
		id string
		n  int
	}{{herd, 5}, {rounds, 4}} {
		t.Run(c.id, func(t *testing.T) {
			t.Parallel()
			o := withZoo(t, func(o *ZooOptions) { o.Workers = 1 })
			envtest.Run(t, limited(t, c.id, c.n), envtest.Steps(25), envtest.With(o))
		})
	}
}

// At the limit all who are in play are cut off where they are, who has just come
// as well; who has left before stays terminated.
func TestZooLimit(t *testing.T) {
	needs(t, "pettingzoo")
	t.Parallel()
	s := newScope(t, 1)
	g, err := env.OpenGroups(s, limited(t, herd, 2), 1, withZoo(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	var x []rl.Step
	for i, sheep := range [][]int32{{3, 1, 1}, {1, 2, 1}} { // the first leaves, the third comes after the second step
		x = g.Step([]rl.Tree{rl.One(rl.FromFlat(s, sheep, 1, 3)), rl.One(rl.FromFlat(s, []int32{int32(i)}, 1))})
		if over := rl.Read[bool](x[0].Over)[0]; over != (i == 1) {
			t.Fatalf("after step %d the episode is over: %v", i+1, over)
		}
	}
	for _, c := range []struct {
		what, got, want string
	}{
		{"sheep terminated", fmt.Sprint(rl.Read[bool](x[0].Terminated)), "[true false false]"},
		{"sheep truncated", fmt.Sprint(rl.Read[bool](x[0].Truncated)), "[false true true]"},
		{"sheep in play at the end", fmt.Sprint(rl.Read[bool](x[0].Final.Alive)), "[false true true]"},
		{"sheep in play after it", fmt.Sprint(rl.Read[bool](x[0].Obs.Alive)), "[true true false]"},
		{"rewards", fmt.Sprint(rl.Read[float32](x[0].Reward)), "[0 2 0]"},
		{"dog's end", fmt.Sprint(rl.Read[bool](x[1].Terminated), rl.Read[bool](x[1].Truncated)), "[false] [true]"},
		{"dog's last observation", fmt.Sprint(rl.Read[int32](x[1].Final.X.At(0)), rl.Read[bool](x[1].Final.Legal.At(0))), "[2] [false false true true]"},
		{"dog's first observation", fmt.Sprint(rl.Read[int32](x[1].Obs.X.At(0)), rl.Read[bool](x[1].Obs.Legal.At(0))), "[0] [true true false false]"},
		{"time at the end", fmt.Sprint(rl.Read[float32](x[0].Final.State)[0], rl.Read[float32](x[0].Final.X.At(0))[2]), "2 3"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.what, c.got, c.want)
		}
	}
	for _, spec := range g.Spec() {
		if spec.Limit != 2 {
			t.Errorf("%s: limit %d", spec.Kind, spec.Limit)
		}
	}
}

// A limit that is longer than the environment's own changes nothing, nor does the
// number of workers.
func TestZooLimitLonger(t *testing.T) {
	needs(t, "pettingzoo")
	t.Parallel()
	s, g := openZoo(t, herd, 3, withZoo(t, nil))
	want := playZoo(s, g, 0, 30)
	for workers := 1; workers <= 2; workers++ {
		u := newScope(t, 1)
		h, err := env.OpenGroups(u, limited(t, herd, 13), 3, withZoo(t, func(o *ZooOptions) { o.Workers = workers }))
		if err != nil {
			t.Fatal(err)
		}
		if got := playZoo(u, h, 0, 30); !slices.Equal(got, want) {
			t.Errorf("with %d workers and a limit beyond all episodes, they differ", workers)
		}
	}
}

package env_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/rl"
)

func openGroups(t *testing.T, s *rl.Scope, e env.Entry, n int) env.Groups {
	t.Helper()
	g, err := env.OpenGroups(s, e, n, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// actions returns random ones of step i.
func actions(s *rl.Scope, g env.Groups, i int) []rl.Tree {
	return env.SampleGroups(s, g.Spec(), g.Obs(), rl.NewKey(7).Fold(uint64(i)))
}

// play returns the rewards of some random steps, as text.
func play(s *rl.Scope, g env.Groups, steps int) string {
	var out strings.Builder
	for i := range steps {
		for _, x := range g.Step(actions(s, g, i)) {
			fmt.Fprint(&out, rl.Floats(x.Reward))
		}
	}
	return out.String()
}

// A return is the sum over all agents of all kinds, and each kind's part is known.
func TestReturns(t *testing.T) {
	s := newScope(t)
	g := openGroups(t, s, debug.Kinds, 2)
	var sum [2][2]float64
	for i := range debug.Length {
		for k, x := range g.Step(actions(s, g, i)) {
			r := rl.Floats(x.Reward)
			for j, v := range r {
				sum[j*2/len(r)][k] += v
			}
		}
	}
	episodes := rl.System.TakeEpisodes(s.Episodes())
	if len(episodes) != 2 || s.Steps() != 2*debug.Length {
		t.Fatalf("%d episodes, %d steps", len(episodes), s.Steps())
	}
	for i, e := range episodes {
		if !slices.Equal(e.Kinds, sum[i][:]) || e.Return < sum[i][0]+sum[i][1]-1e-9 || e.Return > sum[i][0]+sum[i][1]+1e-9 {
			t.Errorf("episode %+v, want the sum of %v", e, sum[i])
		}
	}
	if got := rl.System.KindNames(s.Episodes()); !slices.Equal(got, []string{"symbol", "number"}) {
		t.Errorf("kinds %q", got)
	}
}

// A batch is groups of one kind, and the other way round; several kinds are no
// batch.
func TestOpenKinds(t *testing.T) {
	s := newScope(t)
	if g := openGroups(t, s, debug.Identity, 3); len(g.Spec()) != 1 || len(g.Obs()) != 1 {
		t.Error("an entry of batches is not one kind")
	}
	only := env.Entry{ID: "Identity-v0", NewGroups: func(s *rl.Scope, n int, _ any) (env.Groups, error) {
		b, err := debug.Identity.New(s, n, debug.Identity.Options())
		return env.AsGroups(b), err
	}}
	b, err := env.Open(newScope(t), only, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := play(s, env.AsGroups(b), 5), play(s, openGroups(t, newScope(t), debug.Identity, 3), 5); got != want {
		t.Errorf("as groups and back: %s, want %s", got, want)
	}
	_, err = env.Open(newScope(t), debug.Kinds, 3, nil)
	if want := "environment Kinds-v0: it has 2 kinds of agents (symbol, number): use an algorithm for several kinds"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, err = env.Open(newScope(t), env.Entry{ID: "none"}, 3, nil); err == nil {
		t.Error("an entry that makes nothing was opened")
	}
}

// Every agent as a kind sees and gets what it does among its own.
func TestEach(t *testing.T) {
	s := newScope(t)
	g := openGroups(t, s, debug.Kinds, 3)
	e := env.Each(openGroups(t, newScope(t), debug.Kinds, 3))
	var names []string
	for _, spec := range e.Spec() {
		names = append(names, spec.Kind)
		if spec.Agents > 1 || spec.Envs != 3 {
			t.Errorf("spec %+v", spec)
		}
	}
	if want := []string{"symbol 0", "symbol 1", "symbol 2", "number"}; !slices.Equal(names, want) {
		t.Errorf("kinds %q, want %q", names, want)
	}
	for i := range 40 {
		joint := actions(s, g, i)
		var apart []rl.Tree
		for j := range 3 {
			apart = append(apart, rl.One(rl.Column(joint[0].At(0), j)))
		}
		want, got := g.Step(joint), e.Step(append(apart, joint[1]))
		for j := range 3 {
			same(t, got[j], rl.Step{
				Obs: agent(want[0].Obs, j), Final: agent(want[0].Final, j), Reward: rl.Column(want[0].Reward, j),
				Terminated: rl.Column(want[0].Terminated, j), Truncated: rl.Column(want[0].Truncated, j), Over: want[0].Over,
			})
		}
		same(t, got[3], want[1])
		same(t, e.Obs()[0], got[0].Obs)
	}
	fails(t, func() { e.Step(actions(s, g, 0)) }, "2 actions for 4 agents")
	if one := openGroups(t, newScope(t), debug.Identity, 3); env.Each(one) != one {
		t.Error("one agent was made apart")
	}
}

func agent(o rl.Obs, j int) rl.Obs {
	o.X, o.Alive = rl.One(rl.Column(o.X.At(0), j)), rl.Column(o.Alive, j)
	return o
}

// same compares structs of tensors.
func same[T any](t *testing.T, got, want T) {
	t.Helper()
	a, b, names := rl.Leaves(got), rl.Leaves(want), rl.LeafNames(got)
	for i := range b {
		switch {
		case a[i].Ok() != b[i].Ok():
			t.Errorf("%s is there: %v, want %v", names[i], a[i].Ok(), b[i].Ok())
		case a[i].Ok() && (!a[i].Shape().Equal(b[i].Shape()) || !slices.Equal(rl.Floats(a[i]), rl.Floats(b[i]))):
			t.Errorf("%s is %v, want %v", names[i], rl.Floats(a[i]), rl.Floats(b[i]))
		}
	}
}

// Two environments in a scope: their steps count together, their draws and
// episodes are their own, and both are saved.
func TestOpenAs(t *testing.T) {
	s := newScope(t)
	a := openGroups(t, s, debug.Identity, 2)
	b, err := env.OpenGroupsAs(s, "other", debug.Identity, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if play(s, a, 20) == play(s, b, 20) {
		t.Error("both draw the same numbers")
	}
	if s.Steps() != 80 || s.Episodes().Count() != 2 || s.EpisodesOf("other").Count() != 2 {
		t.Errorf("%d steps, %d and %d episodes", s.Steps(), s.Episodes().Count(), s.EpisodesOf("other").Count())
	}
	state := rl.NewState(s)
	s.Save(state)
	want := play(s, b, 20)
	again := newScope(t)
	openGroups(t, again, debug.Identity, 2)
	if b, err = env.OpenGroupsAs(again, "other", debug.Identity, 2, nil); err != nil {
		t.Fatal(err)
	}
	if err := again.Load(state); err != nil {
		t.Fatal(err)
	}
	if play(again, b, 20) != want {
		t.Error("the second is not what was saved")
	}
	if _, err := env.OpenAs(s, "other", debug.Identity, 2, nil); err == nil {
		t.Error("two have one name")
	}
}

// fakes are groups of fake batches.
type fakes struct {
	*fake
	other *fake
}

func (g fakes) Spec() []env.Spec         { return []env.Spec{g.fake.spec, g.other.spec} }
func (g fakes) Obs() []rl.Obs            { return []rl.Obs{g.fake.first, g.other.first} }
func (g fakes) Step([]rl.Tree) []rl.Step { return []rl.Step{g.fake.step, g.other.step} }

func TestGuardGroups(t *testing.T) {
	for _, x := range []struct {
		name  string
		spoil func(s *rl.Scope, g fakes)
		want  string // "" is no failure
	}{
		{"good", func(*rl.Scope, fakes) {}, ""},
		{"range", func(s *rl.Scope, g fakes) {
			g.other.step.Obs.X = set(g.other.step.Obs.X, "pos", numbers(s, 2, 1.5, rows, 2))
		}, `environment Fake-v0: kind b: observation "pos" of environment 11 is 1.5`},
		{"over", func(s *rl.Scope, g fakes) { g.other.step.Over = rl.FromFlat(s, []bool{true, false, false}, rows) },
			"kind b: over is not that of the kind before"},
		{"no name", func(_ *rl.Scope, g fakes) { g.other.spec.Kind = "" }, "kind 1 of its agents has no name"},
		{"same name", func(_ *rl.Scope, g fakes) { g.other.spec.Kind = "a" }, `two kinds of agents are called "a"`},
		{"limits", func(_ *rl.Scope, g fakes) { g.other.spec.Limit = 3 }, "disagree about the environment's own properties"},
		{"wrong kind", func(_ *rl.Scope, g fakes) { g.other.spec.Obs = nil }, "kind b: its spec has no observation space"},
		{"state", func(_ *rl.Scope, g fakes) { g.fake.spec.State = 2 }, "kind a: state of the observation has shape"},
		{"secret state", func(s *rl.Scope, g fakes) { g.fake.first.State = numbers(s, 0, 1, rows, 2) },
			"state of the observation has shape (Float32)[3, 2], its spec says that there is none"},
		{"alive", func(_ *rl.Scope, g fakes) { g.fake.spec.Mortal = true }, "alive of the observation has shape"},
		{"turn", func(_ *rl.Scope, g fakes) { g.fake.spec.Turns, g.other.spec.Turns = true, true }, "kind a: turn of the observation has shape"},
		{"secret turn", func(s *rl.Scope, g fakes) { g.fake.first.Turn = rl.FromFlat(s, []bool{true, false, true}, rows) },
			"turn of the observation has shape (Bool)[3], its spec says that there is none"},
		{"turns of one kind", func(_ *rl.Scope, g fakes) { g.other.spec.Turns = true }, "disagree about the environment's own properties"},
		{"rewarded dead", func(s *rl.Scope, g fakes) {
			g.fake.spec.Mortal = true
			for _, o := range []*rl.Obs{&g.fake.first, &g.fake.step.Obs, &g.fake.step.Final} {
				o.Alive = rl.FromFlat(s, []bool{true, false, true}, rows)
			}
			g.fake.step.Reward = numbers(s, 1, .5, rows)
		}, "agent 0 of environment 11 is out of play and gets a reward of 0.5"},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := newScope(t)
			g := fakes{newFake(s), newFake(s)}
			g.fake.spec.Kind, g.other.spec.Kind = "a", "b"
			x.spoil(s, g)
			entry := env.Entry{ID: "Fake-v0", NewGroups: func(*rl.Scope, int, any) (env.Groups, error) { return g, nil }}
			opened, err := env.OpenGroups(s, entry, 20, nil)
			if err != nil {
				if x.want == "" || !strings.Contains(err.Error(), x.want) {
					t.Errorf("failed with %v, want ...%s...", err, x.want)
				}
				return
			}
			fails(t, func() { opened.Step([]rl.Tree{g.fake.act(), g.other.act()}) }, x.want)
		})
	}
}

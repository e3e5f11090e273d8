package gym

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/envtest"
	"github.com/weft-rl/weft/env/mpe"
	"github.com/weft-rl/weft/rl"
)

const herd, rounds = "weft_test_zoo", "weft_test_zoo:Rounds"

// zoo returns an environment of PettingZoo.
func zoo(t testing.TB, id string) env.Entry { return shared(t, "zoo:"+id, id, Zoo) }

// withZoo returns the default options, changed; args are keyword arguments.
func withZoo(t testing.TB, change func(*ZooOptions), args ...string) *ZooOptions {
	t.Helper()
	o := zooDefaults().(*ZooOptions)
	if change != nil {
		change(o)
	}
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		if err := o.SetExtra(key, value); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func openZoo(t testing.TB, id string, n int, o *ZooOptions) (*rl.Scope, env.Groups) {
	t.Helper()
	s := newScope(t, 1)
	g, err := env.OpenGroups(s, zoo(t, id), n, o)
	if err != nil {
		t.Fatal(err)
	}
	return s, g
}

// playZoo returns everything that environments show in some steps of random actions.
func playZoo(s *rl.Scope, g env.Groups, from, n int) (out []string) {
	for i := range n {
		x := g.Step(env.SampleGroups(s, g.Spec(), g.Obs(), rl.NewKey(9).Fold(uint64(from+i))))
		out = append(out, sum(rl.Leaves(x)))
	}
	return out
}

// Environments with all agents at once, one after another, of several kinds, and
// with agents that leave and return keep the contract.
func TestZooConformance(t *testing.T) {
	needs(t, "pettingzoo", "mpe2")
	t.Parallel()
	for _, c := range []struct {
		id, mortal string
		opts       []envtest.Option
	}{
		{"mpe2.simple_tag_v3", "no", []envtest.Option{envtest.Steps(30)}},
		{"pettingzoo.classic.connect_four_v3", "no", []envtest.Option{envtest.Steps(45), envtest.Deterministic()}},
		{herd, "auto", []envtest.Option{envtest.Steps(40)}},
	} {
		if testing.Short() && !strings.HasPrefix(c.id, herd) {
			continue // a race detector has seen all there is to see
		}
		t.Run(c.id, func(t *testing.T) {
			t.Parallel()
			o := withZoo(t, func(o *ZooOptions) { o.Workers, o.Mortal = 1, c.mortal })
			envtest.Run(t, zoo(t, c.id), append(c.opts, envtest.With(o))...)
		})
	}
}

// Agents with equal spaces are an axis, others are kinds; what else there is shows
// in the specs.
func TestZooSpecs(t *testing.T) {
	needs(t, "pettingzoo", "mpe2")
	t.Parallel()
	for _, c := range []struct {
		id   string
		o    *ZooOptions
		want string
	}{
		{"mpe2.simple_spread_v3", withZoo(t, nil, "N=4"), "*4 Box(-Inf..+Inf, [24]) Discrete(5) state 96"},
		{"mpe2.simple_spread_v3", withZoo(t, func(o *ZooOptions) { o.State, o.Mortal = false, "yes" }, "N=1"), "*0 Box(-Inf..+Inf, [6]) Discrete(5) mortal"},
		{"mpe2.simple_tag_v3", withZoo(t, nil), "adversary*3 Box(-Inf..+Inf, [16]) Discrete(5) state 62; agent*0 Box(-Inf..+Inf, [14]) Discrete(5) state 62"},
		{"mpe2.simple_crypto_v3", withZoo(t, func(o *ZooOptions) { o.Kinds, o.State = "spaces", false }), "eve*0 Box(-Inf..+Inf, [4]) Discrete(4); bob*2 Box(-Inf..+Inf, [8]) Discrete(4)"},
		{"pettingzoo.classic.tictactoe_v3", withZoo(t, nil), "*2 Box(0..1, [3 3 2]) Discrete(9) masked turns"},
		{"pettingzoo.classic.rps_v2", withZoo(t, nil), "*2 Discrete(4) Discrete(3)"},
		{herd, withZoo(t, nil), "sheep*3 Box(1..30, [2]) Discrete(3 from 1) mortal state 4; dog*0 Discrete(16) Discrete(4) masked state 4"},
		{rounds, withZoo(t, nil), "*3 Box(0..40, [2]) Discrete(4) masked mortal turns"},
	} {
		_, g := openZoo(t, c.id, 1, c.o)
		var got []string
		for _, s := range g.Spec() {
			text := fmt.Sprintf("%s*%d %s %s", s.Kind, s.Agents, s.Obs, s.Action)
			for _, x := range []struct {
				there bool
				name  string
			}{{s.Masked, " masked"}, {s.Mortal, " mortal"}, {s.Turns, " turns"}, {s.State > 0, fmt.Sprint(" state ", s.State)}} {
				if x.there {
					text += x.name
				}
			}
			got = append(got, text)
			if !s.Exact {
				t.Errorf("%s: not exact: %s", c.id, s.Why)
			}
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s: %s\nwant %s", c.id, text, c.want)
		}
	}
}

// The number of processes changes nothing.
func TestZooWorkersSameBits(t *testing.T) {
	needs(t, "pettingzoo", "mpe2")
	t.Parallel()
	for _, id := range []string{"mpe2.simple_tag_v3", rounds} {
		var want []string
		for _, workers := range []int{1, 3} {
			s, g := openZoo(t, id, 5, withZoo(t, func(o *ZooOptions) { o.Workers = workers }))
			got := playZoo(s, g, 0, 60)
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %d workers see something else than one", id, workers)
			}
		}
	}
}

// Who leaves is terminated and gets nothing, sees a blank, and is back when it
// returns; those who are cut off with the rest stand to be valued.
func TestZooLeaving(t *testing.T) {
	needs(t, "pettingzoo")
	t.Parallel()
	s, g := openZoo(t, herd, 1, withZoo(t, nil))
	act := func(sheep ...int32) []rl.Step {
		mask := rl.Read[bool](g.Obs()[1].Legal.At(0))
		return g.Step([]rl.Tree{rl.One(rl.FromFlat(s, sheep, 1, 3)), rl.One(rl.FromFlat(s, []int32{int32(slices.Index(mask, true))}, 1))})
	}
	show := func(o rl.Obs, x rl.Step) string {
		return fmt.Sprint(rl.Read[bool](o.Alive), rl.Read[bool](x.Terminated), rl.Read[bool](x.Truncated), rl.Read[float32](x.Reward), rl.Read[float32](o.X.At(0))[0:6:6][4])
	}
	if got := fmt.Sprint(rl.Read[bool](g.Obs()[0].Alive)); got != "[true true false]" {
		t.Errorf("at first %s", got)
	}
	for i, want := range []string{
		"[false true false] [true false true] [false false false] [3 1 0] 1", // the first leaves; the third is not there yet
		"[false true true] [true false false] [false false false] [0 2 0] 3", // the third comes
		"[true false true] [false true false] [false false false] [0 3 1] 4", // the first is back, the second leaves
		"[true false true] [false true false] [false false false] [1 0 1] 5",
	} {
		sheep := [][]int32{{3, 1, 3}, {3, 2, 1}, {1, 3, 1}, {1, 3, 1}}[i]
		x := act(sheep...)
		if got := show(x[0].Obs, x[0]); got != want {
			t.Errorf("step %d: %s\nwant %s", i+1, got, want)
		}
	}
	for i := 5; i <= 16; i++ {
		x := act(1, 1, 1)
		if !rl.Read[bool](x[0].Over)[0] {
			continue
		}
		cut := rl.Read[bool](x[0].Truncated)[0]
		want := fmt.Sprintf("[%v %[1]v %[1]v]", cut && !rl.Read[bool](x[0].Terminated)[0])
		if got := fmt.Sprint(rl.Read[bool](x[0].Final.Alive)); got != want || fmt.Sprint(rl.Read[bool](x[0].Obs.Alive)) != "[true true false]" {
			t.Errorf("in play at the end: %s, want %s, and then %v", got, want, rl.Read[bool](x[0].Obs.Alive))
		}
		if final := rl.Read[float32](x[0].Final.State); final[0] != float32(i) || rl.Read[float32](x[0].Obs.State)[0] != 0 {
			t.Errorf("state %v after %d steps", final, i)
		}
		return
	}
	t.Error("no episode ended")
}

// From the same first positions, mpe2 through the bridge and the graph environment
// with its dynamics do the same.
func TestZooSpreadIsGraph(t *testing.T) {
	needs(t, "pettingzoo", "mpe2")
	t.Parallel()
	const rows, agents, width = 2, 3, 18
	s, g := openZoo(t, "mpe2.simple_spread_v3", rows, withZoo(t, nil))
	own := newScope(t, 1)
	graph, err := env.OpenGroups(own, mpe.SimpleSpread, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	was, st := rl.NewState(own), rl.NewState(own)
	graph.Save(was)
	for _, a := range was.Arrays() {
		if a.Name == "0" { // positions, of agents and then of landmarks
			a.Flat = positions(rl.Read[float32](g.Obs()[0].X.At(0)), agents, width)
		}
		st.Add(a)
	}
	if err := graph.Load(st); err != nil {
		t.Fatal(err)
	}
	for i := range 25 {
		act := env.SampleGroups(s, g.Spec(), g.Obs(), rl.NewKey(4).Fold(uint64(i)))
		a, b := g.Step(act)[0], graph.Step(act)[0]
		near(t, i, "observation", a.Final.X.At(0), b.Final.X.At(0))
		near(t, i, "state", a.Final.State, b.Final.State)
		near(t, i, "reward", a.Reward, b.Reward)
		if !slices.Equal(rl.Read[bool](a.Truncated), rl.Read[bool](b.Truncated)) {
			t.Errorf("step %d: truncated %v and %v", i, rl.Read[bool](a.Truncated), rl.Read[bool](b.Truncated))
		}
	}
}

// positions returns those that agents see: their own, and the landmarks' from theirs.
func positions(obs []float32, agents, width int) (out []float32) {
	for env := range slices.Chunk(obs, agents*width) {
		for j := range agents {
			out = append(out, env[j*width+2:j*width+4]...)
		}
		for k := range agents {
			out = append(out, env[2]+env[4+2*k], env[3]+env[5+2*k])
		}
	}
	return out
}

// near compares what one computes in 64 bits and the other in 32.
func near(t *testing.T, step int, what string, a, b rl.Tensor) {
	t.Helper()
	x, y := rl.Floats(a), rl.Floats(b)
	for i := range x {
		if math.Abs(x[i]-y[i]) > 1e-4*(1+math.Abs(x[i])) {
			t.Fatalf("step %d: %s %d is %v through the bridge, %v as a graph", step, what, i, x[i], y[i])
		}
	}
}

// A game by turns: one moves, the others have one choice, and all are rewarded.
func TestZooTurns(t *testing.T) {
	needs(t, "pettingzoo", "pygame")
	t.Parallel()
	s, g := openZoo(t, "pettingzoo.classic.connect_four_v3", 1, withZoo(t, nil))
	for move := range 7 {
		o := g.Obs()[0]
		turn, legal := rl.Read[bool](o.Turn), rl.Read[bool](o.Legal.At(0))
		want := append(slices.Repeat([]bool{true}, 7), true, false, false, false, false, false, false)
		if move%2 == 1 {
			want = append(want[7:14:14], want[:7]...)
		}
		if !slices.Equal(turn, []bool{move%2 == 0, move%2 == 1}) || !slices.Equal(legal, want) {
			t.Fatalf("move %d: turn %v, legal %v", move, turn, legal)
		}
		action := []int32{0, 0} // the first player drops into the first column, the second into the next
		action[1] = int32(move % 2)
		x := g.Step([]rl.Tree{rl.One(rl.FromFlat(s, action, 1, 2))})[0]
		stones := 0
		for _, v := range rl.Floats(x.Final.X.At(0)) {
			stones += int(v)
		}
		rewards, over := "[0 0]", move == 6
		if over {
			rewards = "[1 -1]"
		}
		if fmt.Sprint(rl.Read[float32](x.Reward)) != rewards || rl.Read[bool](x.Over)[0] != over || rl.Read[bool](x.Terminated)[1] != over || stones != 2*(move+1) {
			t.Errorf("move %d: rewards %v, over %v, %d stones", move, rl.Floats(x.Reward), rl.Read[bool](x.Over), stones)
		}
	}
	if !rl.Read[bool](g.Obs()[0].First)[0] || rl.Floats(g.Obs()[0].X.At(0))[70] != 0 {
		t.Error("no new game began")
	}
}

// Without masks, whose turn it is may do everything, and the others one thing.
func TestZooTurnsWithoutMasks(t *testing.T) {
	needs(t, "pettingzoo")
	t.Parallel()
	s, g := openZoo(t, "weft_test_zoo:Free", 3, withZoo(t, nil))
	for i := range 40 {
		playZoo(s, g, i, 1)
		turn, legal := rl.Read[bool](g.Obs()[0].Turn), rl.Read[bool](g.Obs()[0].Legal.At(0))
		for j, acts := range turn {
			if want := []bool{true, acts, acts, acts}; !slices.Equal(legal[4*j:4*j+4], want) {
				t.Fatalf("step %d: turn %v, legal %v", i, turn, legal)
			}
		}
	}
	if n := s.Episodes().Count(); n < 3 {
		t.Errorf("%d episodes in 40 steps", n)
	}
}

// What goes wrong is said in a sentence, or with its traceback.
func TestZooFailures(t *testing.T) {
	needs(t, "pettingzoo", "mpe2")
	t.Parallel()
	for _, c := range []struct {
		name, id string
		o        *ZooOptions
		want     string
	}{
		{"module", "no_such_module", withZoo(t, nil), "Python has no module 'no_such_module'"},
		{"nothing there", "collections", withZoo(t, nil), "Python's module collections has no parallel_env and no env"},
		{"no class", "weft_test_zoo:Wolf", withZoo(t, nil), "Python's module weft_test_zoo has no Wolf"},
		{"not of the zoo", "weft_test_envs:Base", withZoo(t, nil), "weft_test_envs:Base makes a Base, which is no ParallelEnv and no AECEnv"},
		{"argument", "mpe2.simple_spread_v3", withZoo(t, nil, "legs=2"), "unexpected keyword argument 'legs'"},
		{"wrapper", herd, withZoo(t, func(o *ZooOptions) { o.Wrappers = []string{"NoSuch"} }), "pettingzoo.utils.wrappers has no wrapper 'NoSuch'"},
		{"raise", herd, withZoo(t, func(o *ZooOptions) { o.Exact, o.Mortal = false, "yes" }, "fail=raise"), "environment 0, at its step 3: RuntimeError: the wolf is here\nTraceback"},
		{"stranger", herd, withZoo(t, func(o *ZooOptions) { o.Exact, o.Mortal = false, "yes" }, "fail=stranger"), "environment 0, at its step 3: agent 'wolf_0' is in play, and none of possible_agents"},
		{"immortal", herd, withZoo(t, func(o *ZooOptions) { o.Mortal = "no" }), "environment 0: agent 'sheep_2' is out of play and the others are not: say mortal=yes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Workers = 1
			s := newScope(t, 1)
			err := rl.Catch(func() error {
				g, err := env.OpenGroups(s, zoo(t, c.id), 2, c.o)
				if err == nil {
					playZoo(s, g, 0, 5)
				}
				return err
			})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(c.want, "Traceback") && strings.Contains(err.Error(), "Traceback") {
				t.Errorf("error %v\nwant ...%s...", err, c.want)
			}
		})
	}
}

// With restarts, all agents of the worker's environments are cut off where they
// were; what cannot be saved goes on with new episodes.
func TestZooRestart(t *testing.T) {
	needs(t, "pettingzoo")
	t.Parallel()
	s, g := openZoo(t, herd, 3, withZoo(t, func(o *ZooOptions) { o.OnFailure, o.Mortal, o.Workers = "restart", "yes", 1 }, "fail=raise", "locked=true"))
	if spec := g.Spec()[0]; spec.Exact || spec.Why == "" {
		t.Errorf("exact %v, because %q", spec.Exact, spec.Why)
	}
	playZoo(s, g, 0, 2)
	before := rl.Floats(g.Obs()[0].X.At(0))
	x := g.Step(env.SampleGroups(s, g.Spec(), g.Obs(), rl.NewKey(3)))
	for k := range x {
		if cut := rl.Read[bool](x[k].Truncated); slices.Contains(cut, false) || slices.Contains(rl.Read[bool](x[k].Over), false) {
			t.Errorf("kind %d: cut off %v", k, cut)
		}
	}
	if final := rl.Floats(x[0].Final.X.At(0)); !slices.Equal(final, before) || rl.Read[float32](x[1].Final.State)[0] != 2 {
		t.Errorf("final %v, before %v, state %v", final, before, rl.Floats(x[1].Final.State))
	}
	if c := rl.System.Counts(s); len(c) != 1 || c[0].X != 3 {
		t.Errorf("counts %v", c)
	}
}

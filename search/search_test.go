package search_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/engine"
	"github.com/weft-rl/weft/rl"
	"github.com/weft-rl/weft/search"
)

func scope(t testing.TB) *rl.Scope {
	b, err := engine.New("threads=1")
	if err != nil {
		t.Fatal(err)
	}
	return rl.NewScope(rl.NewDevice(b), 1)
}

// settings returns the default settings, without noise.
func settings(rule string, simulations int) search.Settings {
	return search.Settings{
		Search: rule, Simulations: simulations, Explore: 1.25, ExploreBase: 19652,
		NoiseAlpha: .3, Considered: 16, ValueScale: .1, VisitOffset: 50,
	}
}

// world is a finite tree of states as tables by state, which a search can look ahead in. Action a
// in state s leads to state s*actions+a+1.
type world struct {
	actions                 int
	logits                  [][]float32
	legal                   [][]bool
	value, reward, discount []float32
}

// random returns a world of a depth whose leaves end the episode, and some other states too.
func random(seed uint64, actions, depth int, discount float32) *world {
	r := rand.New(rand.NewPCG(seed, 0))
	w := &world{actions: actions}
	n, level := 0, 1
	for range depth + 1 {
		for range level {
			logits, legal := make([]float32, actions), make([]bool, actions)
			for a := range logits {
				logits[a], legal[a] = float32(2*r.NormFloat64()), r.IntN(4) > 0
			}
			legal[r.IntN(actions)] = true
			w.logits, w.legal = append(w.logits, logits), append(w.legal, legal)
			w.value = append(w.value, float32(2*r.Float64()-1))
			w.reward = append(w.reward, float32(r.Float64()-.5))
			d := discount
			if n > 0 && r.IntN(10) == 0 || level == int(math.Pow(float64(actions), float64(depth))) {
				d = 0
			}
			w.discount = append(w.discount, d)
			n++
		}
		level *= actions
	}
	return w
}

// look returns what the world says of states, [rows] int32.
func (w *world) look(g *Graph, state *Node) search.Leaf {
	at := func(x any) *Node { return Gather(Const(g, x), ExpandAxes(state, 1)) }
	return search.Leaf{State: rl.One(rl.Wrap(state)), Logits: at(w.logits), Legal: at(w.legal), Value: at(w.value)}
}

func (w *world) step(c *rl.Ctx, state rl.Tree, action *Node) search.Next {
	next := AddScalar(Add(MulScalar(state.Leaf("").Node(), w.actions), action), 1)
	at := func(x any) *Node { return Gather(Const(c.Graph(), x), ExpandAxes(next, 1)) }
	return search.Next{Leaf: w.look(c.Graph(), next), Reward: at(w.reward), Discount: at(w.discount)}
}

// found holds a search's results, by row.
type found struct{ Visits, Policy, Value, Best, Drawn rl.Tensor }

// searcher is a search in a world as a graph function of the states at the roots.
type searcher struct {
	search.Settings
	*world
	temperature float64
}

func (f searcher) run(c *rl.Ctx, state rl.Tensor) found {
	r := f.Run(c, f.look(c.Graph(), state.Node()), f.step)
	drawn := r.Draw(c, "drawn", c.Const(f.temperature))
	return found{rl.Wrap(r.Visits), rl.Wrap(r.Policy), rl.Wrap(r.Value), rl.Wrap(r.Best), rl.Wrap(drawn)}
}

func (f searcher) on(s *rl.Scope, states ...int32) found {
	return rl.NewFunc(s, "search", f.run).Apart().Call(s.Key("test"), rl.FromFlat(s, states, len(states)))
}

func close(t *testing.T, what string, got rl.Tensor, want ...float64) {
	t.Helper()
	x := rl.Floats(got)
	for i := range want {
		if len(x) != len(want) || math.Abs(x[i]-want[i]) > 1e-5 {
			t.Fatalf("%s is %v, not %v", what, x, want)
		}
	}
}

// TestBandit follows PUCT by hand on two arms with priors .7 and .3 and rewards 0 and 1. The scores
// before each simulation are .7 and .3; .49 and .42; .40 and .52; .47 and 1.3.
func TestBandit(t *testing.T) {
	w := &world{
		actions: 2, logits: [][]float32{{float32(math.Log(.7)), float32(math.Log(.3))}, {0, 0}, {0, 0}},
		legal: [][]bool{{true, true}, {false, false}, {false, false}},
		value: []float32{0, 9, 9}, reward: []float32{0, 0, 1}, discount: []float32{1, 0, 0},
	}
	for i, want := range [][]float64{{1, 0}, {2, 0}, {2, 1}, {2, 2}} {
		cfg := settings("puct", i+1)
		cfg.Explore, cfg.ExploreBase = 1, 1e9
		f := searcher{cfg, w, 0}.on(scope(t), 0)
		close(t, fmt.Sprintf("visits after %d simulations", i+1), f.Visits, want...)
		close(t, "value", f.Value, want[1]/float64(i+2))
	}
	f := searcher{settings("puct", 100), w, 0}.on(scope(t), 0)
	if v := rl.Floats(f.Visits); v[1] < 90 {
		t.Errorf("of 100 simulations %v take the better arm", v[1])
	}
	close(t, "best", f.Best, 1)
}

// TestPlayers follows PUCT by hand where the other player moves next: values count by their
// negative. State 1 is worth .5 to the other player, state 2 -.5, and 5 is worth .25 to the first.
func TestPlayers(t *testing.T) {
	w := random(1, 2, 3, -1)
	for s := range 6 {
		w.logits[s], w.legal[s], w.reward[s], w.discount[s] = []float32{0, 0}, []bool{true, true}, 0, -1
	}
	copy(w.value, []float32{0, .5, -.5, 0, 0, .25})
	for i, want := range []struct {
		visits []float64
		value  float64
	}{{[]float64{1, 0}, -.5 / 2}, {[]float64{1, 1}, 0}, {[]float64{1, 2}, .25 / 4}} {
		cfg := settings("puct", i+1)
		cfg.Explore, cfg.ExploreBase = 1, 1e9
		f := searcher{cfg, w, 0}.on(scope(t), 0)
		close(t, fmt.Sprintf("visits after %d simulations", i+1), f.Visits, want.visits...)
		close(t, "value", f.Value, want.value)
	}
}

// TestNaive compares searches with a recursive one on random trees.
func TestNaive(t *testing.T) {
	for _, rule := range []string{"puct", "gumbel"} {
		for _, normalise := range []bool{false, true} {
			for seed := range uint64(4) {
				discount := []float32{-1, .9}[seed%2]
				w := random(seed, 3, 5, discount)
				cfg := settings(rule, 5+int(seed)*12)
				cfg.Normalise = normalise
				roots := []int32{0, 1, 2, 3, 4, 0}
				f := searcher{cfg, w, 0}.on(scope(t), roots...)
				for i, root := range roots {
					want := newNaive(cfg, w, int(root)).search()
					got := slices.Collect(slices.Chunk(rl.Floats(f.Visits), w.actions))[i]
					if !slices.Equal(got, want.visits) {
						t.Fatalf("%s, normalise=%v, seed %d, root %d: visits are %v, not %v", rule, normalise, seed, root, got, want.visits)
					}
					policy := slices.Collect(slices.Chunk(rl.Floats(f.Policy), w.actions))[i]
					for a := range policy {
						if math.Abs(policy[a]-want.policy[a]) > 1e-4 {
							t.Fatalf("%s, normalise=%v, seed %d, root %d: policy is %v, not %v", rule, normalise, seed, root, policy, want.policy)
						}
					}
					if b := int(rl.Floats(f.Best)[i]); b != want.best {
						t.Fatalf("%s, normalise=%v, seed %d, root %d: best is %d, not %d", rule, normalise, seed, root, b, want.best)
					}
				}
			}
		}
	}
}

// TestImproves: the policy that Gumbel search returns is no worse than the prior, and so is the
// action that it takes, on average, even with fewer simulations than actions.
func TestImproves(t *testing.T) {
	const rows, actions = 400, 6
	r := rand.New(rand.NewPCG(7, 7))
	w := &world{actions: actions}
	var states []int32
	for s := range rows * (actions + 1) {
		logits, legal := make([]float32, actions), make([]bool, actions)
		for a := range logits {
			logits[a], legal[a] = float32(r.NormFloat64()), true
		}
		w.logits, w.legal = append(w.logits, logits), append(w.legal, legal)
		w.value, w.reward, w.discount = append(w.value, 0), append(w.reward, float32(2*r.Float64()-1)), append(w.discount, 0)
		if s < rows {
			states = append(states, int32(s))
		}
	}
	w.discount[0] = 1
	for s := range states { // the root's value is that of the prior
		for a, p := range softmax(w.logits[s]) {
			w.value[s] += float32(p) * w.reward[s*actions+a+1]
		}
	}
	for _, simulations := range []int{2, 4, 6, 24} {
		cfg := settings("gumbel", simulations)
		cfg.GumbelScale = 1
		f := searcher{cfg, w, 0}.on(scope(t), states...)
		best, policy := rl.Floats(f.Best), rl.Floats(f.Policy)
		var prior, taken float64
		for s := range states {
			var before, after float64
			for a, p := range softmax(w.logits[s]) {
				before += p * float64(w.reward[s*actions+a+1])
				after += policy[s*actions+a] * float64(w.reward[s*actions+a+1])
			}
			prior += before
			taken += float64(w.reward[s*actions+int(best[s])+1])
			if simulations >= actions && after < before-1e-5 {
				t.Errorf("%d simulations: the policy in state %d is worth %v, the prior %v", simulations, s, after, before)
			}
		}
		t.Logf("%d simulations: %.3f, prior %.3f", simulations, taken/rows, prior/rows)
		if taken/rows < prior/rows+.1 {
			t.Errorf("%d simulations: actions are worth %v on average, those of the prior %v", simulations, taken/rows, prior/rows)
		}
	}
}

// TestSplit: what is found for a row has the same bits however rows are split over replicas.
func TestSplit(t *testing.T) {
	const n = 11
	w := random(3, 3, 5, -1)
	for _, rule := range []string{"puct", "gumbel"} {
		cfg := settings(rule, 20)
		cfg.NoiseWeight, cfg.GumbelScale, cfg.Normalise = .25, 1, true
		root := scope(t)
		var states []int32
		for i := range int32(n) {
			states = append(states, i%5)
		}
		x := rl.FromFlat(root, states, n)
		of := func(s *rl.Scope, x rl.Tensor) found {
			return rl.NewFunc(s, "search", searcher{cfg, w, 1}.run).Apart().Call(rl.NewRun(s, 1, nil).Key("play", 2), x)
		}
		want := rl.Leaves(of(root, x))
		for k := 2; k <= 5; k++ {
			for r := range k {
				s := root.Shard(r, k)
				lo, hi := s.Own(n, 1)
				s.SetEnvs(rl.Span{Lo: lo, Hi: hi, Of: n})
				for i, got := range rl.Leaves(of(s, rl.System.Part(x, lo, hi))) {
					if a, b := rl.Floats(got), rl.Floats(rl.System.Part(want[i], lo, hi)); !slices.Equal(a, b) {
						t.Fatalf("%s, replica %d of %d: result %d is %v, not %v", rule, r, k, i, a, b)
					}
				}
			}
		}
		if v := rl.Floats(want[0]); slices.Equal(v[:15], v[15:30]) {
			t.Errorf("%s: rows in the same state have the same noise: %v", rule, v)
		}
	}
}

// TestTemperature: actions are drawn in proportion to powers of visits.
func TestTemperature(t *testing.T) {
	const rows = 4000
	w := &world{
		actions: 2, logits: [][]float32{{0, 0}, {0, 0}, {0, 0}}, legal: [][]bool{{true, true}, {true, true}, {true, true}},
		value: []float32{0, 0, 0}, reward: []float32{0, 0, .5}, discount: []float32{1, 0, 0},
	}
	for _, temperature := range []float64{0, .5, 1, 2} {
		f := searcher{settings("puct", 20), w, temperature}.on(scope(t), make([]int32, rows)...)
		v := rl.Floats(f.Visits)
		want := 1.
		if temperature > 0 {
			a, b := math.Pow(v[0], 1/temperature), math.Pow(v[1], 1/temperature)
			want = b / (a + b)
		}
		var got float64
		for _, a := range rl.Floats(f.Drawn) {
			got += a
		}
		got /= rows
		if math.Abs(got-want) > .02 || temperature == 0 && got != 1 {
			t.Errorf("temperature %v, visits %v: the second action is drawn with frequency %v, not %v", temperature, v[:2], got, want)
		}
	}
}

package league_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/engine"
	"github.com/weft-rl/weft/league"
	"github.com/weft-rl/weft/rl"
)

// trial is a league of two sides with one number each as their weights.
type trial struct {
	*league.League
	scope *rl.Scope
	sides [2]*rl.Params
	games *rl.Func[rl.Tensor, rl.Tensor]
	plays [2]*rl.Func[rl.Tensor, rl.Tensor] // weight of a number
	mix   [2]*rl.Func[rl.Tensor, rl.Tensor]
}

func newTrial(t *testing.T, capacity int, m league.Matchmaking) *trial {
	t.Helper()
	b, err := engine.New("")
	if err != nil {
		t.Fatal(err)
	}
	x := &trial{scope: rl.NewScope(rl.NewDevice(b), 1)}
	for side := range x.sides {
		x.sides[side] = rl.NewParams(x.scope, fmt.Sprint("side", side), func(_ *rl.Ctx, sc *model.Scope) {
			sc.At("deep").VariableWithValue("number", []float32{float32(10 * side)})
		})
	}
	x.League = league.New(x.scope, "league", capacity, m, x.sides[0], x.sides[1])
	x.games = rl.NewFunc(x.scope, "games", func(c *rl.Ctx, u rl.Tensor) rl.Tensor { return rl.Wrap(league.Pick(x.Games(c), u.Node())) })
	for side := range x.sides {
		x.plays[side] = rl.NewFunc(x.scope, "plays", func(c *rl.Ctx, of rl.Tensor) rl.Tensor {
			all := []*Node{}
			for number := 1; number <= capacity; number++ {
				all = append(all, x.Weights(c, side, number).At("deep").GetVariable("number").NodeValue(c.Graph()))
			}
			return rl.Wrap(Add(Concatenate(all, 0), of.Node()))
		})
		x.mix[side] = rl.NewFunc(x.scope, "mix", func(c *rl.Ctx, u rl.Tensor) rl.Tensor { return rl.Wrap(league.Pick(x.Mixture(c, side), u.Node())) })
	}
	return x
}

// become sets the weights of a side.
func (x *trial) become(t *testing.T, side int, to float32) {
	t.Helper()
	if err := x.sides[side].Adopt([]rl.Tensor{rl.FromFlat(x.scope, []float32{to}, 1)}); err != nil {
		t.Fatal(err)
	}
}

// weights returns what the numbers of a side are.
func (x *trial) weights(side int) []float32 {
	n := x.Capacity()
	return rl.Read[float32](x.plays[side].Call(rl.Key{}, rl.FromFlat(x.scope, make([]float32, n), n)))
}

// played records n games of a cast that end alike.
func (x *trial) played(first, second, n int, result float32) {
	cast, results, over := []int32{}, []float32{}, []bool{}
	for range n {
		cast, results, over = append(cast, int32(first), int32(second), 0, 0), append(results, result, 7), append(over, true, false)
	}
	x.Record(rl.FromFlat(x.scope, cast, 1, 2*n, 2), rl.FromFlat(x.scope, results, 1, 2*n), rl.FromFlat(x.scope, over, 1, 2*n))
}

const draws = 64

// even returns numbers evenly spread over (0,1).
func (x *trial) even() rl.Tensor {
	u := make([]float32, draws)
	for i := range u {
		u[i] = (float32(i) + .5) / draws
	}
	return rl.FromFlat(x.scope, u, draws)
}

// casts returns how many of the draws are which cast, as "a-b".
func (x *trial) casts() map[string]int {
	out := map[string]int{}
	for _, pair := range rl.Read[int32](x.games.Call(rl.Key{}, x.even())) {
		n := int32(x.Capacity() + 1)
		out[fmt.Sprintf("%d-%d", pair/n, pair%n)]++
	}
	return out
}

func want(t *testing.T, what string, got, want map[string]int) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Frozen policies stay what they were while the learner goes on, and number 1 is what both began
// with.
func TestFreeze(t *testing.T) {
	x := newTrial(t, 3, league.Matchmaking{Opponents: "uniform"})
	want(t, "games of the first policies", x.casts(), map[string]int{"0-1": draws / 2, "1-0": draws / 2})
	x.become(t, 0, 2)
	x.Freeze(0, x.sides[0])
	x.become(t, 0, 3)
	x.Freeze(0, x.sides[0])
	x.become(t, 0, 4)
	if got := x.weights(0); !slices.Equal(got, []float32{0, 2, 3}) {
		t.Errorf("policies %v, want 0, 2, 3", got)
	}
	x.Respond(league.Matchmaking{Opponents: "latest"})
	want(t, "games of the latest", x.casts(), map[string]int{"0-1": draws / 2, "3-0": draws / 2})
	likely := rl.NewFunc(x.scope, "likely", func(c *rl.Ctx, of rl.Tensor) rl.Tensor {
		return rl.Wrap(Add(of.Node(), ExpandAxes(league.Likeliest(x.Mixture(c, 0)), 0)))
	})
	if got := rl.Read[int32](likely.Call(rl.Key{}, rl.FromFlat(x.scope, []int32{0}, 1)))[0]; got != 3 {
		t.Errorf("the likeliest policy is %d, want the latest, 3", got)
	}
	x.Freeze(0, x.sides[0]) // in the place of the oldest that does not play
	if got := x.weights(0); !slices.Equal(got, []float32{4, 2, 3}) {
		t.Errorf("policies %v of a full league, want 4, 2, 3", got)
	}
	if got := x.weights(1)[0]; got != 10 {
		t.Errorf("the other side's policy is %v, want 10", got)
	}
}

// Matchmaking, by hand: of the first side's policies 1 and 2, 2 wins against 1 and loses against 2.
func TestMatchmaking(t *testing.T) {
	x := newTrial(t, 2, league.Matchmaking{Opponents: "nash"})
	for side := range 2 {
		x.become(t, side, 1)
		x.Freeze(side, x.sides[side])
	}
	x.Compare()
	want(t, "games where nothing is known", x.casts(), map[string]int{"1-1": 16, "1-2": 16, "2-1": 16, "2-2": 16})
	x.played(1, 1, 7, 1)
	x.played(1, 2, 3, -1)
	x.played(2, 1, 3, -1)
	x.played(2, 2, 3, 1)
	x.Compare()
	if got := x.casts(); got["1-1"] >= got["1-2"] || got["1-2"] == 0 {
		t.Errorf("games %v, want the fewest where the most were played", got)
	}
	x.Respond(league.Matchmaking{Opponents: "nash"})
	want(t, "an equilibrium of matching pennies", x.casts(), map[string]int{"0-1": 16, "0-2": 16, "1-0": 16, "2-0": 16})
	x.played(2, 2, 3, -1) // a draw on average
	x.Respond(league.Matchmaking{Opponents: "prioritised"})
	// The first side's latest loses to 1 and wins half against 2: squares 1 and 1/4. The second's
	// latest wins against 1, and half against 2.
	want(t, "the hardest opponents", x.casts(), map[string]int{"0-1": 26, "0-2": 6, "2-0": draws / 2})
	x.Respond(league.Matchmaking{Opponents: "uniform", Exploiters: 2})
	want(t, "games of exploiters", x.casts(), map[string]int{"0-2": draws / 2, "2-0": draws / 2})
	if got := rl.Read[int32](x.mix[0].Call(rl.Key{}, x.even())); slices.Min(got) != 1 || slices.Max(got) != 2 {
		t.Errorf("the mixture draws %v, want all policies also while there are exploiters", got)
	}
	x.Respond(league.Matchmaking{Opponents: "uniform", Sparring: .5})
	want(t, "games with sparring", x.casts(), map[string]int{"0-0": 32, "0-1": 8, "0-2": 8, "1-0": 8, "2-0": 8})
}

// A state that is saved and loaded goes on alike; weights that are not those that were frozen are
// found out.
func TestState(t *testing.T) {
	m := league.Matchmaking{Opponents: "nash"}
	x, y := newTrial(t, 3, m), newTrial(t, 3, m)
	for side := range 2 {
		x.become(t, side, 5)
		x.Freeze(side, x.sides[side])
	}
	x.played(1, 2, 4, 1)
	x.played(2, 2, 4, -1)
	st := rl.NewState(x.scope)
	x.scope.Save(st)
	if err := y.scope.Load(st); err != nil {
		t.Fatal(err)
	}
	x.Respond(m)
	y.Respond(m)
	want(t, "games after a resume", y.casts(), x.casts())
	if got := y.weights(1); !slices.Equal(got, x.weights(1)) {
		t.Errorf("policies %v after a resume, want %v", got, x.weights(1))
	}
	bad := y.League.Tensors()
	bad[1] = rl.FromFlat(y.scope, []float32{5.5}, 1)
	if err := y.Adopt(bad); err != nil {
		t.Fatal(err)
	}
	err := rl.Catch(func() error { y.Compare(); y.Respond(m); return nil })
	if err == nil || !strings.Contains(err.Error(), "policy 2 of the league's side 0 is not what was frozen") {
		t.Errorf("a changed policy: %v", err)
	}
}

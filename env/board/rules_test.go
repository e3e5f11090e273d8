package board

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env/game"
	"github.com/weft-rl/weft/rl"
)

// rows of a position and of all that the graph functions say of it after an action.
type (
	asked struct{ Position, Action rl.Tensor }
	said  struct {
		Next, Legal, First, Second rl.Tensor
		Seat, Over, Return         rl.Tensor
	}
)

// sayer returns a game's graph functions as one function.
func sayer(s *rl.Scope, g game.Game) func(positions [][]float32, actions []int) said {
	f := rl.NewFunc(s, "rules", func(_ *rl.Ctx, in asked) said {
		p := g.Play(in.Position.Node(), in.Action.Node())
		seat := game.Seat(p)
		zero := ZerosLike(seat)
		return said{
			Next: rl.Wrap(p), Legal: rl.Wrap(g.Legal(p)),
			First: rl.Wrap(g.Observe(p, zero)), Second: rl.Wrap(g.Observe(p, OnesLike(zero))),
			Seat: rl.Wrap(seat), Over: rl.Wrap(game.Over(p)), Return: rl.Wrap(game.Return(p, OnesLike(zero))),
		}
	})
	return func(positions [][]float32, actions []int) said {
		n := len(positions)
		a := make([]int32, n)
		for i, x := range actions {
			a[i] = int32(x)
		}
		return f.Call(rl.Key{}, asked{rl.FromFlat(s, slices.Concat(positions...), n, g.Rules().Width), rl.FromFlat(s, a, n)})
	}
}

// deal returns random starts.
func deal(r *rand.Rand, g game.Game, n int) [][]float32 {
	out := make([][]float32, n)
	for i := range out {
		out[i] = slices.Clone(g.Rules().Starts[r.IntN(len(g.Rules().Starts))])
	}
	return out
}

// The graph functions and the host's say the same, to the bit, in every position of thousands of
// random games, finished ones that are played on included.
func TestGraphEqualsHost(t *testing.T) { compareGames(t, newScope(t)) }

func compareGames(t *testing.T, s *rl.Scope) {
	t.Helper()
	const n = 1500
	for _, g := range games {
		t.Run(g.Rules().Name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			say, host, rules := sayer(s, g), g.Host(), g.Rules()
			positions, actions := deal(r, g, n), make([]int, n)
			ended := 0
			for range rules.Length + 1 {
				for i, p := range positions {
					actions[i] = r.IntN(rules.Actions)
					if legal := legalOf(g, p); len(legal) > 0 {
						actions[i] = legal[r.IntN(len(legal))]
					}
				}
				got := say(positions, actions)
				ended = 0
				for i, p := range positions {
					host.Play(p, actions[i])
					if overOf(p) {
						ended++
					}
				}
				compareAll(t, g, positions, got)
			}
			if ended != n {
				t.Errorf("%d of %d games ended within %d moves", ended, n, rules.Length)
			}
		})
	}
}

// compareAll holds what the graph says of positions against the host.
func compareAll(t *testing.T, g game.Game, positions [][]float32, got said) {
	t.Helper()
	rules, host := g.Rules(), g.Host()
	next, first, second := rl.Read[float32](got.Next), rl.Read[float32](got.First), rl.Read[float32](got.Second)
	mask, legal := rl.Read[bool](got.Legal), make([]bool, rules.Actions)
	seats, over, loss := rl.Read[int32](got.Seat), rl.Read[bool](got.Over), rl.Read[float32](got.Return)
	see := make([]float32, rules.Seen)
	for i, p := range positions {
		if x := row(next, i, rules.Width); !sameBits(x, p) {
			t.Fatalf("graph plays to %v, host to %v", x, p)
		}
		host.Legal(p, legal)
		if x := mask[i*rules.Actions : (i+1)*rules.Actions]; !slices.Equal(x, legal) {
			t.Fatalf("%s legal by the graph %v, by the host %v", host.Text(p), x, legal)
		}
		for seat, x := range [][]float32{row(first, i, rules.Seen), row(second, i, rules.Seen)} {
			if host.Observe(p, seat, see); !sameBits(x, see) {
				t.Fatalf("%s seat %d sees %v by the graph, %v by the host", host.Text(p), seat, x, see)
			}
		}
		if int(seats[i]) != seatOf(p) || over[i] != overOf(p) || !sameBits(loss[i:i+1], []float32{returnOf(p, 1)}) {
			t.Fatalf("%s seat %d, over %v, return of seat 1 %v", host.Text(p), seats[i], over[i], loss[i])
		}
	}
}

func row(x []float32, i, width int) []float32 { return x[i*width : (i+1)*width] }

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// To transform a position and play the transformed action is to play and then transform; masks and
// observations are transformed likewise.
func TestSymmetries(t *testing.T) {
	want := []int{8, 2, 1, 1}
	for i, g := range games {
		rules, host := g.Rules(), g.Host()
		if len(rules.Symmetries) != want[i] {
			t.Errorf("%s has %d symmetries, want %d", rules.Name, len(rules.Symmetries), want[i])
		}
		r := rand.New(rand.NewPCG(3, 4))
		distinct := map[string]bool{}
		for k, s := range rules.Symmetries {
			distinct[fmt.Sprint(s)] = true
			if k == 0 && !slices.IsSorted(s.Position) {
				t.Errorf("%s: the first symmetry is not the identity", rules.Name)
			}
			for range 100 {
				p := deal(r, g, 1)[0]
				for !overOf(p) {
					q := permuted(p, s.Position)
					checkSeen(t, g, p, q, s)
					legal := legalOf(g, p)
					a := legal[r.IntN(len(legal))]
					host.Play(p, a)
					host.Play(q, s.Moved[a])
					if !slices.Equal(q, permuted(p, s.Position)) {
						t.Fatalf("%s: symmetry %d: %v after the transformed move, want %v", rules.Name, k, q, permuted(p, s.Position))
					}
				}
			}
		}
		if len(distinct) != len(rules.Symmetries) {
			t.Errorf("%s: %d of %d symmetries are distinct", rules.Name, len(distinct), len(rules.Symmetries))
		}
	}
}

// checkSeen compares masks and observations of a position and of its image.
func checkSeen(t *testing.T, g game.Game, p, q []float32, s game.Symmetry) {
	t.Helper()
	rules, host := g.Rules(), g.Host()
	before, after := make([]bool, rules.Actions), make([]bool, rules.Actions)
	host.Legal(p, before)
	host.Legal(q, after)
	if !slices.Equal(after, permuted(before, s.Action)) {
		t.Fatalf("%s: mask %v of the image of %v", rules.Name, after, before)
	}
	saw, sees := make([]float32, rules.Seen), make([]float32, rules.Seen)
	for seat := range 2 {
		host.Observe(p, seat, saw)
		host.Observe(q, seat, sees)
		if !slices.Equal(sees, permuted(saw, s.Obs)) {
			t.Fatalf("%s: observation %v of the image of %v", rules.Name, sees, saw)
		}
	}
}

func permuted[T any](x []T, p []int) []T {
	out := make([]T, len(p))
	for i, from := range p {
		out[i] = x[from]
	}
	return out
}

// Starts are equally likely in the graph.
func TestStarts(t *testing.T) {
	const n = 6000
	s := newScope(t)
	f := rl.NewFunc(s, "start", func(c *rl.Ctx, like rl.Tensor) rl.Tensor {
		return rl.Wrap(game.Start(c, KuhnPoker.Rules(), like.Rows()))
	})
	x := rl.Read[float32](f.Call(s.Key("start"), rl.FromFlat(s, make([]float32, n), n)))
	count := map[string]int{}
	for i := range n {
		count[fmt.Sprint(row(x, i, kuhnWidth))]++
	}
	for _, start := range KuhnPoker.Rules().Starts {
		if k := count[fmt.Sprint(start)]; math.Abs(float64(k)-n/6) > 5*math.Sqrt(n*5/36.) {
			t.Errorf("start %v was dealt %d times of %d", start, k, n)
		}
	}
	if len(count) != 6 {
		t.Errorf("%d different starts, want 6", len(count))
	}
}

// The table of best moves is the solution's in every position of tic-tac-toe.
func TestPerfect(t *testing.T) { compareBest(t, newScope(t)) }

func compareBest(t *testing.T, s *rl.Scope) {
	t.Helper()
	solved := Solve(TicTacToe)
	var keys []string
	for key := range solved.values {
		keys = append(keys, key)
	}
	positions := make([][]float32, len(keys))
	for i, key := range keys {
		positions[i] = positionOf(key)
	}
	f := rl.NewFunc(s, "best", func(_ *rl.Ctx, p rl.Tensor) rl.Tensor { return rl.Wrap(TicTacToe.Best(p.Node())) })
	got := rl.Read[bool](f.Call(rl.Key{}, rl.FromFlat(s, slices.Concat(positions...), len(keys), TicTacToe.Rules().Width)))
	for i, p := range positions {
		var best []int
		for a, ok := range got[9*i : 9*i+9] {
			if ok {
				best = append(best, a)
			}
		}
		if !slices.Equal(best, solved.Best(p)) {
			t.Fatalf("best moves by the table %v, want %v:\n%s", best, solved.Best(p), TicTacToe.Host().Text(p))
		}
	}
}

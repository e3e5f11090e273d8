package game_test

import (
	"strings"
	"testing"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/engine"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/board"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/env/game"
	"github.com/weft-rl/weft/env/wrap"
	"github.com/weft-rl/weft/rl"
)

func newScope(t *testing.T) *rl.Scope {
	t.Helper()
	b, err := engine.New("")
	if err != nil {
		t.Fatal(err)
	}
	return rl.NewScope(rl.NewDevice(b), 1)
}

// The rules are found behind every form, the guard and wrappers; other environments have none.
func TestOf(t *testing.T) {
	list, err := wrap.Parse("frame-stack=2")
	if err != nil {
		t.Fatal(err)
	}
	entry := board.All[0]
	wrapped := wrap.Entry(entry, list, "")
	opened := []func(s *rl.Scope) (env.Batch, error){
		func(s *rl.Scope) (env.Batch, error) { return env.Open(s, entry, 2, nil) },
		func(s *rl.Scope) (env.Batch, error) {
			return env.Open(s, entry, 2, &game.Options{Opponent: "none", Seat: game.Any})
		},
		func(s *rl.Scope) (env.Batch, error) { return env.Open(s, wrapped, 2, nil) },
		func(s *rl.Scope) (env.Batch, error) { return algo.On(s, entry, nil, nil).SelfPlay(2) },
		func(s *rl.Scope) (env.Batch, error) { return algo.On(s, wrapped, nil, nil).SelfPlay(2) },
	}
	for i, open := range opened {
		b, err := open(newScope(t))
		if err != nil {
			t.Fatal(err)
		}
		if g, ok := game.Of(b); !ok || g.Rules().Name != "tic-tac-toe" {
			t.Errorf("form %d: no rules of tic-tac-toe are found", i)
		}
	}
	b, err := env.Open(newScope(t), classic.CartPole, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := game.Of(b); ok {
		t.Error("CartPole has rules")
	}
}

// In self-play one agent moves for both seats. It is rewarded by the return of the seat that moved,
// and the position is its observations' State.
func TestSelfPlay(t *testing.T) {
	s := newScope(t)
	b, err := algo.On(s, board.All[0], nil, nil).SelfPlay(1)
	if err != nil {
		t.Fatal(err)
	}
	host := board.TicTacToe.Host()
	for i, x := range []struct {
		move   int32
		reward float32
		text   string
	}{
		{0, 0, "X..\n...\n...\n"}, {4, 0, "X..\n.O.\n...\n"}, {1, 0, "XX.\n.O.\n...\n"}, {3, 0, "XX.\nOO.\n...\n"},
		{8, 0, "XX.\nOO.\n..X\n"}, {5, 1, "XX.\nOOO\n..X\n"},
	} {
		out := b.Step(rl.One(rl.FromFlat(s, []int32{x.move}, 1)))
		text, r := host.Text(rl.Read[float32](out.Final.State)), rl.Read[float32](out.Reward)[0]
		if text != x.text || r != x.reward || rl.Read[bool](out.Terminated)[0] != (i == 5) {
			t.Errorf("move %d: reward %v, terminated %v, position\n%swant %v and\n%s", i, r, rl.Read[bool](out.Terminated)[0], text, x.reward, x.text)
		}
	}
	if first := host.Text(rl.Read[float32](b.Obs().State)); first != "...\n...\n...\n" {
		t.Errorf("the next game begins with\n%s", first)
	}
}

func TestWrong(t *testing.T) {
	for _, x := range []struct {
		entry   env.Entry
		options any
		says    string
	}{
		{board.All[1], &game.Options{Opponent: "perfect", Seat: game.Any}, "connect four has no table of best moves: use random"},
		{board.All[0], &game.Options{Opponent: "me", Seat: game.Any}, `option opponent is "me", want random, perfect or none`},
		{board.All[0], &game.Options{Opponent: "random"}, `option seat is "", want any, first or second`},
		{board.All[0], 3, "options are int, want *game.Options"},
	} {
		if _, err := env.Open(newScope(t), x.entry, 2, x.options); err == nil || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%+v: %v, want ...%s...", x.options, err, x.says)
		}
	}
	if _, err := algo.On(newScope(t), classic.CartPole, nil, nil).SelfPlay(2); err == nil || !strings.Contains(err.Error(), "environment CartPole-v1: it is no game") {
		t.Errorf("self-play of CartPole: %v", err)
	}
}

// Against an opponent an agent's seat is the one it asked for, and games begin with its move.
func TestSeat(t *testing.T) {
	for _, x := range []struct {
		side   game.Side
		stones [2]float32 // fewest and most on the board when a game begins
	}{{game.First, [2]float32{0, 0}}, {game.Second, [2]float32{1, 1}}, {game.Any, [2]float32{0, 1}}} {
		const n = 50
		s := newScope(t)
		b, err := env.Open(s, board.All[0], n, &game.Options{Opponent: "random", Seat: x.side})
		if err != nil {
			t.Fatal(err)
		}
		low, top := float32(9), float32(0)
		seen := rl.Read[float32](b.Obs().X.At(0))
		for i := range n {
			stones := float32(0)
			for _, v := range seen[18*i : 18*i+18] {
				stones += v
			}
			low, top = min(low, stones), max(top, stones)
		}
		if got := [2]float32{low, top}; got != x.stones {
			t.Errorf("seat %s: games begin with %v stones, want %v", x.side, got, x.stones)
		}
	}
}

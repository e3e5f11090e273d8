package board

import (
	"image"
	"math"
	"slices"
	"testing"

	"github.com/weft-rl/weft/engine"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/envtest"
	"github.com/weft-rl/weft/env/game"
	"github.com/weft-rl/weft/env/sketch"
	"github.com/weft-rl/weft/rl"
)

var games = []game.Game{TicTacToe, ConnectFour, KuhnPoker, LeducPoker}

// Every form of every game keeps the contract of environments.
func TestConformance(t *testing.T) {
	for _, e := range All {
		for _, o := range []game.Options{{Opponent: "random", Seat: game.Any}, {Opponent: "none", Seat: game.Any}, {Opponent: "random", Seat: game.Second}} {
			opts := []envtest.Option{envtest.With(&o), envtest.Steps(60)}
			if o.Opponent == "none" && len(gameOf(t, e.ID).Rules().Starts) == 1 {
				opts = append(opts, envtest.Deterministic())
			}
			t.Run(e.ID+"/"+o.Opponent+"/"+string(o.Seat), func(t *testing.T) { envtest.Run(t, e, opts...) })
		}
	}
	t.Run("perfect", func(t *testing.T) {
		envtest.Run(t, All[0], envtest.With(&game.Options{Opponent: "perfect", Seat: game.Any}), envtest.Steps(60))
	})
	for _, e := range All {
		self := e
		self.New = e.SelfPlay
		opts := []envtest.Option{envtest.Steps(60)}
		if len(gameOf(t, e.ID).Rules().Starts) == 1 {
			opts = append(opts, envtest.Deterministic())
		}
		t.Run(e.ID+"/self", func(t *testing.T) { envtest.Run(t, self, opts...) })
	}
}

// gameOf returns the game of an environment's id.
func gameOf(t *testing.T, id string) game.Game {
	t.Helper()
	for i, e := range All {
		if e.ID == id {
			return games[i]
		}
	}
	t.Fatalf("no environment %s", id)
	return nil
}

// A film of any form has a picture of every position.
func TestFilm(t *testing.T) {
	for _, opponent := range []string{"random", "none"} {
		s := newScope(t)
		b, err := env.Open(s, All[1], 2, &game.Options{Opponent: opponent, Seat: game.First})
		if err != nil {
			t.Fatal(err)
		}
		film, ok := env.Find[env.Renderer](b)
		if !ok {
			t.Fatal("it has no drawing")
		}
		var red, shots int
		_, err = film.Film(0, func(p image.Image) {
			shots++
			at := p.Bounds()
			if r, g, b, _ := p.At(at.Max.X/7*3+20, at.Max.Y-20).RGBA(); r > g && r > b { // bottom of the middle column
				red++
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		middle := make([]int32, 2*max(1, b.Spec().Agents))
		middle[0], middle[len(middle)/2] = 3, 3
		legal := b.Obs().Legal.At(0).Shape().Dimensions
		b.Step(rl.One(rl.FromFlat(s, middle, legal[:len(legal)-1]...)))
		if shots != 2 || red != 1 {
			t.Errorf("%s: %d pictures, %d with a red stone in the middle, want 2 and 1", opponent, shots, red)
		}
	}
}

// TestPokerFilm: pictures of poker show the cards, the public one once it is dealt, the stakes and
// who won.
func TestPokerFilm(t *testing.T) {
	dealt := leducRules.Starts[0]
	turned, over := slices.Clone(dealt), slices.Clone(dealt)
	turned[leducRound] = 1
	over[game.OverAt], over[game.ReturnAt], over[leducStake+1] = 1, -1, 3
	bet := slices.Clone(kuhnRules.Starts[0])
	bet[kuhnMove+1] = 2 // by seat 1, which was passed to
	for name, x := range map[string]struct {
		picture image.Image
		pixels  map[sketch.Colour]bool // whether there are any
		discs   [2]int                 // of red and blue
	}{
		"kuhn":   {kuhn{}.Picture(bet), map[sketch.Colour]bool{sketch.Brown: false, sketch.Green: false}, [2]int{1, 2}},
		"dealt":  {leduc{}.Picture(dealt), map[sketch.Colour]bool{sketch.Brown: true, sketch.Green: false}, [2]int{1, 1}},
		"turned": {leduc{}.Picture(turned), map[sketch.Colour]bool{sketch.Brown: false, sketch.Green: false}, [2]int{1, 1}},
		"over":   {leduc{}.Picture(over), map[sketch.Colour]bool{sketch.Brown: true, sketch.Green: true}, [2]int{1, 3}},
	} {
		count := map[sketch.Colour]int{}
		for _, p := range x.picture.(*image.Paletted).Pix {
			count[sketch.Colour(p)]++
		}
		for paint, want := range x.pixels {
			if (count[paint] > 0) != want {
				t.Errorf("%s: %d pixels of colour %d", name, count[paint], paint)
			}
		}
		disc := math.Pi * .15 * .15 * 40 * 40 // pixels
		for i, paint := range []sketch.Colour{sketch.Red, sketch.Blue} {
			if got := math.Round(float64(count[paint]) / disc); got != float64(x.discs[i]) {
				t.Errorf("%s: %d pixels of colour %d are %v stakes, want %d", name, count[paint], paint, got, x.discs[i])
			}
		}
	}
	if p := (leduc{}).Picture(over).(*image.Paletted); p.ColorIndexAt(200, 151) != uint8(sketch.Green) || p.ColorIndexAt(40, 151) == uint8(sketch.Green) {
		t.Error("the bar is not below the second seat, which won")
	}
}

func newScope(t *testing.T) *rl.Scope {
	t.Helper()
	b, err := engine.New("")
	if err != nil {
		t.Fatal(err)
	}
	return rl.NewScope(rl.NewDevice(b), 1)
}

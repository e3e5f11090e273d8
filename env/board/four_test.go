package board

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// midgame returns a random position with some stones in which the game goes on.
func midgame(r *rand.Rand, stones int) []float32 {
	for {
		p := slices.Clone(ConnectFour.Rules().Starts[0])
		for range stones {
			if legal := legalOf(ConnectFour, p); len(legal) > 0 {
				ConnectFour.Host().Play(p, legal[r.IntN(len(legal))])
			}
		}
		if !overOf(p) {
			return p
		}
	}
}

// In positions so late that the whole tree below them can be walked, the search and the walk agree
// on the value and on all best moves.
func TestFourEqualsWalk(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	f := NewFour()
	count := map[int]int{}
	for i := range 200 {
		p := midgame(r, 30+i%8)
		walk := &Solution{ConnectFour, map[string]float32{}}
		if got, want := f.Value(p), int(walk.Value(p)); got != want {
			t.Fatalf("value %d, want %d:\n%s", got, want, ConnectFour.Host().Text(p))
		}
		if got, want := f.Best(p), walk.Best(p); !slices.Equal(got, want) {
			t.Fatalf("best moves %v, want %v:\n%s", got, want, ConnectFour.Host().Text(p))
		}
		count[f.Value(p)]++
	}
	if count[1] < 20 || count[0] < 5 || count[-1] < 20 {
		t.Errorf("values %v are no test: all three should be common", count)
	}
}

// Three stones in the bottom row with both ends open win, whoever is to move.
func TestFourKnown(t *testing.T) {
	f := NewFour()
	if p := played(ConnectFour, 3, 3, 2, 2, 4); f.Value(p) != -1 || len(f.Best(p)) != fourCols {
		t.Errorf("value %d to the seat that has to answer, best %v: all moves lose", f.Value(p), f.Best(p))
	}
	if p := played(ConnectFour, 3, 3, 2, 2, 4, 1); f.Value(p) != 1 {
		t.Errorf("value %d to the seat that can complete four in column 5", f.Value(p))
	}
	if over := played(ConnectFour, 0, 1, 0, 1, 0, 1, 0); f.Value(over) != -1 {
		t.Errorf("a lost game is worth %d to the loser", f.Value(over))
	}
}

func BenchmarkFour(b *testing.B) {
	for _, stones := range []int{10, 12, 14, 16, 20} {
		b.Run(fmt.Sprint(stones), func(b *testing.B) {
			r := rand.New(rand.NewPCG(9, 10))
			f := NewFour()
			for b.Loop() {
				f.Value(midgame(r, stones))
			}
			b.ReportMetric(float64(f.Nodes)/float64(b.N), "nodes/op")
		})
	}
}

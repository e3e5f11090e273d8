package debug

import (
	"image"
	"testing"

	"github.com/gomlx/compute/gobackend"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// TestDraw: pictures show what agents see, and nothing that they must remember.
func TestDraw(t *testing.T) {
	b, err := gobackend.New("ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	s := rl.NewScope(rl.NewDevice(b), 1)
	number := func(x int32) rl.Tensor { return rl.FromFlat(s, []int32{x}, 1) }
	memorised := func(age int32) rl.Tree {
		return rl.NewTree([]string{"cue", "age"}, []rl.Tensor{number(1), number(age)})
	}
	agents := team{AgentsOptions{2, 3}}
	both := rl.NewTree([]string{"symbol", "number", "alive"}, []rl.Tensor{
		rl.FromFlat(s, []int32{0, 2}, 1, 2), rl.FromFlat(s, []float32{1}, 1, 1), rl.FromFlat(s, []bool{true, false}, 1, 2),
	})
	for name, x := range map[string]struct {
		drawer env.Drawer
		state  rl.Tree
		want   string // the colour of the middle of each cell, row by row
	}{
		"symbol":  {identity{IdentityOptions{4}}, rl.One(number(2)), "..R."},
		"host":    {&host{4, 1}, rl.Tree{}, ".R.."},
		"legal":   {masked{MaskedOptions{3}}, rl.One(rl.FromFlat(s, []bool{true, true, false}, 1, 3)), "GW."},
		"cue":     {memory{MemoryOptions{3}}, memorised(0), ".R/B."},
		"blank":   {memory{MemoryOptions{3}}, memorised(2), "../B."},
		"asked":   {memory{MemoryOptions{3}}, memorised(4), "GG/BB"},
		"agents":  {agents, rl.One(rl.FromFlat(s, []int32{0, 2}, 1, 2)), "R../..R"},
		"kinds":   {kinds{agents, identityContinuous{}}, both, "R../..g/..R"},
		"game":    {twoStep{}, rl.One(number(1)), ".R."},
		"endless": {endless{}, rl.NewTree([]string{"age", "noise"}, []rl.Tensor{number(1), rl.FromFlat(s, []float32{0}, 1, 1)}), "R......./GWWWWWWW"},
	} {
		if got := cells(x.drawer.Draw(x.state).(*image.Paletted)); got != x.want {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
}

// cells returns the colours of the middles of all cells, row by row.
func cells(p *image.Paletted) string {
	const side = 48
	var out []byte
	for y := side / 2; y < p.Bounds().Dy(); y += side {
		if y > side {
			out = append(out, '/')
		}
		for x := side / 2; x < p.Bounds().Dx(); x += side {
			out = append(out, "WBg.RGbn"[p.ColorIndexAt(x, y)])
		}
	}
	return string(out)
}

package tag

import (
	"image"

	"github.com/weft-rl/weft/env/sketch"
	"github.com/weft-rl/weft/rl"
)

// Draw returns a picture of the plane: taggers, with their reach, and the runners that
// are in play.
func (d game) Draw(state rl.Tree) image.Image {
	x, y := rl.Floats(state.Leaf("x")), rl.Floats(state.Leaf("y"))
	playing := func(int) bool { return true }
	if d.Leave {
		in := rl.Read[bool](state.Leaf("playing"))
		playing = func(runner int) bool { return in[runner] }
	}
	c := sketch.New(300, sketch.Point{}, sketch.Point{X: d.Size, Y: d.Size})
	for i := d.agents() - 1; i >= 0; i-- { // taggers in front
		at := sketch.Point{X: x[i], Y: y[i]}
		switch {
		case i < d.Taggers:
			c.Disc(at, d.Reach*d.Size, sketch.Red)
		case playing(i - d.Taggers):
			c.Disc(at, d.Size/100, sketch.Green)
		}
	}
	return c.Paletted
}

// Rate returns what one can follow: the game has no time but steps.
func (d game) Rate() float64 { return 20 }

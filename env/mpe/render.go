package mpe

import (
	"image"

	"github.com/weft-rl/weft/env/sketch"
	"github.com/weft-rl/weft/rl"
)

// picture returns the area and a little beyond, with its bodies in their colours.
func (w world) picture(state rl.Tree, colour func(agent int) sketch.Colour) image.Image {
	pos := rl.Floats(state.At(0))
	c := sketch.New(300, sketch.Point{X: -1.5, Y: -1.5}, sketch.Point{X: 1.5, Y: 1.5})
	for i := len(w.bodies) - 1; i >= 0; i-- { // agents in front
		paint := sketch.Grey
		if i < w.agents {
			paint = colour(i)
		}
		c.Disc(sketch.Point{X: pos[2*i], Y: pos[2*i+1]}, w.bodies[i].size, paint)
	}
	return c.Paletted
}

// Rate returns the number of time steps a second.
func (w world) Rate() float64 { return 1 / timestep }

// Draw returns a picture of agents and landmarks.
func (d spread) Draw(state rl.Tree) image.Image {
	return d.picture(state, func(int) sketch.Colour { return sketch.Blue })
}

// Draw returns a picture of adversaries, good agents and obstacles.
func (d tag) Draw(state rl.Tree) image.Image {
	return d.picture(state, func(agent int) sketch.Colour {
		if agent < d.NumAdversaries {
			return sketch.Red
		}
		return sketch.Green
	})
}

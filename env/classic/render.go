package classic

import (
	"image"
	"math"

	"github.com/weft-rl/weft/env/sketch"
	"github.com/weft-rl/weft/rl"
)

// pictures are this many pixels wide.
const pictureWidth = 300

// Draw returns a picture of the cart, with as much of its track as it may use.
func (cartPole) Draw(state rl.Tree) image.Image {
	s := rl.Floats(state.At(0))
	x, theta := s[0], s[2]
	c := sketch.New(pictureWidth, sketch.Point{X: -cartX, Y: -.6}, sketch.Point{X: cartX, Y: 1.8})
	c.Line(sketch.Point{X: -cartX}, sketch.Point{X: cartX}, .03, sketch.Grey)
	c.Block(sketch.Point{X: x - .25, Y: -.15}, sketch.Point{X: x + .25, Y: .15}, sketch.Black)
	top := sketch.Point{X: x + 2*cartLength*math.Sin(theta), Y: .1 + 2*cartLength*math.Cos(theta)}
	c.Line(sketch.Point{X: x, Y: .1}, top, .1, sketch.Brown)
	c.Disc(sketch.Point{X: x, Y: .1}, .05, sketch.Blue)
	return c.Paletted
}

// Rate returns that of its time steps.
func (cartPole) Rate() float64 { return 1 / cartTau }

// Draw returns a picture of the pendulum: upright at an angle of 0.
func (pendulum) Draw(state rl.Tree) image.Image {
	theta := rl.Floats(state.At(0))[0]
	c := sketch.New(pictureWidth/2, sketch.Point{X: -1.3, Y: -1.3}, sketch.Point{X: 1.3, Y: 1.3})
	c.Line(sketch.Point{}, sketch.Point{X: -math.Sin(theta), Y: math.Cos(theta)}, .2, sketch.Red)
	c.Disc(sketch.Point{}, .05, sketch.Black)
	return c.Paletted
}

// Rate returns that of its time steps.
func (pendulum) Rate() float64 { return 20 }

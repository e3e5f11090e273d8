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

// Draw returns a picture of the two links, and of the bar that the tip is to reach.
func (acrobot) Draw(state rl.Tree) image.Image {
	s := rl.Floats(state.At(0))
	c := sketch.New(pictureWidth/2, sketch.Point{X: -2.2, Y: -2.2}, sketch.Point{X: 2.2, Y: 2.2})
	c.Line(sketch.Point{X: -2.2, Y: 1}, sketch.Point{X: 2.2, Y: 1}, .03, sketch.Grey)
	joint := sketch.Point{X: math.Sin(s[0]), Y: -math.Cos(s[0])}
	tip := sketch.Point{X: joint.X + math.Sin(s[0]+s[1]), Y: joint.Y - math.Cos(s[0]+s[1])}
	c.Line(sketch.Point{}, joint, .16, sketch.Blue)
	c.Line(joint, tip, .16, sketch.Red)
	c.Disc(sketch.Point{}, .08, sketch.Black)
	c.Disc(joint, .08, sketch.Black)
	return c.Paletted
}

// Rate returns Gymnasium's.
func (acrobot) Rate() float64 { return 15 }

// Draw returns a picture of the car in its valley.
func (mountainCar) Draw(state rl.Tree) image.Image { return drawValley(state, .5) }

// Rate returns Gymnasium's.
func (mountainCar) Rate() float64 { return 30 }

// Draw returns a picture of the car in its valley.
func (mountainCarContinuous) Draw(state rl.Tree) image.Image { return drawValley(state, .45) }

// Rate returns Gymnasium's.
func (mountainCarContinuous) Rate() float64 { return 30 }

// drawValley draws the valley, the flag at the goal and the car.
func drawValley(state rl.Tree, goal float64) image.Image {
	height := func(x float64) float64 { return .45*math.Sin(3*x) + .55 }
	x := rl.Floats(state.At(0))[0]
	c := sketch.New(pictureWidth, sketch.Point{X: carLeft - .05, Y: 0}, sketch.Point{X: carRight + .05, Y: 1.25})
	const parts = 60
	for i := range parts {
		a, b := carLeft+(carRight-carLeft)*float64(i)/parts, carLeft+(carRight-carLeft)*float64(i+1)/parts
		c.Line(sketch.Point{X: a, Y: height(a)}, sketch.Point{X: b, Y: height(b)}, .012, sketch.Black)
	}
	c.Line(sketch.Point{X: goal, Y: height(goal)}, sketch.Point{X: goal, Y: height(goal) + .16}, .01, sketch.Grey)
	c.Block(sketch.Point{X: goal, Y: height(goal) + .1}, sketch.Point{X: goal + .07, Y: height(goal) + .16}, sketch.Green)
	c.Disc(sketch.Point{X: x, Y: height(x) + .05}, .045, sketch.Blue)
	return c.Paletted
}

package board

import (
	"image"

	"github.com/weft-rl/weft/env/game"
	"github.com/weft-rl/weft/env/sketch"
)

// Picture draws the board: red stones are the first seat's, blue ones the second's.
func (g *grid) Picture(position []float32) image.Image {
	at := func(x, y float64) sketch.Point { return sketch.Point{X: x, Y: y} }
	c := sketch.New(40*g.cols, at(0, 0), at(float64(g.cols), float64(g.rows)))
	for i := 1; i < g.cols; i++ {
		c.Line(at(float64(i), 0), at(float64(i), float64(g.rows)), .03, sketch.Silver)
	}
	for i := 1; i < g.rows; i++ {
		c.Line(at(0, float64(i)), at(float64(g.cols), float64(i)), .03, sketch.Silver)
	}
	for i, x := range position[game.Header:] {
		if x != 0 {
			middle := at(float64(i%g.cols)+.5, float64(g.rows-1-i/g.cols)+.5)
			c.Disc(middle, .38, map[float32]sketch.Colour{1: sketch.Red, -1: sketch.Blue}[x])
		}
	}
	return c.Paletted
}

// Package sketch is enough to draw small environments: discs, lines and rectangles in
// the environment's own coordinates, with y upwards, on a picture of few colours.
package sketch

import (
	"image"
	"image/color"
	"math"
)

// Colour is one of the palette's.
type Colour uint8

// The palette.
const (
	White Colour = iota
	Black
	Grey
	Silver
	Red
	Green
	Blue
	Brown
)

var colours = color.Palette{
	color.RGBA{255, 255, 255, 255}, color.RGBA{0, 0, 0, 255}, color.RGBA{90, 90, 90, 255}, color.RGBA{200, 200, 200, 255},
	color.RGBA{205, 65, 65, 255}, color.RGBA{60, 165, 75, 255}, color.RGBA{65, 90, 205, 255}, color.RGBA{200, 150, 100, 255},
}

// Point is a place in the environment.
type Point struct{ X, Y float64 }

// Canvas is a picture of a part of the plane.
type Canvas struct {
	*image.Paletted
	min   Point
	scale float64 // pixels of a unit
}

// New returns an empty picture of the plane between two corners, width pixels wide.
func New(width int, min, max Point) *Canvas {
	scale := float64(width) / (max.X - min.X)
	height := int(math.Round(scale * (max.Y - min.Y)))
	return &Canvas{image.NewPaletted(image.Rect(0, 0, width, height), colours), min, scale}
}

// Disc fills a circle.
func (c *Canvas) Disc(at Point, radius float64, paint Colour) {
	c.fill(box(at, radius), paint, func(p Point) bool { return math.Hypot(p.X-at.X, p.Y-at.Y) <= radius })
}

// Line draws a line with round ends.
func (c *Canvas) Line(a, b Point, width float64, paint Colour) {
	d := Point{b.X - a.X, b.Y - a.Y}
	square := d.X*d.X + d.Y*d.Y
	c.fill([]Point{{min(a.X, b.X) - width, min(a.Y, b.Y) - width}, {max(a.X, b.X) + width, max(a.Y, b.Y) + width}}, paint, func(p Point) bool {
		t := 0.
		if square > 0 {
			t = min(1, max(0, ((p.X-a.X)*d.X+(p.Y-a.Y)*d.Y)/square))
		}
		return math.Hypot(p.X-a.X-t*d.X, p.Y-a.Y-t*d.Y) <= width/2
	})
}

// Block fills a rectangle between two corners.
func (c *Canvas) Block(a, b Point, paint Colour) {
	lo, hi := Point{min(a.X, b.X), min(a.Y, b.Y)}, Point{max(a.X, b.X), max(a.Y, b.Y)}
	c.fill([]Point{lo, hi}, paint, func(p Point) bool { return p.X >= lo.X && p.X <= hi.X && p.Y >= lo.Y && p.Y <= hi.Y })
}

func box(at Point, r float64) []Point {
	return []Point{{at.X - r, at.Y - r}, {at.X + r, at.Y + r}}
}

// fill paints the pixels between two corners whose middle is inside.
func (c *Canvas) fill(corners []Point, paint Colour, inside func(Point) bool) {
	x0, y1 := c.pixel(corners[0])
	x1, y0 := c.pixel(corners[1])
	area := image.Rect(x0, y0, x1+1, y1+1).Intersect(c.Bounds())
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			if inside(c.point(x, y)) {
				c.SetColorIndex(x, y, uint8(paint))
			}
		}
	}
}

// pixel returns where a point is; far away ones are moved nearer, or they would not fit
// into a number.
func (c *Canvas) pixel(p Point) (x, y int) {
	clamp := func(v float64) int { return int(math.Floor(min(1e6, max(-1e6, v)))) }
	return clamp((p.X - c.min.X) * c.scale), c.Bounds().Dy() - 1 - clamp((p.Y-c.min.Y)*c.scale)
}

// point returns the middle of a pixel.
func (c *Canvas) point(x, y int) Point {
	return Point{c.min.X + (float64(x)+.5)/c.scale, c.min.Y + (float64(c.Bounds().Dy()-1-y)+.5)/c.scale}
}

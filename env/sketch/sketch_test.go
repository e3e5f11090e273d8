package sketch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-rl/weft/env/sketch"
)

// text returns a picture with a character for each pixel.
func text(c *sketch.Canvas) string {
	var b strings.Builder
	for y := range c.Bounds().Dy() {
		for x := range c.Bounds().Dx() {
			b.WriteByte(".#ox"[c.ColorIndexAt(x, y)])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func Example() {
	c := sketch.New(8, sketch.Point{X: -2, Y: -1}, sketch.Point{X: 2, Y: 1})
	c.Block(sketch.Point{X: -2, Y: -1}, sketch.Point{X: 0, Y: -.5}, sketch.Grey)
	c.Disc(sketch.Point{X: 1, Y: 0}, 1, sketch.Black)
	fmt.Print(text(c))
	// Output:
	// .....##.
	// ....####
	// ....####
	// oooo.##.
}

// What lies outside is cut off, and half is painted where half is inside.
func TestOutside(t *testing.T) {
	c := sketch.New(4, sketch.Point{}, sketch.Point{X: 1, Y: 1})
	c.Disc(sketch.Point{X: 1e30, Y: -1e30}, 1, sketch.Black)
	c.Line(sketch.Point{X: -9, Y: .1}, sketch.Point{X: 9, Y: .1}, .1, sketch.Grey)
	c.Line(sketch.Point{X: .1, Y: .9}, sketch.Point{X: .1, Y: .9}, .1, sketch.Black)
	if got, want := text(c), "#...\n....\n....\noooo\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

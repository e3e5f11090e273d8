package wrap

import (
	"image"
	"image/color"
	"testing"
)

// Colours become the nearest of the palette.
func TestWebsafe(t *testing.T) {
	x := image.NewNRGBA(image.Rect(3, 5, 5, 6))
	x.Set(3, 5, color.NRGBA{0xff, 0x30, 0x00, 0xff})
	x.Set(4, 5, color.NRGBA{0x19, 0x1a, 0xe6, 0xff})
	p := websafe(x)
	for i, want := range []color.RGBA{{0xff, 0x33, 0x00, 0xff}, {0x00, 0x33, 0xff, 0xff}} {
		if got := p.At(3+i, 5); got != want {
			t.Errorf("%v became %v, want %v", x.At(3+i, 5), got, want)
		}
	}
}

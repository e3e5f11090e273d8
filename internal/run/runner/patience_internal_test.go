package runner

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-rl/weft/rl"
)

// TestPatience: a compilation is mentioned once it takes long, and again whenever it has
// taken twice as long; the next one begins anew, and devices do not mix.
func TestPatience(t *testing.T) {
	p := patience{map[*rl.Device]time.Duration{}}
	a, b := new(rl.Device), new(rl.Device)
	var said []string
	look := func(d *rl.Device, what string, seconds ...int) {
		for _, s := range seconds {
			if text, ok := p.look(d, what, time.Duration(s)*time.Second); ok {
				said = append(said, text)
			}
		}
	}
	look(a, "loss", 0, 1, 9, 10, 11, 19)
	look(b, "loop", 5, 9, 12)
	look(a, "loss", 21, 41, 42)
	look(a, "", 0)
	look(a, "span", 3, 11, 12)
	want := []string{
		`compiling "loss", 10 s so far`, `compiling "loop", 12 s so far`, `compiling "loss", 21 s so far`,
		`compiling "loss", 42 s so far`, `compiling "span", 11 s so far`,
	}
	if !slices.Equal(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
}

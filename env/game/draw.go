package game

import (
	"image"

	"github.com/weft-rl/weft/rl"
)

// Pictured is a game whose positions can be drawn.
type Pictured interface {
	Game
	// Picture draws a position.
	Picture(position []float32) image.Image
}

// drawn is environments of a game whose positions can be drawn.
type drawn struct{ Pictured }

// Draw implements env.Drawer: the position is the first leaf of the state in every form.
func (d drawn) Draw(state rl.Tree) image.Image {
	return d.Picture(rl.Read[float32](state.At(0)))
}

// Rate returns moves a second that one can follow.
func (drawn) Rate() float64 { return 1 }

// Unwrap lets Of find the rules.
func (d drawn) Unwrap() any { return d.Pictured }

package debug

import (
	"image"

	"github.com/weft-rl/weft/env/sketch"
	"github.com/weft-rl/weft/rl"
)

// rate is the pictures a second of films: a step can be followed.
const rate = 2

// sheet is a picture of rows, numbered from the top.
type sheet struct {
	*sketch.Canvas
	rows, columns int
}

func newSheet(rows, columns int) sheet {
	return sheet{sketch.New(48*columns, sketch.Point{}, sketch.Point{X: float64(columns), Y: float64(rows)}), rows, columns}
}

// middle returns the middle of a cell.
func (s sheet) middle(row, column int) sketch.Point {
	return sketch.Point{X: float64(column) + .5, Y: float64(s.rows-row) - .5}
}

// cell paints a cell.
func (s sheet) cell(row, column int, paint sketch.Colour) {
	m := s.middle(row, column)
	s.Block(sketch.Point{X: m.X - .42, Y: m.Y - .42}, sketch.Point{X: m.X + .42, Y: m.Y + .42}, paint)
}

// choice paints a row of n cells, of which one is shown.
func (s sheet) choice(row, n, shown int, paint sketch.Colour) {
	for i := range n {
		s.cell(row, i, sketch.Silver)
	}
	s.cell(row, shown, paint)
}

// number draws an axis from low to high with a disc at x.
func (s sheet) number(row int, x, low, high float64) {
	left, right := s.middle(row, 0), s.middle(row, s.columns-1)
	s.Line(left, right, .06, sketch.Silver)
	s.Disc(sketch.Point{X: left.X + (right.X-left.X)*(x-low)/(high-low), Y: left.Y}, .25, sketch.Red)
}

// first returns the number of a leaf of one environment.
func first[T int32 | float32](t rl.Tensor) T { return rl.Read[T](t)[0] }

// Draw shows the symbol in a row of all symbols.
func (d identity) Draw(state rl.Tree) image.Image {
	return drawSymbol(d.Symbols, int(first[int32](state.At(0))))
}

// Rate returns 2.
func (identity) Rate() float64 { return rate }

// Draw shows the symbol in a row of all symbols.
func (h *host) Draw(rl.Tree) image.Image { return drawSymbol(h.symbols, h.shown) }

// Rate returns 2.
func (*host) Rate() float64 { return rate }

func drawSymbol(symbols, shown int) image.Image {
	s := newSheet(1, symbols)
	s.choice(0, symbols, shown, sketch.Red)
	return s.Paletted
}

// Draw shows the number on an axis from -1 to 1.
func (identityContinuous) Draw(state rl.Tree) image.Image {
	s := newSheet(1, 4)
	s.number(0, float64(first[float32](state.At(0))), -1, 1)
	return s.Paletted
}

// Rate returns 2.
func (identityContinuous) Rate() float64 { return rate }

// Draw shows the legal actions in green, and the one to take with a dot.
func (d masked) Draw(state rl.Tree) image.Image {
	s := newSheet(1, d.Actions)
	best := 0
	for i, legal := range rl.Read[bool](state.At(0)) {
		s.cell(0, i, sketch.Silver)
		if legal {
			s.cell(0, i, sketch.Green)
			best = i
		}
	}
	s.Disc(s.middle(0, best), .15, sketch.White)
	return s.Paletted
}

// Rate returns 2.
func (masked) Rate() float64 { return rate }

// Draw shows the cue while the agent sees it, the steps since then below, and a green cell for each
// answer when the agent is asked.
func (d memory) Draw(state rl.Tree) image.Image {
	cue, age := int(first[int32](state.Leaf("cue"))), int(first[int32](state.Leaf("age")))
	s := newSheet(2, 2)
	for i := range 2 {
		s.cell(0, i, sketch.Silver)
		if age > d.Delay {
			s.cell(0, i, sketch.Green)
		}
	}
	if age == 0 {
		s.cell(0, cue, sketch.Red)
	}
	left := s.middle(1, 0)
	s.Line(left, s.middle(1, 1), .06, sketch.Silver)
	s.Line(left, sketch.Point{X: left.X + min(1, float64(age)/float64(d.Delay+1)), Y: left.Y}, .12, sketch.Black)
	return s.Paletted
}

// Rate returns 2.
func (memory) Rate() float64 { return rate }

// Draw shows a row of all symbols for each agent.
func (d team) Draw(state rl.Tree) image.Image {
	s := newSheet(d.Agents, d.Symbols)
	for i, shown := range rl.Read[int32](state.At(0)) {
		s.choice(i, d.Symbols, int(shown), sketch.Red)
	}
	return s.Paletted
}

// Rate returns 2.
func (team) Rate() float64 { return rate }

// Draw shows a row of all symbols for each agent, grey if the agent is out of play, and the number
// below.
func (d kinds) Draw(state rl.Tree) image.Image {
	s := newSheet(d.Agents+1, d.Symbols)
	alive := rl.Read[bool](state.Leaf("alive"))
	for i, shown := range rl.Read[int32](state.Leaf("symbol")) {
		paint := sketch.Red
		if !alive[i] {
			paint = sketch.Grey
		}
		s.choice(i, d.Symbols, int(shown), paint)
	}
	s.number(d.Agents, float64(first[float32](state.Leaf("number"))), -1, 1)
	return s.Paletted
}

// Rate returns 2.
func (kinds) Rate() float64 { return rate }

// Draw shows which game is played: the first cell is the choice between the two others.
func (twoStep) Draw(state rl.Tree) image.Image {
	s := newSheet(1, 3)
	s.choice(0, 3, min(2, int(first[int32](state.At(0)))), sketch.Red)
	return s.Paletted
}

// Rate returns 2.
func (twoStep) Rate() float64 { return rate }

// Draw shows the noise on an axis, and the steps taken below.
func (endless) Draw(state rl.Tree) image.Image {
	s := newSheet(2, EndlessLength)
	s.number(0, float64(first[float32](state.Leaf("noise"))), 0, 1)
	for i := range min(EndlessLength, int(first[int32](state.Leaf("age")))) {
		s.cell(1, i, sketch.Green)
	}
	return s.Paletted
}

// Rate returns 2.
func (endless) Rate() float64 { return rate }

package board

import (
	"strings"

	"github.com/weft-rl/weft/env/game"
)

// gridHost is the rules of a grid for one position.
type gridHost struct{ *grid }

func (g *grid) host() game.Host { return gridHost{g} }

// Play puts the stone and counts stones of the same colour on both sides of it, in each direction.
func (h gridHost) Play(position []float32, action int) {
	if position[game.OverAt] == 1 {
		return
	}
	board := position[game.Header:]
	field := action
	if h.drop {
		field = h.lowest(board, action)
	}
	mark := 1 - 2*position[game.SeatAt]
	board[field] = mark
	position[game.SeatAt] = 1 - position[game.SeatAt]
	switch {
	case h.wins(board, field):
		position[game.OverAt], position[game.ReturnAt] = 1, mark
	case h.full(board):
		position[game.OverAt] = 1
	}
}

// lowest returns the lowest empty field of a column, or the highest one if none is.
func (h gridHost) lowest(board []float32, column int) int {
	r := h.rows - 1
	for r > 0 && board[h.field(r, column)] != 0 {
		r--
	}
	return h.field(r, column)
}

// wins reports whether the stone on a field is one of enough in a row.
func (h gridHost) wins(board []float32, field int) bool {
	r, c := field/h.cols, field%h.cols
	run := func(dr, dc int) (n int) {
		for i := 1; h.inside(r+i*dr, c+i*dc) && board[h.field(r+i*dr, c+i*dc)] == board[field]; i++ {
			n++
		}
		return n
	}
	for _, d := range directions {
		if 1+run(d[0], d[1])+run(-d[0], -d[1]) >= h.need {
			return true
		}
	}
	return false
}

func (h gridHost) full(board []float32) bool {
	for _, x := range board {
		if x == 0 {
			return false
		}
	}
	return true
}

func (h gridHost) Legal(position []float32, legal []bool) {
	for a := range legal {
		legal[a] = position[game.OverAt] == 0 && position[game.Header+a] == 0 // of a column, the highest field
	}
}

func (h gridHost) Observe(position []float32, seat int, obs []float32) {
	clear(obs)
	for i, x := range position[game.Header:] {
		switch x {
		case float32(1 - 2*seat):
			obs[2*i] = 1
		case float32(2*seat - 1):
			obs[2*i+1] = 1
		}
	}
}

// Text returns the board by lines from the top: X has the first move.
func (h gridHost) Text(position []float32) string {
	var b strings.Builder
	for i, x := range position[game.Header:] {
		b.WriteByte("O.X"[int(x)+1])
		if i%h.cols == h.cols-1 {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// symmetries returns the rotations and reflections of the board that keep the rules: all eight of a
// square, four of another rectangle, two where stones fall.
func (g *grid) symmetries() (out []game.Symmetry) {
	for _, turned := range []bool{false, true} {
		for _, upsideDown := range []bool{false, true} {
			for _, mirrored := range []bool{false, true} {
				if turned && g.rows != g.cols || g.drop && (turned || upsideDown) {
					continue
				}
				out = append(out, g.symmetry(func(r, c int) (int, int) {
					if mirrored {
						c = g.cols - 1 - c
					}
					if upsideDown {
						r = g.rows - 1 - r
					}
					if turned {
						r, c = c, r
					}
					return r, c
				}))
			}
		}
	}
	return out
}

// symmetry returns the transformation that brings the stone of field from(r, c) to (r, c).
func (g *grid) symmetry(from func(r, c int) (int, int)) game.Symmetry {
	s := game.Symmetry{
		Position: make([]int, g.rules.Width), Obs: make([]int, g.rules.Seen),
		Action: make([]int, g.rules.Actions), Moved: make([]int, g.rules.Actions),
	}
	for i := range game.Header {
		s.Position[i] = i
	}
	for f := range g.rows * g.cols {
		r, c := from(f/g.cols, f%g.cols)
		old := g.field(r, c)
		s.Position[game.Header+f] = game.Header + old
		s.Obs[2*f], s.Obs[2*f+1] = 2*old, 2*old+1
		switch {
		case !g.drop:
			s.Action[f] = old
		case f < g.cols:
			s.Action[f] = c
		}
	}
	for a, old := range s.Action {
		s.Moved[old] = a
	}
	return s
}

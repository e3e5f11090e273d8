package board

import (
	"image"
	"slices"

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

// Picture draws both cards, what both seats have put in, and who won.
func (kuhn) Picture(position []float32) image.Image {
	put := [2]int{1, 1}
	for seat := range put {
		if slices.Contains(kuhnBets(position, seat), 2) {
			put[seat]++
		}
	}
	t := newTable(position, put)
	t.card(0, int(position[kuhnCard]))
	t.card(1, int(position[kuhnCard+1]))
	return t.Paletted
}

// kuhnBets returns the moves that a seat has made: seats take turns.
func kuhnBets(position []float32, seat int) (out []float32) {
	for i := seat; i < kuhnMoves; i += 2 {
		out = append(out, position[kuhnMove+i])
	}
	return out
}

// Picture draws both cards, the public one between them, what both seats have put in, and who won.
func (leduc) Picture(position []float32) image.Image {
	t := newTable(position, [2]int{int(position[leducStake]), int(position[leducStake+1])})
	t.card(0, int(position[leducCard]))
	t.card(1, int(position[leducCard+1]))
	t.place(tableWidth/2, -1)
	if position[leducRound] > 0 {
		t.place(tableWidth/2, int(position[leducPublic]))
	}
	return t.Paletted
}

// table is a picture of a game of poker: the first seat is on the left.
type table struct{ *sketch.Canvas }

const (
	tableWidth  = 6.
	tableHeight = 4.
	tableRow    = 5 // stakes in a row
)

// newTable draws what both seats have put in, as red and blue discs, and a green bar below the
// winner of a game that is over, below both if nobody won.
func newTable(position []float32, put [2]int) table {
	t := table{sketch.New(240, sketch.Point{}, sketch.Point{X: tableWidth, Y: tableHeight})}
	for seat, n := range put {
		for i := range n {
			at := sketch.Point{X: t.middle(seat) + .36*float64(i%tableRow-tableRow/2), Y: 1.5 - .36*float64(i/tableRow)}
			t.Disc(at, .15, [2]sketch.Colour{sketch.Red, sketch.Blue}[seat])
		}
		lost := position[game.ReturnAt] < 0
		if seat == 1 {
			lost = position[game.ReturnAt] > 0
		}
		if position[game.OverAt] > 0 && !lost {
			t.Line(sketch.Point{X: t.middle(seat) - .8, Y: .2}, sketch.Point{X: t.middle(seat) + .8, Y: .2}, .16, sketch.Green)
		}
	}
	return t
}

// middle returns the middle of a seat's place.
func (table) middle(seat int) float64 { return [2]float64{1, tableWidth - 1}[seat] }

// card draws a seat's card.
func (t table) card(seat, rank int) { t.place(t.middle(seat), rank) }

// place draws a card of a rank as that many pips and one more; of rank -1, its back.
func (t table) place(x float64, rank int) {
	paint := sketch.Silver
	if rank < 0 {
		paint = sketch.Brown
	}
	t.Block(sketch.Point{X: x - .6, Y: 2}, sketch.Point{X: x + .6, Y: 3.8}, paint)
	for i := range rank + 1 {
		t.Disc(sketch.Point{X: x, Y: 2.9 + .5*(float64(i)-float64(rank)/2)}, .17, sketch.Black)
	}
}

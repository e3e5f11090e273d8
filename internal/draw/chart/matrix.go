package chart

import (
	"fmt"
	"html"
	"math"
)

// Matrix is numbers by row and column, drawn as a field of colours.
type Matrix struct {
	Title      string
	Rows, Cols string // what the rows and the columns are
	RowNames   []string
	ColNames   []string
	Cells      [][]float64 // NaN where there is none
}

const (
	field  = 46. // side of a cell
	border = 110.
)

// SVG draws the matrix: blue above 0, red below, the stronger the further.
func (m Matrix) SVG() string {
	c := &canvas{}
	most := 0.
	for _, row := range m.Cells {
		for _, x := range row {
			if !math.IsNaN(x) {
				most = max(most, math.Abs(x))
			}
		}
	}
	width, height := border+field*float64(len(m.ColNames))+20, border+field*float64(len(m.RowNames))+20
	c.text(20, 24, 15, "start", "bold", m.Title)
	c.text(border, 50, 12, "start", "", m.Cols)
	c.text(20, border-12, 12, "start", "", m.Rows)
	for j, name := range m.ColNames {
		c.text(border+field*(float64(j)+.5), border-12, 11, "middle", "", name)
	}
	for i, row := range m.Cells {
		y := border + field*float64(i)
		c.text(border-10, y+field/2+4, 11, "end", "", m.RowNames[i])
		for j, x := range row {
			c.number(border+field*float64(j), y, x, most)
		}
	}
	return c.page(m.Title, max(width, 320), height)
}

// number draws a number in its field.
func (c *canvas) number(x, y, value, most float64) {
	if math.IsNaN(value) {
		return
	}
	colour, strength := "#2563eb", 0.
	if value < 0 {
		colour = "#dc2626"
	}
	if most > 0 {
		strength = .75 * math.Abs(value) / most
	}
	fmt.Fprintf(&c.b, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s" fill-opacity="%.2f" stroke="%s"/>`+"\n",
		number(x), number(y), number(field), number(field), colour, strength, grid)
	c.text(x+field/2, y+field/2+4, 11, "middle", "", html.EscapeString(fmt.Sprintf("%.2f", value)))
}

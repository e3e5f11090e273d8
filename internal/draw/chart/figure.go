// Package chart draws figures fit for a paper as SVG: lines with bands, and
// intervals. Series differ in colour, dash and marker, so that a figure printed
// in grey can be read; the legend stands outside of the axes.
package chart

import (
	"fmt"
	"io"
)

// Figure is rows of panels above each other, with one legend for all.
type Figure struct {
	Title  string // text above the figure, and for readers who cannot see it
	Rows   [][]Panel
	Legend []string // names of the series, by the number of their style
	Notes  []string // lines below the figure
}

// Panel is a plot of a figure.
type Panel interface {
	height() float64
	// left returns the room that labels need on the panel's left.
	left() float64
	draw(c *canvas, b box)
}

// box is where a panel's axes are.
type box struct{ left, top, right, bottom float64 }

// Sizes of a figure, in pixels.
const (
	width    = 720
	margin   = 14.
	fontSize = 12.
	small    = 11.
	gap      = 26. // between panels
	above    = 24. // a panel's title
	below    = 40. // ticks and the label of the axis
)

// SVG writes a figure.
func (f Figure) SVG(w io.Writer) error {
	c := &canvas{}
	y := margin
	if f.Title != "" {
		c.text(margin, y+14, 15, "start", "bold", f.Title)
		y += 30
	}
	y = f.legend(c, y)
	for _, row := range f.Rows {
		y = f.row(c, row, y)
	}
	for _, note := range f.Notes {
		for _, line := range fold(note, width-2*margin, small) {
			c.faint(margin, y+small, line)
			y += 16
		}
	}
	_, err := io.WriteString(w, c.page(f.Title, width, y+margin))
	return err
}

// row draws panels beside each other, and returns where the next row begins.
// Their axes are equally wide, and the labels on the left have what they need.
func (f Figure) row(c *canvas, panels []Panel, y float64) float64 {
	high, room := 0., width-2*margin-gap*float64(len(panels)-1)
	for _, p := range panels {
		high, room = max(high, p.height()), room-p.left()
	}
	each, x := room/float64(len(panels)), margin
	for _, p := range panels {
		x += p.left()
		p.draw(c, box{x, y + above, x + each, y + above + high})
		x += each + gap
	}
	return y + above + high + below + 8
}

// legend draws a sample of every style with its name, in as many lines as it
// takes, and returns where the panels begin.
func (f Figure) legend(c *canvas, y float64) float64 {
	if len(f.Legend) == 0 {
		return y
	}
	x := margin
	for i, name := range f.Legend {
		wide := 34 + textWidth(name, fontSize) + 18
		if x > margin && x+wide > width-margin {
			x, y = margin, y+20
		}
		s := styleOf(i)
		c.path([]float64{x, x + 28}, []float64{y + 8, y + 8}, s, 2)
		c.marker(s.marker, x+14, y+8, 3.6, s.colour)
		c.text(x+34, y+12, fontSize, "start", "", name)
		x += wide
	}
	return y + 26
}

// style is how a series is told from the others.
type style struct{ colour, dash, marker string }

// colours are told from each other by the colour-blind, and differ in how dark
// they are (Okabe and Ito's, the darker ones first).
var (
	colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9"}
	dashes  = []string{"", "7 3", "2 2.5", "9 3 2 3"}
	markers = []string{"circle", "square", "triangle", "diamond", "cross"}
)

// styleOf returns the style of a series by its number. Dashes and markers come
// round after different numbers of series than colours do.
func styleOf(i int) style {
	return style{colours[i%len(colours)], dashes[i%len(dashes)], markers[i%len(markers)]}
}

// Row is one interval with its name.
type Row struct {
	Name             string
	Value, Low, High float64
	Style            int
}

// Intervals draws values with their intervals, one below the other.
type Intervals struct {
	Title, Label string
	Rows         []Row
	Names        bool     // write the rows' names on the left
	At           *float64 // a line to compare with
	Low, High    *float64 // ends of the axis; nil follows the rows
}

const rowHeight = 26.

func (p Intervals) height() float64 { return rowHeight*float64(len(p.Rows)) + 6 }

func (p Intervals) left() (w float64) {
	if !p.Names {
		return 0
	}
	for _, r := range p.Rows {
		w = max(w, textWidth(r.Name, fontSize)+10)
	}
	return w
}

func (p Intervals) draw(c *canvas, b box) {
	b.bottom = b.top + p.height()
	var all []float64
	for _, r := range p.Rows {
		all = append(all, r.Value, r.Low, r.High)
	}
	if p.At != nil {
		all = append(all, *p.At)
	}
	a := newAxis(all, p.Low, p.High, b.left, b.right)
	c.text((b.left+b.right)/2, b.top-8, fontSize, "middle", "bold", p.Title)
	c.xAxis(a, b, p.Label)
	if p.At != nil {
		c.rule(a.at(*p.At), b.top, a.at(*p.At), b.bottom, ink, "3 3")
	}
	for i, r := range p.Rows {
		y, s := b.top+rowHeight*(float64(i)+.5)+3, styleOf(r.Style)
		from, to := a.at(r.Low), a.at(r.High)
		c.bar(from, y-6, max(1.5, to-from), 12, s.colour)
		c.marker(s.marker, a.at(r.Value), y, 4.2, s.colour)
		if p.Names {
			c.text(b.left-8, y+4, fontSize, "end", "", r.Name)
		}
	}
}

// Series is a line with a band around it.
type Series struct {
	X, Y, Low, High []float64 // Low and High may be nil
	Style           int
	Steps           bool // go from one point to the next in a stair, as a distribution does
}

// Lines draws series over one pair of axes.
type Lines struct {
	Title, XLabel, YLabel string
	Series                []Series
	XLow, XHigh           *float64 // ends of the axes; nil follows the series
	YLow, YHigh           *float64
	At                    *float64 // a height to compare with
	Band                  *Band    // heights to compare with
	Tall                  float64  // 0 is the usual height
}

// bandColour fills an interval to compare with.
const bandColour = "#cfd6df"

// Band is an interval of heights.
type Band struct{ Low, High float64 }

func (p Lines) height() float64 { return max(p.Tall, 210) }

func (p Lines) left() float64 { return 54 }

func (p Lines) draw(c *canvas, b box) {
	var xs, ys []float64
	for _, s := range p.Series {
		xs, ys = append(xs, s.X...), append(append(append(ys, s.Y...), s.Low...), s.High...)
	}
	if p.At != nil {
		ys = append(ys, *p.At)
	}
	if p.Band != nil {
		ys = append(ys, p.Band.Low, p.Band.High)
	}
	x, y := newAxis(xs, p.XLow, p.XHigh, b.left, b.right), newAxis(ys, p.YLow, p.YHigh, b.bottom, b.top)
	c.text((b.left+b.right)/2, b.top-8, fontSize, "middle", "bold", p.Title)
	if p.Band != nil {
		low, high := y.at(p.Band.Low), y.at(p.Band.High)
		c.bar(b.left, high, b.right-b.left, max(2, low-high), bandColour)
	}
	c.yAxis(y, b, p.YLabel)
	c.xAxis(x, b, p.XLabel)
	if p.At != nil {
		c.rule(b.left, y.at(*p.At), b.right, y.at(*p.At), ink, "3 3")
	}
	for i, s := range p.Series { // bands below all lines
		if s.Low != nil {
			px, low := placed(s.X, s.Low, x, y, s.Steps)
			_, high := placed(s.X, s.High, x, y, s.Steps)
			c.band(px, low, high, styleOf(p.Series[i].Style).colour)
		}
	}
	for i, s := range p.Series {
		px, py := placed(s.X, s.Y, x, y, s.Steps)
		c.path(px, py, styleOf(s.Style), 1.8)
		c.marks(px, py, styleOf(s.Style), float64(i)/float64(len(p.Series)))
	}
}

// placed returns where the points of a series lie, a stair's with its corners.
func placed(xs, ys []float64, x, y axis, stair bool) (px, py []float64) {
	for i := range xs {
		if stair && i > 0 {
			px, py = append(px, x.at(xs[i])), append(py, py[len(py)-1])
		}
		px, py = append(px, x.at(xs[i])), append(py, y.at(ys[i]))
	}
	return px, py
}

// number writes a coordinate.
func number(x float64) string { return fmt.Sprintf("%.2f", x) }

package chart

import (
	"fmt"
	"html"
	"math"
	"strings"
	"unicode/utf8"
)

// Colours of what is no series.
const (
	ink   = "#1f2430"
	faint = "#5b6270"
	grid  = "#e4e7ec"
)

// canvas collects the elements of a drawing.
type canvas struct{ b strings.Builder }

func (c *canvas) page(title string, width, height float64) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" role="img" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" font-family="Helvetica, Arial, sans-serif">`+
		"\n<title>%s</title>\n"+`<rect width="100%%" height="100%%" fill="#ffffff"/>`+"\n%s</svg>\n",
		width, height, width, height, html.EscapeString(title), c.b.String())
}

func (c *canvas) text(x, y, size float64, anchor, weight, s string) {
	if weight != "" {
		weight = fmt.Sprintf(` font-weight="%s"`, weight)
	}
	fmt.Fprintf(&c.b, `<text x="%s" y="%s" font-size="%g" fill="%s" text-anchor="%s"%s>%s</text>`+"\n", number(x), number(y), size, ink, anchor, weight, html.EscapeString(s))
}

// faint writes what is of less importance.
func (c *canvas) faint(x, y float64, s string) {
	fmt.Fprintf(&c.b, `<text x="%s" y="%s" font-size="%g" fill="%s">%s</text>`+"\n", number(x), number(y), small, faint, html.EscapeString(s))
}

func (c *canvas) rule(x1, y1, x2, y2 float64, colour, dash string) {
	if dash != "" {
		dash = fmt.Sprintf(` stroke-dasharray="%s"`, dash)
	}
	fmt.Fprintf(&c.b, `<line x1="%s" y1="%s" x2="%s" y2="%s" stroke="%s"%s/>`+"\n", number(x1), number(y1), number(x2), number(y2), colour, dash)
}

func (c *canvas) bar(x, y, w, h float64, colour string) {
	fmt.Fprintf(&c.b, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s" fill-opacity="0.3"/>`+"\n", number(x), number(y), number(w), number(h), colour)
}

// points writes coordinates, leaving out those that are no numbers.
func points(xs, ys []float64) string {
	var b strings.Builder
	for i := range xs {
		if !math.IsNaN(ys[i]) {
			fmt.Fprintf(&b, "%s,%s ", number(xs[i]), number(ys[i]))
		}
	}
	return strings.TrimSpace(b.String())
}

func (c *canvas) path(xs, ys []float64, s style, width float64) {
	dash := ""
	if s.dash != "" {
		dash = fmt.Sprintf(` stroke-dasharray="%s"`, s.dash)
	}
	fmt.Fprintf(&c.b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="%g" stroke-linejoin="round"%s/>`+"\n", points(xs, ys), s.colour, width, dash)
}

// band fills what lies between two lines.
func (c *canvas) band(xs, low, high []float64, colour string) {
	var bx, by []float64
	for i := len(xs) - 1; i >= 0; i-- {
		bx, by = append(bx, xs[i]), append(by, low[i])
	}
	fmt.Fprintf(&c.b, `<polygon points="%s %s" fill="%s" fill-opacity="0.18"/>`+"\n", points(xs, high), points(bx, by), colour)
}

// marks draws a few markers along a line, the first a part of the way to the
// second, so that those of series beside each other do not meet.
func (c *canvas) marks(xs, ys []float64, s style, part float64) {
	if len(xs) == 0 {
		return
	}
	const apart = 80. // pixels
	next := xs[0] + apart*(.2+.8*part)
	for i, x := range xs {
		if x >= next && !math.IsNaN(ys[i]) {
			c.marker(s.marker, x, ys[i], 3.4, s.colour)
			next = x + apart
		}
	}
}

// marker draws a small shape with a white edge.
func (c *canvas) marker(shape string, x, y, r float64, colour string) {
	attributes := fmt.Sprintf(`fill="%s" stroke="#ffffff" stroke-width="0.8"`, colour)
	switch shape {
	case "circle":
		fmt.Fprintf(&c.b, `<circle cx="%s" cy="%s" r="%g" %s/>`+"\n", number(x), number(y), r, attributes)
		return
	case "square":
		c.shape(x, y, attributes, -r, -r, r, -r, r, r, -r, r)
	case "triangle":
		c.shape(x, y, attributes, 0, -1.3*r, 1.2*r, r, -1.2*r, r)
	case "diamond":
		c.shape(x, y, attributes, 0, -1.4*r, 1.2*r, 0, 0, 1.4*r, -1.2*r, 0)
	case "cross":
		t := r / 2.2
		c.shape(x, y, attributes, -t, -1.2*r, t, -1.2*r, t, -t, 1.2*r, -t, 1.2*r, t, t, t, t, 1.2*r, -t, 1.2*r, -t, t, -1.2*r, t, -1.2*r, -t, -t, -t)
	}
}

// shape draws a polygon by corners relative to a point.
func (c *canvas) shape(x, y float64, attributes string, corners ...float64) {
	var xs, ys []float64
	for i := 0; i < len(corners); i += 2 {
		xs, ys = append(xs, x+corners[i]), append(ys, y+corners[i+1])
	}
	fmt.Fprintf(&c.b, `<polygon points="%s" %s/>`+"\n", points(xs, ys), attributes)
}

// xAxis draws the horizontal axis of a box, with lines across it.
func (c *canvas) xAxis(a axis, b box, label string) {
	for _, v := range a.ticks() {
		x := a.at(v)
		c.rule(x, b.top, x, b.bottom, grid, "")
		c.rule(x, b.bottom, x, b.bottom+4, ink, "")
		c.text(x, b.bottom+17, small, "middle", "", a.label(v))
	}
	c.rule(b.left, b.bottom, b.right, b.bottom, ink, "")
	if label != "" {
		c.text((b.left+b.right)/2, b.bottom+34, fontSize, "middle", "", label)
	}
}

// yAxis draws the vertical axis of a box, with lines across it.
func (c *canvas) yAxis(a axis, b box, label string) {
	for _, v := range a.ticks() {
		y := a.at(v)
		c.rule(b.left, y, b.right, y, grid, "")
		c.rule(b.left-4, y, b.left, y, ink, "")
		c.text(b.left-7, y+4, small, "end", "", a.label(v))
	}
	c.rule(b.left, b.top, b.left, b.bottom, ink, "")
	if label != "" {
		x, y := b.left-44, (b.top+b.bottom)/2
		fmt.Fprintf(&c.b, `<text transform="translate(%s %s) rotate(-90)" font-size="%g" fill="%s" text-anchor="middle">%s</text>`+"\n", number(x), number(y), fontSize, ink, html.EscapeString(label))
	}
}

// textWidth returns about how wide a text is.
func textWidth(s string, size float64) float64 {
	return .56 * size * float64(utf8.RuneCountInString(s))
}

// fold breaks a text into lines of a width.
func fold(text string, width, size float64) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && textWidth(line+" "+word, size) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}

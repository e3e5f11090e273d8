package chart

import (
	"fmt"
	"math"
)

// Lineage draws members as lanes that go on from generation to generation, shaded by how good they
// were, with arrows where one copied another.
type Lineage struct {
	Title, XLabel string
	Names         []string    // names of the lanes
	Ends          []float64   // where generations end on the axis, ascending; the first begins at 0
	Shade         [][]float64 // from 0 to 1, by generation and lane; NaN is a lane that failed
	Copies        []Copy
	Path          []int // lanes to follow, by generation; -1 is none
}

// Copy is an arrow from the end of a lane in one generation to the beginning of another's.
type Copy struct {
	From, FromGeneration int
	To, ToGeneration     int
}

// lane is the height of a lane.
const lane = 20.

func (p Lineage) height() float64 { return lane * float64(len(p.Names)) }

func (p Lineage) left() (w float64) {
	for _, name := range p.Names {
		w = max(w, textWidth(name, small)+10)
	}
	return w
}

func (p Lineage) draw(c *canvas, b box) {
	b.bottom = b.top + p.height()
	zero := 0.
	x := newAxis(p.Ends, &zero, &p.Ends[len(p.Ends)-1], b.left, b.right)
	c.text((b.left+b.right)/2, b.top-8, fontSize, "middle", "bold", p.Title)
	c.xAxis(x, b, p.XLabel)
	y := func(i int) float64 { return b.top + lane*(float64(i)+.5) }
	for i, name := range p.Names {
		c.text(b.left-7, y(i)+4, small, "end", "", name)
	}
	for g := range p.Shade {
		for i, shade := range p.Shade[g] {
			c.cell(x.at(p.begin(g)), x.at(p.Ends[g]), y(i), shade)
		}
	}
	for _, e := range p.Copies {
		followed := e.ToGeneration < len(p.Path) && p.Path[e.ToGeneration] == e.To
		c.arrow(x.at(p.Ends[e.FromGeneration])-4, y(e.From), x.at(p.begin(e.ToGeneration))+4, y(e.To), followed)
	}
	for g, i := range p.Path {
		if i >= 0 {
			c.path([]float64{x.at(p.begin(g)) + 4, x.at(p.Ends[g]) - 4}, []float64{y(i), y(i)}, style{colour: followedColour}, 2.4)
		}
	}
}

// begin returns where a generation begins on the axis.
func (p Lineage) begin(g int) float64 {
	if g == 0 {
		return 0
	}
	return p.Ends[g-1]
}

// followedColour marks what a reader is to follow.
const followedColour = "#d55e00"

// cell draws a generation of a lane.
func (c *canvas) cell(from, to, y, shade float64) {
	if math.IsNaN(shade) {
		c.marker("cross", (from+to)/2, y, 4, ink)
		return
	}
	fmt.Fprintf(&c.b, `<rect x="%s" y="%s" width="%s" height="%s" fill="#0072b2" fill-opacity="%.2f"/>`+"\n",
		number(from+1), number(y-lane/2+2), number(max(1, to-from-2)), number(lane-4), .08+.62*shade)
}

// arrow draws a line with a head at its end.
func (c *canvas) arrow(x1, y1, x2, y2 float64, followed bool) {
	colour, width := faint, 1.
	if followed {
		colour, width = followedColour, 2.4
	}
	length := math.Hypot(x2-x1, y2-y1)
	ux, uy := (x2-x1)/length, (y2-y1)/length
	c.path([]float64{x1, x2 - 5*ux}, []float64{y1, y2 - 5*uy}, style{colour: colour}, width)
	c.shape(x2, y2, fmt.Sprintf(`fill="%s"`, colour), 0, 0, -7*ux+3.2*uy, -7*uy-3.2*ux, -7*ux-3.2*uy, -7*uy+3.2*ux)
}

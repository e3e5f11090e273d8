// Package graph draws fragmented dataflow graphs: as pictures (SVG), and for Graphviz (DOT).
package graph

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-rl/weft/fdg"
)

// SVG draws a graph: time runs down, every fragment has a column, loops
// and branches are boxes around what is in them, and lines show who uses what.
// Those between fragments are coloured, labelled with what crosses and how
// often, and listed at the side. The drawing needs nothing but itself.
func SVG(w io.Writer, g *fdg.Graph) error {
	d := layout(g)
	b := bufio.NewWriter(w)
	p := pen{d: d, w: b}
	p.all()
	return b.Flush()
}

// pen writes a drawing. It ignores errors: the buffered writer keeps the first
// one for Flush.
type pen struct {
	d *drawing
	w io.Writer
}

const style = `
text { font-family: system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; font-size: 12px; fill: #1c1f23; }
.h1 { font-size: 22px; font-weight: 600; } .h2 { font-size: 15px; font-weight: 600; } .h3 { font-size: 12.5px; font-weight: 600; }
.small { font-size: 10.5px; fill: #555b64; } .label { font-size: 10.5px; } .num { font-size: 9.5px; font-weight: 700; fill: #fff; text-anchor: middle; }
.loop { fill: #1c2a3a; fill-opacity: .03; stroke: #5b6470; stroke-width: 1.2; } .branch { fill: none; stroke: #6b737e; stroke-dasharray: 5 3; }
.wire { fill: none; stroke-width: 1.5; } .quiet { fill: none; stroke: #7d858f; stroke-width: 1; }
.resource { stroke-dasharray: 6 3; } .control { stroke-dasharray: 1.5 2.5; }
`

func (p *pen) all() {
	d := p.d
	side := d.w
	width, height := side+tableW+margin, max(d.h, top+p.tableHeight()+margin)
	p.put(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" role="img" aria-labelledby="title desc">`,
		num(width), num(height), num(width), num(height))
	p.put(`<title id="title">Fragmented dataflow graph of %s</title>`, esc(d.g.Name))
	p.put(`<desc id="desc">%s</desc>`, esc(p.summary()))
	p.put(`<style>%s</style>`, style)
	p.markers()
	p.put(`<rect width="%s" height="%s" fill="#ffffff"/>`, num(width), num(height))
	p.text(margin, 44, "h1", path.Base(d.g.Name))
	p.text(margin, 64, "small", fmt.Sprintf("%s %s, %s", d.g.Name, d.g.Train, d.g.Pos))
	p.lanes()
	p.boxes()
	p.wires()
	for _, n := range d.g.Nodes {
		p.node(n)
	}
	p.labels()
	p.table(side)
	p.put(`</svg>`)
}

func (p *pen) summary() string {
	names := make([]string, len(p.d.g.Fragments))
	for i, f := range p.d.g.Fragments {
		names[i] = f.Name
	}
	return fmt.Sprintf("%d nodes in %d fragments (%s), top to bottom in program order; %d lines between fragments, numbered and listed at the right.",
		len(p.d.g.Nodes), len(names), strings.Join(names, ", "), p.d.numbers)
}

func (p *pen) put(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

func (p *pen) text(x, y float64, class, s string) {
	p.put(`<text x="%s" y="%s" class="%s">%s</text>`, num(x), num(y), class, esc(s))
}

// pair writes text with something small after it, wherever that is.
func (p *pen) pair(x, y float64, class, s, ink, small string) {
	p.put(`<text x="%s" y="%s"><tspan class="%s" style="fill:%s">%s</tspan><tspan dx="8" class="small">%s</tspan></text>`,
		num(x), num(y), class, ink, esc(s), esc(small))
}

// markers writes the heads of arrows: one for each lane, and a grey one.
func (p *pen) markers() {
	head := `<marker id="a%s" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0.5L8 4L0 7.5z" fill="%s"/></marker>`
	p.put(`<defs>`)
	for i, l := range p.d.lanes {
		p.put(head, strconv.Itoa(i), l.ink)
	}
	p.put(head, "", "#7d858f")
	p.put(`</defs>`)
}

func (p *pen) lanes() {
	for _, l := range p.d.lanes {
		p.put(`<rect x="%s" y="78" width="%s" height="%s" rx="10" fill="%s"/>`, num(l.x), num(l.w), num(p.d.bottom-78), l.tint)
		p.put(`<path d="M%s 79.5H%s" stroke="%s" stroke-width="3" stroke-linecap="round"/>`, num(l.x+10), num(l.x+l.w-10), l.ink)
		p.pair(l.col, 102, "h2", cut(l.name, column*0.6, 16), l.ink, l.sub)
	}
}

func (p *pen) boxes() {
	for _, b := range p.d.boxes {
		if b.node < 0 {
			p.put(`<path d="M%s %sH%s" class="branch"/>`, num(b.x), num(b.y), num(b.x+b.w))
			p.text(p.d.lanes[b.first].col, b.y+17, "h3", cut(b.caption, column, headSize))
			continue
		}
		class := "loop"
		if p.d.g.Nodes[b.node].Kind == fdg.Branch {
			class = "branch"
		}
		p.put(`<rect x="%s" y="%s" width="%s" height="%s" rx="8" class="%s"/>`, num(b.x), num(b.y), num(b.w), num(b.h), class)
	}
}

// node draws a node, or the heading of a box.
func (p *pen) node(n fdg.Node) {
	at := p.d.places[n.ID]
	p.put(`<g id="n%d"><title>%s</title>`, n.ID, esc(p.hint(n)))
	switch {
	case len(n.Opens) > 0:
		p.heading(n, at)
	case at.h == slimH:
		p.slim(n, at)
	default:
		p.card(n, at)
	}
	p.put(`</g>`)
}

func (p *pen) hint(n fdg.Node) string {
	s := fmt.Sprintf("%d %s: %s %s", n.ID, n.Kind, n.Text, n.At())
	if n.Fragment != "" {
		s += ", " + n.Fragment
	}
	return strings.TrimSpace(s + " " + n.Shape)
}

// headSize is the size of bold text, as if it were not bold.
const headSize = 13.6

func (p *pen) heading(n fdg.Node, at place) {
	caption := n.Text
	for _, b := range p.d.boxes {
		if b.node == n.ID {
			caption = b.caption
		}
	}
	pos := n.Pos.String()
	if measure(caption, headSize)+measure(pos, 10.5)+20 > at.w {
		pos = fmt.Sprintf(":%d", n.Pos.Line)
	}
	room := at.w - measure(pos, 10.5) - 20
	fill, indent := "none", 0.0
	if slices.ContainsFunc(p.d.wires, func(w wire) bool { return slices.Contains(w.to, n.ID) }) {
		fill, indent = "#ffffff", 8 // arrows end here
	}
	p.put(`<rect x="%s" y="%s" width="%s" height="%s" rx="6" fill="%s" fill-opacity=".7"/>`, num(at.x), num(at.y), num(at.w), num(at.h), fill)
	p.pair(at.x+indent, at.y+14, "h3", cut(caption, room-indent*1.5, headSize), "#1c1f23", pos)
}

// frame draws the rounded rectangle of a node with its fragment's band.
func (p *pen) frame(at place, ink string) {
	p.put(`<rect x="%s" y="%s" width="%s" height="%s" rx="6" fill="#ffffff" stroke="%s"/>`, num(at.x), num(at.y), num(at.w), num(at.h), ink)
	p.put(`<path d="M%s %sv%s" stroke="%s" stroke-width="4" stroke-linecap="round"/>`, num(at.x+5), num(at.y+6), num(at.h-12), ink)
}

func (p *pen) slim(n fdg.Node, at place) {
	ink := p.d.lanes[at.lane].ink
	if n.Kind.Control() {
		ink = "#5b6470"
	}
	p.frame(at, ink)
	p.text(at.x+14, at.y+15, "label", cut(n.Text, at.w-36-measure(n.Pos.String(), 10.5), 10.5))
	p.put(`<text x="%s" y="%s" class="small" style="text-anchor:end">%s</text>`, num(at.x+at.w-8), num(at.y+15), esc(n.Pos.String()))
}

func (p *pen) card(n fdg.Node, at place) {
	p.frame(at, p.d.lanes[at.lane].ink)
	p.text(at.x+14, at.y+15, "node", cut(n.Text, at.w-22, 12.3))
	low := fmt.Sprintf("%s · %s", n.Kind, n.Pos)
	if len(n.Writes) > 0 {
		names := make([]string, len(n.Writes))
		for i, r := range n.Writes {
			names[i] = p.d.g.Resources[r].Name
		}
		low += " · writes " + strings.Join(names, ", ")
	}
	p.text(at.x+14, at.y+29, "small", cut(low, at.w-24, 10.7))
}

// wires draws the quiet ones first: they lie below those that cross.
func (p *pen) wires() {
	docks := p.d.newDocks()
	lines := make([][][]point, len(p.d.wires))
	for i, w := range p.d.wires {
		lines[i] = p.d.paths(w, docks)
	}
	for _, crosses := range []bool{false, true} {
		for i, w := range p.d.wires {
			if w.crosses == crosses {
				p.wire(w, lines[i])
			}
		}
	}
}

func (p *pen) wire(w wire, lines [][]point) {
	class, colour, head := "quiet", "", ""
	if w.crosses {
		l := p.d.places[w.from].lane
		class, colour, head = "wire", fmt.Sprintf(` stroke="%s"`, p.d.lanes[l].ink), strconv.Itoa(l)
	}
	ids := make([]string, len(w.edges))
	for i, e := range w.edges {
		ids[i] = strconv.Itoa(e.ID)
	}
	p.put(`<g class="%s %s"%s data-edges="%s"><title>%s</title>`, class, w.kind, colour, strings.Join(ids, " "), esc(p.tell(w)))
	for _, line := range lines {
		p.put(`<path d="%s" marker-end="url(#a%s)"/>`, trace(line), head)
	}
	p.put(`</g>`)
}

// tell says all about a wire.
func (p *pen) tell(w wire) string {
	s := fmt.Sprintf("%s from %d to %s", strings.Join(w.names, ", "), w.from, strings.Trim(fmt.Sprint(w.to), "[]"))
	if w.often != "" {
		s += ", each " + often(w.often)
	}
	if w.carried {
		s += ", for the next round"
	}
	return s
}

// often has a real sign for times.
func often(s string) string { return strings.ReplaceAll(s, " x ", " × ") }

func (p *pen) labels() {
	for _, w := range p.d.wires {
		if w.crosses {
			p.label(w)
		}
	}
}

// label lies on the wire below its node, between the exits on both sides.
func (p *pen) label(w wire) {
	at := p.d.places[w.from]
	_, y := p.d.leave(w)
	x := at.x + 14 + trackW*float64(p.d.exits(w.from, 0))
	room := at.x + at.w - 14 - trackW*float64(p.d.exits(w.from, 1)) - x
	ink := p.d.lanes[at.lane].ink
	s := w.short(room - 28)
	wide := measure(s, 10.5) + 28
	if w.side == 1 {
		x += room - wide
	}
	p.put(`<g class="note"><title>%s</title><rect x="%s" y="%s" width="%s" height="16" rx="8" fill="#ffffff" stroke="%s" stroke-width=".8"/>`,
		esc(p.tell(w)), num(x), num(y-8), num(wide), ink)
	p.badge(x+9, y, ink, w.number)
	p.text(x+20, y+3.7, "label", s)
	p.put(`</g>`)
}

func (p *pen) badge(x, y float64, ink string, n int) {
	p.put(`<circle cx="%s" cy="%s" r="7.5" fill="%s"/><text x="%s" y="%s" class="num">%d</text>`, num(x), num(y), ink, num(x), num(y+3.4), n)
}

// short returns the fullest label that fits: first the names become fewer, then the
// loops.
func (w wire) short(room float64) string {
	loops := strings.Split(w.often, " x ")
	for i := range loops {
		maybe := strings.HasSuffix(loops[i], " ?")
		loops[i] = strings.TrimSuffix(loops[i], " ?")
		loops[i] = loops[i][strings.LastIndex(loops[i], ".")+1:]
		if maybe {
			loops[i] += " ?"
		}
	}
	some := last(w.names[0])
	if len(w.names) > 1 {
		some += fmt.Sprintf(" +%d", len(w.names)-1)
	}
	all := make([]string, len(w.names))
	for i, n := range w.names {
		all[i] = last(n)
	}
	full := strings.Join(loops, " × ")
	for _, s := range []string{strings.Join(all, ", ") + " · " + full, some + " · " + full} {
		if measure(s, 10.5) <= room {
			return s
		}
	}
	return cut(some+" · … × "+loops[len(loops)-1], room, 10.5)
}

// last returns the end of a dotted name.
func last(s string) string {
	if strings.HasSuffix(s, ")") {
		return s
	}
	return s[strings.LastIndex(s, ".")+1:]
}

// num writes a coordinate without needless digits.
func num(x float64) string {
	return cmp.Or(strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(x, 'f', 1, 64), "0"), "."), "0")
}

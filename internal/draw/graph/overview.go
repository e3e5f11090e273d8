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

// The measures of an overview. It is as wide as a page of text, so that it can be read without
// being enlarged.
const (
	pageW   = 880.0
	rowH    = 30.0
	sectH   = 34.0
	laneTop = 92.0
	cardH   = 38.0
	edgeRim = 14.0
)

// crossing is an arrow of an overview: a value, or parts of one, that goes from one fragment to
// another.
type crossing struct {
	from, to int // fragments
	name     string
	kind     fdg.Dependence
	loops    []int // loops in whose rounds the value crosses
	maybe    bool
	parts    []string
	first    int // the earliest node that makes it
}

// Overview draws the fragments of a graph alone, side by side, with an arrow for everything that
// crosses between them, in the order of the program and under how often it does. SVG draws what is
// in the fragments as well.
func Overview(w io.Writer, g *fdg.Graph) error {
	b := bufio.NewWriter(w)
	o := overview{pen: pen{d: &drawing{g: g}, w: b}}
	o.d.makeLanes()
	o.d.lanes = o.d.lanes[:len(g.Fragments)]
	o.collect(g)
	o.draw(g)
	return b.Flush()
}

type overview struct {
	pen
	arrows []crossing
}

// collect lists what crosses: outer loops first, and within them in program order.
func (o *overview) collect(g *fdg.Graph) {
	for i, f := range g.Fragments {
		for _, p := range f.Exits {
			to := slices.IndexFunc(g.Fragments, func(x fdg.Fragment) bool { return x.Name == p.Peer })
			if to < 0 {
				continue
			}
			name, part := p.Name, ""
			if variable, rest, ok := strings.Cut(p.Name, "@"); ok { // of node so and so
				_, part, _ = strings.Cut(rest, ".")
				name = variable
			}
			x := crossing{from: i, to: to, name: name, kind: p.Kind, loops: p.Freq.Loops, maybe: p.Freq.Maybe, parts: []string{part}, first: len(g.Nodes)}
			for _, e := range p.Edges {
				x.first = min(x.first, g.Edges[e].From)
			}
			o.add(x)
		}
	}
	slices.SortStableFunc(o.arrows, func(a, b crossing) int {
		return cmp.Or(slices.Compare(a.loops, b.loops), cmp.Compare(a.first, b.first))
	})
}

// add adds a crossing, to one of the same value if there is one.
func (o *overview) add(x crossing) {
	i := slices.IndexFunc(o.arrows, func(a crossing) bool {
		return a.from == x.from && a.to == x.to && a.name == x.name && a.kind == x.kind && slices.Equal(a.loops, x.loops)
	})
	if i < 0 {
		o.arrows = append(o.arrows, x)
		return
	}
	a := &o.arrows[i]
	a.parts, a.maybe, a.first = append(a.parts, x.parts...), a.maybe && x.maybe, min(a.first, x.first)
}

// label names what crosses: the value, with its part if it is one.
func (x crossing) label() string {
	out := x.name
	switch {
	case len(x.parts) > 1:
		out += fmt.Sprintf(" (%d parts)", len(x.parts))
	case x.parts[0] != "":
		out += "." + x.parts[0]
	}
	if x.maybe {
		out += " ?"
	}
	return out
}

func (o *overview) draw(g *fdg.Graph) {
	sections := 0
	for i, a := range o.arrows {
		if i == 0 || !slices.Equal(a.loops, o.arrows[i-1].loops) {
			sections++
		}
	}
	height := laneTop + cardH + float64(len(o.arrows))*rowH + float64(sections)*sectH + margin
	width := (pageW - 2*margin) / float64(max(1, len(o.d.lanes)))
	for i := range o.d.lanes {
		l := &o.d.lanes[i]
		l.x, l.w = margin+float64(i)*width, width-8
	}
	o.put(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" role="img" aria-labelledby="title desc">`, num(pageW), num(height), num(pageW), num(height))
	o.put(`<title id="title">Fragments of %s</title>`, esc(g.Name))
	o.put(`<desc id="desc">%d fragments side by side and %d things that cross between them, top to bottom in program order.</desc>`, len(g.Fragments), len(o.arrows))
	o.put(`<style>%s</style>`, style)
	o.markers()
	o.put(`<rect width="%s" height="%s" fill="#ffffff"/>`, num(pageW), num(height))
	o.text(margin, 44, "h1", path.Base(g.Name))
	o.text(margin, 66, "small", "Its fragments, and what crosses between them. Broken lines are copies of state, dotted ones decisions; a ? stands in a branch.")
	for i := range o.d.lanes {
		o.lane(&o.d.lanes[i], height)
	}
	y := laneTop + cardH
	for i, a := range o.arrows {
		if i == 0 || !slices.Equal(a.loops, o.arrows[i-1].loops) {
			y += sectH
			o.put(`<path d="M%s %sH%s" stroke="#c9ced6"/>`, num(margin), num(y-10), num(pageW-margin-8))
			o.put(`<text x="%s" y="%s" class="small" text-anchor="end">%s</text>`, num(pageW-margin-8), num(y-14), esc("once per "+often(g.Often(fdg.Freq{Loops: a.loops}))))
		}
		y += rowH
		o.arrow(a, y-8)
	}
	o.put(`</svg>`)
}

// lane draws a fragment's card and the line that goes down from it.
func (o *overview) lane(l *lane, height float64) {
	o.put(`<rect x="%s" y="%s" width="%s" height="%s" rx="8" fill="%s" stroke="%s"/>`, num(l.x), num(laneTop), num(l.w), num(cardH), l.tint, l.ink)
	o.put(`<text x="%s" y="%s" class="h2" text-anchor="middle" style="fill:%s">%s</text>`, num(l.x+l.w/2), num(laneTop+cardH/2+5), l.ink, esc(cut(l.name, l.w-8, 15)))
	o.put(`<path d="M%s %sV%s" stroke="%s" stroke-opacity=".35" stroke-width="2"/>`, num(l.x+l.w/2), num(laneTop+cardH), num(height-margin/2), l.ink)
}

// arrow draws what crosses, with its name in the middle.
func (o *overview) arrow(a crossing, y float64) {
	from, to := o.d.lanes[a.from], o.d.lanes[a.to]
	x1, x2 := from.x+from.w/2, to.x+to.w/2
	class := "wire"
	switch a.kind {
	case fdg.OfResource:
		class += " resource"
	case fdg.OfControl:
		class += " control"
	}
	o.put(`<g><title>%s</title>`, esc(fmt.Sprintf("%s to %s: %s %s", from.name, to.name, a.name, strings.Join(a.parts, " "))))
	o.put(`<path d="M%s %sH%s" class="%s" stroke="%s" marker-end="url(#a%s)"/>`, num(x1), num(y), num(x2-sign(x2-x1)*2), class, from.ink, strconv.Itoa(a.from))
	room := max(x1, x2) - min(x1, x2) - edgeRim
	o.put(`<text x="%s" y="%s" class="label" text-anchor="middle" style="paint-order:stroke;stroke:#fff;stroke-width:4px">%s</text>`, num((x1+x2)/2), num(y-5), esc(cut(a.label(), room, 10.5)))
	o.put(`</g>`)
}

func sign(x float64) float64 {
	if x < 0 {
		return -1
	}
	return 1
}

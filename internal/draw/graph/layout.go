package graph

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-rl/weft/fdg"
)

// The measures of a drawing, in its units: those of a slide 1600 or so wide.
const (
	margin   = 24.0 // around everything
	top      = 118.0
	column   = 224.0 // width of a node
	nodeH    = 36.0
	slimH    = 22.0 // height of logs and of what leaves a loop
	headH    = 20.0
	gap      = 12.0 // below a row
	channelH = 18.0 // height of a horizontal line with a label
	trackW   = 8.0  // width of a vertical line
	inset    = 7.0  // inset of a box within the box around it
)

// everywhere is the lane of what every fragment computes for itself.
const everywhere = "everywhere"

// lane is the column of one fragment: nodes in the middle, and on both sides of
// them the tracks on which lines run up and down.
type lane struct {
	name, sub string
	ink, tint string
	x, w, col float64
	tracks    [2]int // number of tracks on the left and on the right
}

// place is where a node is drawn. Of a loop or a branch it is the heading.
type place struct {
	lane, slot int
	x, y, w, h float64
}

// slot is one row of nodes, one heading, or the end of a box.
type slot struct {
	nodes    []int
	channels int // lines that leave its nodes
	y, h     float64
}

// box is the frame of a loop or of a branch.
type box struct {
	node, depth int // the node is -1 for a further arm of the branch around it
	first, last int // lanes
	open, close int // slots
	caption     string
	x, y, w, h  float64
}

// drawing is a graph with everything in its place.
type drawing struct {
	g       *fdg.Graph
	lanes   []lane
	places  []place // places, by node
	slots   []slot
	boxes   []box
	wires   []wire
	row     int // the slot that may take another node, or -1
	uses    map[[2]int]bool
	w, h    float64
	bottom  float64 // lower end of the lanes
	numbers int     // number of wires with a number
}

// layout puts a graph in its place: first in what order, then who needs how
// much room, then where.
func layout(g *fdg.Graph) *drawing {
	d := &drawing{g: g, row: -1, places: make([]place, len(g.Nodes)), uses: map[[2]int]bool{}}
	for _, e := range g.Edges {
		if e.Carried < 0 {
			d.uses[[2]int{e.From, e.To}] = true
		}
	}
	d.makeLanes()
	d.stack(0, 0, 0)
	d.wire()
	d.measure()
	return d
}

// inks are dark enough for text and lines on white and on the tint beside them.
var inks = [][2]string{
	{"#1f5fa8", "#eff5fc"}, {"#2e7030", "#eff8ef"}, {"#a34e00", "#fef5ea"}, {"#6a3d9a", "#f6f1fb"},
	{"#b3261e", "#fdf0ef"}, {"#006b73", "#eaf7f8"}, {"#5f5f00", "#f8f8e6"}, {"#8a2c6b", "#fbeff7"},
}

func (d *drawing) makeLanes() {
	for i, f := range d.g.Fragments {
		c := inks[i%len(inks)]
		sub := ""
		if f.Group != f.Name {
			sub = f.Group
		}
		d.lanes = append(d.lanes, lane{name: f.Name, sub: sub, ink: c[0], tint: c[1]})
	}
	shared := func(n fdg.Node) bool { return n.Fragment == "" && !n.Kind.Control() }
	if len(d.lanes) == 0 || slices.ContainsFunc(d.g.Nodes, shared) {
		d.lanes = append(d.lanes, lane{name: everywhere, sub: "each fragment for itself", ink: "#4a4f57", tint: "#f4f5f6"})
	}
}

func (d *drawing) laneOf(name string) int {
	return max(0, slices.IndexFunc(d.lanes, func(l lane) bool { return l.name == cmp.Or(name, everywhere) }))
}

// stack gives the nodes of a region their slots, those around it being in lane
// home where they have none of their own.
func (d *drawing) stack(region, depth, home int) {
	for _, id := range d.g.Regions[region].Nodes {
		n := d.g.Nodes[id]
		switch {
		case len(n.Opens) > 0:
			d.open(n, depth, home)
		case n.Kind.Control():
			d.put(id, home)
		default:
			d.put(id, d.laneOf(n.Fragment))
		}
	}
}

// put places a node beside the ones before it if it uses none of them and its
// lane is free, else below.
func (d *drawing) put(id, at int) {
	if d.row < 0 || !d.beside(id, at) {
		d.row = len(d.slots)
		d.slots = append(d.slots, slot{h: d.height(id)})
	}
	s := &d.slots[d.row]
	s.nodes = append(s.nodes, id)
	d.places[id] = place{lane: at, slot: d.row, w: column, h: d.height(id)}
}

func (d *drawing) beside(id, at int) bool {
	for _, other := range d.slots[d.row].nodes {
		if d.places[other].lane == at || d.uses[[2]int{other, id}] || d.height(other) != d.height(id) {
			return false
		}
	}
	return true
}

func (d *drawing) height(id int) float64 {
	if k := d.g.Nodes[id].Kind; k == fdg.Log || k.Control() {
		return slimH
	}
	return nodeH
}

// alone adds a slot that holds no row.
func (d *drawing) alone(s slot) int {
	d.row = -1
	d.slots = append(d.slots, s)
	return len(d.slots) - 1
}

func (d *drawing) open(n fdg.Node, depth, home int) {
	b := box{node: n.ID, depth: depth, caption: n.Text}
	b.first, b.last = d.span(n, home)
	arms := slices.DeleteFunc(slices.Clone(n.Opens), func(r int) bool { return len(d.g.Regions[r].Nodes) == 0 })
	if n.Kind == fdg.Branch && len(arms) == 1 && arms[0] != n.Opens[0] {
		b.caption = fmt.Sprintf("%s: %s", d.g.Regions[arms[0]].Label, n.Text)
	}
	b.open = d.alone(slot{nodes: []int{n.ID}, h: headH})
	d.places[n.ID] = place{lane: b.first, slot: b.open, w: column, h: headH}
	at := len(d.boxes)
	d.boxes = append(d.boxes, b)
	for i, r := range arms {
		if label := d.g.Regions[r].Label; i > 0 || len(arms) > 1 && label != "then" {
			s := d.alone(slot{h: headH})
			d.boxes = append(d.boxes, box{node: -1, depth: depth, first: b.first, last: b.last, open: s, close: s, caption: label})
		}
		d.stack(r, depth+1, b.first)
	}
	d.boxes[at].close = d.alone(slot{})
}

// span returns which lanes a node touches with all that is inside it, or, with
// nothing inside, those that decide it, or else lane home.
func (d *drawing) span(n fdg.Node, home int) (first, last int) {
	first, last = len(d.lanes), -1
	take := func(l int) { first, last = min(first, l), max(last, l) }
	d.inside(n, func(n fdg.Node) {
		if !n.Kind.Control() {
			take(d.laneOf(n.Fragment))
		}
	})
	if last >= 0 {
		return first, last
	}
	for _, e := range d.g.Edges {
		if e.To == n.ID {
			take(d.places[e.From].lane)
		}
	}
	if last < 0 {
		take(home)
	}
	return first, last
}

func (d *drawing) inside(n fdg.Node, do func(fdg.Node)) {
	for _, r := range n.Opens {
		for _, id := range d.g.Regions[r].Nodes {
			do(d.g.Nodes[id])
			d.inside(d.g.Nodes[id], do)
		}
	}
}

// measure turns slots and tracks into coordinates.
func (d *drawing) measure() {
	x := margin
	for i := range d.lanes {
		l := &d.lanes[i]
		left, right := d.edges(i)
		l.x, l.col = x, x+left+gutter(l.tracks[0])
		l.w = l.col + column + gutter(l.tracks[1]) + right - x
		x += l.w + 6
	}
	d.w = x - 6 + margin
	y := top
	for i := range d.slots {
		s := &d.slots[i]
		if s.h == headH { // away from what is above
			y += 4
		}
		s.y = y
		y += s.h + gap/2 + float64(s.channels)*channelH
		if s.h == nodeH && s.channels == 0 {
			y += gap / 2
		}
		for _, n := range s.nodes {
			p := &d.places[n]
			p.x, p.y = d.lanes[p.lane].col, s.y
		}
	}
	d.bottom = y + gap
	d.h = d.bottom + margin
	d.frame()
}

// edges returns the room that boxes need which begin or end at a lane.
func (d *drawing) edges(lane int) (left, right float64) {
	left, right = 4, 4
	for _, b := range d.boxes {
		in := inset * float64(b.depth+1)
		if b.first == lane {
			left = max(left, in)
		}
		if b.last == lane {
			right = max(right, in)
		}
	}
	return left, right
}

func gutter(tracks int) float64 { return 12 + trackW*float64(tracks) }

func (d *drawing) frame() {
	for i := range d.boxes {
		b := &d.boxes[i]
		in := inset * float64(b.depth+1)
		last := d.lanes[b.last]
		b.x, b.y = d.lanes[b.first].x+in, d.slots[b.open].y-4
		b.w, b.h = last.x+last.w-in-b.x, d.slots[b.close].y-b.y
	}
}

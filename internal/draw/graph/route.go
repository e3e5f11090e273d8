package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
)

// wire leaves one node for one lane in one way: it stands for dependences that share
// a line until they part for their ends.
type wire struct {
	from, lane int
	kind       fdg.Dependence
	carried    bool
	crosses    bool
	often      string
	edges      []fdg.Edge
	names      []string // names of the values that it carries
	to         []int    // nodes
	number     int      // number in the table, from 1; 0 if the wire does not cross
	straight   bool     // down to the next node
	side       int      // side of the lane it arrives at: 0 left, 1 right
	channel    int      // below the row it leaves
	exit       int      // among the wires that leave that way
	track      int
}

// wire collects the dependences and finds a way for each.
func (d *drawing) wire() {
	d.collect()
	for i := range d.wires {
		w := &d.wires[i]
		if from := d.places[w.from].lane; w.lane <= from {
			w.side = 1
		}
		if w.crosses {
			d.numbers++
			w.number = d.numbers
		}
	}
	d.channels()
	d.tracks()
}

// collect makes the wires, in the order of the nodes that they leave.
func (d *drawing) collect() {
	often, name := d.ports()
	for _, e := range d.g.Edges {
		w := wire{from: e.From, lane: d.places[e.To].lane, kind: e.Kind, carried: e.Carried >= 0, crosses: d.g.Crosses(e)}
		if w.crosses {
			w.often = cmp.Or(often[e.ID], d.g.Often(e.Freq))
		}
		w.straight = w.lane == d.places[e.From].lane && d.follows(e)
		i := slices.IndexFunc(d.wires, w.same)
		if i < 0 {
			i = len(d.wires)
			d.wires = append(d.wires, w)
		}
		d.wires[i].add(e, d.what(e, name[e.ID]))
	}
	slices.SortStableFunc(d.wires, func(a, b wire) int { return cmp.Compare(a.from, b.from) })
}

func (w wire) same(x wire) bool {
	return w.from == x.from && w.lane == x.lane && w.kind == x.kind && w.carried == x.carried && w.often == x.often && w.straight == x.straight
}

func (w *wire) add(e fdg.Edge, what string) {
	w.edges = append(w.edges, e)
	if !slices.Contains(w.names, what) {
		w.names = append(w.names, what)
	}
	if !slices.Contains(w.to, e.To) {
		w.to = append(w.to, e.To)
	}
}

// ports says of edges how often their port is used, and by what name.
func (d *drawing) ports() (often, name map[int]string) {
	often, name = map[int]string{}, map[int]string{}
	for _, f := range d.g.Fragments {
		for _, p := range f.Exits {
			for _, e := range p.Edges {
				often[e] = d.g.Often(p.Freq)
				name[e], _, _ = strings.Cut(p.Name, "@")
			}
		}
	}
	return often, name
}

// what names what an edge carries.
func (d *drawing) what(e fdg.Edge, port string) string {
	if e.Kind == fdg.OfResource {
		return d.g.Resources[e.Resource].Name
	}
	n := d.g.Nodes[e.From]
	if port == string(n.Kind) { // no variable holds it
		port = ""
	}
	call, _, _ := strings.Cut(n.Text, "(")
	return cmp.Or(e.Part, port, call+"()")
}

// follows reports whether an edge goes to the very next node of its lane.
func (d *drawing) follows(e fdg.Edge) bool {
	from, to := d.places[e.From], d.places[e.To]
	if e.Carried >= 0 || to.slot <= from.slot {
		return false
	}
	return !slices.ContainsFunc(d.places, func(p place) bool {
		return p.lane == from.lane && p.slot > from.slot && p.slot < to.slot
	})
}

// interval is taken by a wire in some channel or track.
type interval struct{ lo, hi int }

// fit returns the first of several parallel ways on which an interval is free, and
// takes it.
func fit(taken *[][]interval, want interval) int {
	meets := func(x interval) bool { return x.lo <= want.hi && want.lo <= x.hi }
	for i := range *taken {
		if !slices.ContainsFunc((*taken)[i], meets) {
			(*taken)[i] = append((*taken)[i], want)
			return i
		}
	}
	*taken = append(*taken, []interval{want})
	return len(*taken) - 1
}

// channels gives every wire to another lane a height below its row.
func (d *drawing) channels() {
	taken := make([][][]interval, len(d.slots))
	exits := map[[2]int]int{}
	for i := range d.wires {
		w := &d.wires[i]
		p := d.places[w.from]
		if w.lane == p.lane {
			continue
		}
		w.channel = fit(&taken[p.slot], interval{min(w.lane, p.lane), max(w.lane, p.lane)})
		w.exit = exits[[2]int{w.from, w.side}]
		exits[[2]int{w.from, w.side}]++
		d.slots[p.slot].channels = len(taken[p.slot])
	}
}

// tracks gives every wire a place beside the lane it arrives at, the short ones
// nearest to the nodes.
func (d *drawing) tracks() {
	order := make([]int, 0, len(d.wires))
	for i, w := range d.wires {
		if !w.straight {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := d.reach(d.wires[a]), d.reach(d.wires[b])
		return cmp.Compare(x.hi-x.lo, y.hi-y.lo)
	})
	taken := make([][2][][]interval, len(d.lanes))
	for _, i := range order {
		w := &d.wires[i]
		w.track = fit(&taken[w.lane][w.side], d.reach(*w))
		d.lanes[w.lane].tracks[w.side] = len(taken[w.lane][w.side])
	}
}

// reach returns from which slot to which a wire runs up or down.
func (d *drawing) reach(w wire) interval {
	v := interval{d.places[w.from].slot, d.places[w.from].slot}
	for _, n := range w.to {
		v.lo, v.hi = min(v.lo, d.places[n].slot), max(v.hi, d.places[n].slot)
	}
	return v
}

// point is a corner of a line.
type point struct{ x, y float64 }

// docks counts the ends of wires at each side of a node, to spread them.
type docks struct{ total, used map[[2]int]int }

func (d *drawing) newDocks() *docks {
	k := &docks{map[[2]int]int{}, map[[2]int]int{}}
	for _, w := range d.wires {
		if w.straight {
			continue
		}
		if w.lane == d.places[w.from].lane {
			k.total[[2]int{w.from, 1}]++
		}
		for _, n := range w.to {
			k.total[[2]int{n, w.side}]++
		}
	}
	return k
}

// dock returns the next free place at a side of a node.
func (k *docks) dock(d *drawing, n, side int) point {
	key := [2]int{n, side}
	k.used[key]++
	p := d.places[n]
	return point{p.x + p.w*float64(side), p.y + p.h*float64(k.used[key])/float64(k.total[key]+1)}
}

// paths returns the corners of a wire's lines, one for each end.
func (d *drawing) paths(w wire, k *docks) (lines [][]point) {
	p, l := d.places[w.from], d.lanes[w.lane]
	if w.straight {
		for _, n := range w.to {
			x := p.x + p.w/2
			lines = append(lines, []point{{x, p.y + p.h}, {x, d.places[n].y}})
		}
		return lines
	}
	x := l.col - 10 - trackW*float64(w.track)
	if w.side == 1 {
		x = l.col + column + 10 + trackW*float64(w.track)
	}
	var head []point
	if w.lane == p.lane {
		from := k.dock(d, w.from, 1)
		head = []point{from, {x, from.y}}
	} else {
		exit, y := d.leave(w)
		head = []point{{exit, p.y + p.h}, {exit, y}, {x, y}}
	}
	for _, n := range w.to {
		end := k.dock(d, n, w.side)
		lines = append(lines, append(slices.Clone(head), point{x, end.y}, end))
	}
	return lines
}

// leave returns where a wire turns from its node's lower edge into its channel. The
// uppermost channel turns last, so that no wire cuts through another's label.
func (d *drawing) leave(w wire) (x, y float64) {
	p := d.places[w.from]
	step := 10 + trackW*float64(d.exits(w.from, w.side)-1-w.exit)
	x = p.x + step
	if w.side == 1 {
		x = p.x + p.w - step
	}
	return x, p.y + p.h + channelH*(float64(w.channel)+0.6)
}

func (d *drawing) exits(node, side int) (n int) {
	for _, w := range d.wires {
		if w.from == node && w.side == side && w.lane != d.places[node].lane {
			n++
		}
	}
	return n
}

// trace returns a line through corners, rounded.
func trace(line []point) string {
	var b strings.Builder
	fmt.Fprintf(&b, "M%s %s", num(line[0].x), num(line[0].y))
	for i := 1; i < len(line)-1; i++ {
		a, c, e := line[i-1], line[i], line[i+1]
		r := min(5, length(a, c)/2, length(c, e)/2)
		in, out := towards(c, a, r), towards(c, e, r)
		fmt.Fprintf(&b, "L%s %sQ%s %s %s %s", num(in.x), num(in.y), num(c.x), num(c.y), num(out.x), num(out.y))
	}
	end := line[len(line)-1]
	fmt.Fprintf(&b, "L%s %s", num(end.x), num(end.y))
	return b.String()
}

// length returns of lines that run along an axis.
func length(a, b point) float64 { return max(a.x-b.x, b.x-a.x) + max(a.y-b.y, b.y-a.y) }

func towards(from, to point, r float64) point {
	l := length(from, to)
	if l == 0 {
		return from
	}
	return point{from.x + (to.x-from.x)*r/l, from.y + (to.y-from.y)*r/l}
}

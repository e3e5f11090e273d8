// Package sheet draws plans before and after fusion: as pictures (SVG), and for Graphviz (DOT).
package sheet

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"github.com/weft-rl/weft/plan"
)

// Sizes of the drawing, in pixels.
const (
	margin     = 24
	gap        = 16
	laneWidth  = 190
	laneHead   = 40
	boxHeight  = 50
	boxGap     = 8
	rowHeight  = 24
	lineHeight = 18
	letter     = 7 // about the width of a character
	lanesInRow = 8
)

// Colours of the drawing. Groups have theirs by their place in the grouping.
const (
	ink   = "#1f2430"
	faint = "#6b7280"
	line  = "#d5d9e0"
	paper = "#f6f7f9"
)

var groupColours = []string{"#dcebfa", "#fde8cf", "#dff3e0", "#efe3f7"}

// SVG draws a sheet: for each plan its workers side by side with their
// replicas in them, and below them what crosses.
func SVG(w io.Writer, s *plan.Sheet) error {
	d := &drawing{y: margin}
	d.text(margin, d.down(28)+6, 18, ink, "bold", fmt.Sprintf("%s of %s", s.After.Policy, s.After.Graph))
	d.text(margin, d.down(lineHeight)+4, 13, faint, "", s.After.Kind())
	for _, p := range s.Parts() {
		d.y += gap
		d.text(margin, d.down(26)+10, 15, ink, "bold", p.Title)
		d.workers(p.Plan, s.Cluster)
		d.edges(p.Plan)
		for i, f := range slices.Concat(p.Notes, p.Fused) {
			if i == 0 {
				d.y += gap
			}
			d.text(margin, d.down(lineHeight)+6, 12, faint, "", f)
		}
	}
	if s.Measured != "" {
		d.y += gap
		for text := range strings.SplitSeq(s.Measured, "; ") {
			d.text(margin, d.down(lineHeight)+gap, 12, faint, "", text)
		}
	}
	_, err := io.WriteString(w, d.page())
	return err
}

// drawing is a page that grows downwards.
type drawing struct {
	b     strings.Builder
	y     int // lower end of what is drawn
	width int
}

// down takes so much room, and is where it begins.
func (d *drawing) down(height int) int {
	y := d.y
	d.y += height
	return y
}

func (d *drawing) page() string {
	width, height := d.width+margin, d.y+margin
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="Helvetica, Arial, sans-serif">`+
		"\n"+`<rect width="%d" height="%d" fill="#ffffff"/>`+"\n%s</svg>\n", width, height, width, height, width, height, d.b.String())
}

func (d *drawing) text(x, y, size int, colour, weight, s string) {
	if weight != "" {
		weight = fmt.Sprintf(` font-weight="%s"`, weight)
	}
	fmt.Fprintf(&d.b, `<text x="%d" y="%d" font-size="%d" fill="%s"%s>%s</text>`+"\n", x, y, size, colour, weight, html.EscapeString(s))
	d.width = max(d.width, x+len(s)*letter*size/13)
}

func (d *drawing) box(x, y, width, height int, fill, stroke string) {
	fmt.Fprintf(&d.b, `<rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="%s" stroke="%s"/>`+"\n", x, y, width, height, fill, stroke)
	d.width = max(d.width, x+width)
}

// workers draws lanes, a few beside each other.
func (d *drawing) workers(p *plan.Plan, c plan.Cluster) {
	for first := 0; first < len(c.Workers); first += lanesInRow {
		row := c.Workers[first:min(first+lanesInRow, len(c.Workers))]
		deepest := 1
		for i := range row {
			deepest = max(deepest, len(at(p, first+i)))
		}
		height := laneHead + deepest*(boxHeight+boxGap) + boxGap
		top := d.down(height + gap)
		for i, w := range row {
			d.lane(p, w, first+i, margin+i*(laneWidth+gap), top, height)
		}
	}
}

func (d *drawing) lane(p *plan.Plan, w plan.Worker, worker, x, top, height int) {
	d.box(x, top, laneWidth, height, paper, line)
	d.text(x+12, top+25, 13, ink, "bold", w.Name)
	d.text(x+24+len(w.Name)*8, top+25, 12, faint, "", strings.Join(w.Devices, ", "))
	for j, r := range at(p, worker) {
		y := top + laneHead + j*(boxHeight+boxGap)
		d.box(x+10, y, laneWidth-20, boxHeight, colour(p, r.Group), "none")
		d.text(x+22, y+21, 13, ink, "", fmt.Sprintf("%s %d", r.Group, r.Rank))
		d.text(x+22, y+39, 12, faint, "", shards(p, r))
	}
}

// edges draws the table of what crosses.
func (d *drawing) edges(p *plan.Plan) {
	head, rows := p.Table()
	if len(rows) == 0 {
		d.text(margin, d.down(rowHeight)+16, 13, faint, "", "nothing crosses")
		return
	}
	rows = slices.Insert(rows, 0, head)
	x := margin
	top := d.y
	for column, name := range head {
		widest := 0
		for _, r := range rows {
			widest = max(widest, len(r[column]))
		}
		for i, r := range rows {
			d.cell(p, x, top+i*rowHeight, name, r[column], i == 0)
		}
		x += widest*letter + 28
	}
	d.y += len(rows) * rowHeight
	d.width = max(d.width, x)
	fmt.Fprintf(&d.b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s"/>`+"\n", margin, top+rowHeight-2, x-28, top+rowHeight-2, line)
}

// cell draws one of the table; the names of groups have their colours.
func (d *drawing) cell(p *plan.Plan, x, y int, name, s string, head bool) {
	switch {
	case head:
		d.text(x, y+16, 12, faint, "", s)
	case name == "from" || name == "to":
		d.box(x-6, y+2, len(s)*letter+14, rowHeight-5, colour(p, s), "none")
		d.text(x, y+16, 12, ink, "", s)
	default:
		d.text(x, y+16, 12, ink, "", s)
	}
}

// shards says which shards a replica has.
func shards(p *plan.Plan, r plan.Replica) string {
	if r.Last == r.First+1 {
		return "shard " + p.Range(r)
	}
	return "shards " + p.Range(r)
}

// at returns the replicas of a worker.
func at(p *plan.Plan, worker int) (out []plan.Replica) {
	for _, r := range p.Replicas {
		if r.Worker == worker {
			out = append(out, r)
		}
	}
	return out
}

// colour returns the colour of a group, by its place in the grouping.
func colour(p *plan.Plan, group string) string {
	i := slices.IndexFunc(p.Groups, func(g plan.Group) bool { return g.Name == group })
	return groupColours[max(0, i)%len(groupColours)]
}

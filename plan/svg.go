package plan

import (
	"fmt"
	"html"
	"io"
	"strings"
)

// Sizes of the drawing, in pixels.
const (
	laneWidth   = 260
	boxHeight   = 64
	gap         = 24
	rowHeight   = 22
	headHeight  = 48
	tableColumn = 6.6 // pixels of a character of the table
)

// WriteSVG draws the plan: workers side by side with their replicas in them, and below
// what crosses.
func (p *Plan) WriteSVG(w io.Writer, c Cluster) error {
	deepest := 0
	for i := range c.Workers {
		deepest = max(deepest, len(p.at(i)))
	}
	rows := p.table()
	lanes := headHeight + deepest*(boxHeight+gap) + gap
	width := max(len(c.Workers)*(laneWidth+gap)+gap, tableWidth(rows)+2*gap)
	height := headHeight + lanes + gap + (len(rows)+1)*rowHeight + gap
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	text(&b, gap, 30, "16", "#1a1a1a", "plan "+p.Policy+" of "+p.Graph)
	for i := range c.Workers {
		p.drawWorker(&b, c.Workers[i], i, headHeight, lanes)
	}
	for i, row := range rows {
		y := headHeight + lanes + gap + (i+1)*rowHeight
		colour := "#333333"
		if i == 0 {
			colour = "#888888"
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s" font-family="monospace" font-size="12" xml:space="preserve">%s</text>`+"\n", gap, y, colour, html.EscapeString(row))
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (p *Plan) at(worker int) (out []Replica) {
	for _, r := range p.Replicas {
		if r.Worker == worker {
			out = append(out, r)
		}
	}
	return out
}

func (p *Plan) drawWorker(b *strings.Builder, w Worker, i, top, height int) {
	x := gap + i*(laneWidth+gap)
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" rx="8" fill="#f5f6f8" stroke="#c8ccd4"/>`+"\n", x, top, laneWidth, height)
	text(b, x+14, top+26, "14", "#555555", fmt.Sprintf("%s (%s)", w.Name, strings.Join(w.Devices, ", ")))
	for j, r := range p.at(i) {
		y := top + headHeight + j*(boxHeight+gap)
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="%s" stroke="#5b6472"/>`+"\n", x+14, y, laneWidth-28, boxHeight, p.colour(r.Group))
		text(b, x+26, y+26, "14", "#1a1a1a", fmt.Sprintf("%s %d", r.Group, r.Rank))
		text(b, x+26, y+48, "12", "#444444", "shards "+p.shards(r))
	}
}

// colour of a group, by its place in the grouping.
func (p *Plan) colour(group string) string {
	for i, g := range p.Groups {
		if g.Name == group {
			return []string{"#dcebfa", "#fbe6cf", "#e0f2df", "#efe2f5"}[i%4]
		}
	}
	return "#dcebfa"
}

func text(b *strings.Builder, x, y int, size, colour, s string) {
	fmt.Fprintf(b, `<text x="%d" y="%d" font-size="%s" fill="%s">%s</text>`+"\n", x, y, size, colour, html.EscapeString(s))
}

// table is what crosses, in columns.
func (p *Plan) table() []string {
	var t strings.Builder
	p.printColumns(&t)
	return strings.Split(strings.TrimRight(t.String(), "\n"), "\n")
}

func tableWidth(rows []string) int {
	n := 0
	for _, r := range rows {
		n = max(n, len(r))
	}
	return int(float64(n)*tableColumn) + gap
}

package profile

import (
	"fmt"
	"html"
	"io"
	"strings"
)

// colours of classes can be told apart by people who see fewer colours, too.
var colours = map[Class]string{
	Environment: "#0072b2", Inference: "#56b4e9", Gradient: "#d55e00", Application: "#e69f00", Replay: "#009e73", Statistics: "#f0e442",
	Fused: "#cc79a7", Device: "#cc79a7", Edges: "#7f7f7f", Waiting: "#e4e7ec", Rest: "#b8bfca",
}

// Measures of the drawing, in pixels.
const (
	barLeft, barWidth, barHeight, barGap = 150.0, 560.0, 22.0, 8.0
	barTop                               = 64.0
)

// WriteSVG draws a stacked bar for every replica: an iteration, by what it was spent on.
func (p *Profile) WriteSVG(w io.Writer) error {
	if err := p.Check(); err != nil {
		return err
	}
	longest := 0.0
	for _, r := range p.Replicas {
		longest = max(longest, r.period())
	}
	var b strings.Builder
	height := barTop + float64(len(p.Replicas))*(barHeight+barGap) + 34
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" role="img" width="880" height="%.0f" viewBox="0 0 880 %.0f" font-family="Helvetica, Arial, sans-serif" font-size="12">`+"\n", height, height)
	fmt.Fprintf(&b, "<title>%s: an iteration of every replica</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n", html.EscapeString(p.Policy))
	p.legend(&b)
	for i, r := range p.Replicas {
		y := barTop + float64(i)*(barHeight+barGap)
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="end" fill="#1f2430">%s</text>`+"\n", barLeft-8, y+15, html.EscapeString(r.String()))
		x, by := barLeft, r.By()
		for _, c := range Classes {
			part := by[c] / float64(r.Iterations)
			if part <= 0 {
				continue
			}
			width := part / longest * barWidth
			fmt.Fprintf(&b, `<rect x="%.2f" y="%.1f" width="%.2f" height="%.0f" fill="%s"><title>%s %s</title></rect>`+"\n", x, y, width, barHeight, colours[c], c, span(part))
			x += width
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" fill="#5b6270">%s</text>`+"\n", x+6, y+15, span(r.period()))
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// legend draws the names of the classes that there are.
func (p *Profile) legend(b *strings.Builder) {
	x, y := 20.0, 24.0
	for _, c := range Classes {
		used := false
		for _, r := range p.Replicas {
			used = used || r.By()[c] > 0
		}
		if !used {
			continue
		}
		fmt.Fprintf(b, `<rect x="%.0f" y="%.0f" width="11" height="11" fill="%s"/><text x="%.0f" y="%.0f" fill="#1f2430">%s</text>`+"\n", x, y-10, colours[c], x+16, y, c)
		if x += 36 + 7*float64(len(c)); x > 780 {
			x, y = 20, y+18
		}
	}
}

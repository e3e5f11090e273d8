package profile

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
)

// mostSpans bounds the spans of a replica that a timeline shows.
const mostSpans = 400

// WriteTimeline draws the newest work of every replica, one below the other, along a common axis of
// time: as far back as all of them were recorded and there is room for.
func (p *Profile) WriteTimeline(w io.Writer) error {
	if err := p.Check(); err != nil {
		return err
	}
	shown := make([][]Span, len(p.Replicas))
	begin, end := int64(0), int64(0)
	for i, r := range p.Replicas {
		s := slices.Clone(r.Spans)
		slices.SortStableFunc(s, func(a, b Span) int { return cmp.Compare(a.Begin, b.Begin) })
		shown[i] = s[max(0, len(s)-mostSpans):]
		for _, x := range shown[i] {
			end = max(end, x.Begin+int64(x.Seconds*1e9))
		}
		if len(shown[i]) > 0 {
			begin = max(begin, shown[i][0].Begin)
		}
	}
	if end <= begin {
		return fmt.Errorf("the profile has no timeline: its run recorded none")
	}
	var b strings.Builder
	height := barTop + float64(len(p.Replicas))*(barHeight+barGap) + 34
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" role="img" width="880" height="%.0f" viewBox="0 0 880 %.0f" font-family="Helvetica, Arial, sans-serif" font-size="12">`+"\n", height, height)
	fmt.Fprintf(&b, "<title>%s: the newest work of every replica</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n", html.EscapeString(p.Policy))
	p.legend(&b)
	scale := (880 - barLeft - 20) / float64(end-begin)
	for i, r := range p.Replicas {
		y := barTop + float64(i)*(barHeight+barGap)
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="end" fill="#1f2430">%s</text>`+"\n", barLeft-8, y+15, html.EscapeString(r.String()))
		for _, s := range shown[i] {
			if s.Begin < begin {
				continue
			}
			fmt.Fprintf(&b, `<rect x="%.2f" y="%.1f" width="%.2f" height="%.0f" fill="%s"><title>%s %s</title></rect>`+"\n", barLeft+float64(s.Begin-begin)*scale, y,
				max(.3, s.Seconds*1e9*scale), barHeight, colours[s.Class], html.EscapeString(s.Name), span(s.Seconds))
		}
	}
	base := height - 24
	fmt.Fprintf(&b, `<line x1="%.0f" x2="860" y1="%.0f" y2="%.0f" stroke="#5b6270"/>`+"\n", barLeft, base, base)
	for i := range 5 {
		part := float64(i) / 4
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="#5b6270">%s</text>`+"\n", barLeft+part*(860-barLeft), base+16, span(part*float64(end-begin)/1e9))
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

package graph

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// The measures of the table of what crosses.
const (
	tableW = 420.0
	entryH = 40.0
	keyH   = 20.0
)

// keys explains the lines.
var keys = []struct{ class, what string }{
	{"wire", "a value that crosses, in its maker's colour"},
	{"wire resource", "state that crosses: weights, statistics, …"},
	{"quiet", "a value within a fragment"},
	{"quiet resource", "state within a fragment"},
	{"quiet control", "decides a branch"},
}

func (p *pen) tableHeight() float64 {
	return entryH*float64(p.d.numbers) + keyH*float64(len(keys)+3)
}

// table lists what crosses, and explains the drawing below that.
func (p *pen) table(x float64) {
	y := 102.0
	p.text(x, y, "h2", "What crosses, how often")
	y += 28
	for _, w := range p.d.wires {
		if w.crosses {
			p.entry(w, x, y)
			y += entryH
		}
	}
	p.key(x, y+8)
}

func (p *pen) entry(w wire, x, y float64) {
	from, to := p.d.lanes[p.d.places[w.from].lane], p.d.lanes[w.lane]
	p.put(`<g><title>%s</title>`, esc(p.tell(w)))
	p.badge(x+8, y-4, from.ink, w.number)
	p.text(x+24, y, "h3", cut(strings.Join(w.names, ", "), tableW-24, headSize))
	y += 15
	s := fmt.Sprintf("%s → %s, each %s", from.name, to.name, often(w.often))
	if w.carried {
		s += ", next round"
	}
	p.text(x+24, y, "small", cut(s+w.types(), tableW-30, 10.5))
	p.put(`</g>`)
}

// types returns the Go types and shapes that a wire carries.
func (w wire) types() string {
	var list []string
	for _, e := range w.edges {
		if s := strings.TrimSpace(e.Type + " " + e.Shape); s != "" && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return " · " + strings.Join(list, ", ")
}

func (p *pen) key(x, y float64) {
	ink := p.d.lanes[0].ink
	p.put(`<path d="M%s %sH%s" stroke="#c9ced4"/>`, num(x), num(y-20), num(x+tableW))
	for _, k := range keys {
		colour, head := "", ""
		if strings.HasPrefix(k.class, "wire") {
			colour, head = fmt.Sprintf(` stroke="%s"`, ink), "0"
		}
		p.put(`<path d="M%s %sh40" class="%s"%s marker-end="url(#a%s)"/>`, num(x), num(y-4), k.class, colour, head)
		p.text(x+52, y, "small", k.what)
		y += keyH
	}
	p.text(x, y+4, "small", "Solid boxes are loops, dashed ones branches. An arrow up is for a later round.")
	p.text(x, y+20, "small", "A question mark: a branch may leave it out.")
}

// measure returns how wide text will be, about: fonts differ, so it is generous.
func measure(s string, size float64) (w float64) {
	for _, r := range s {
		switch {
		case strings.ContainsRune("iljtfrI.,:;'!|()[] ", r):
			w += 0.36
		case unicode.IsUpper(r) || strings.ContainsRune("mwMW…×→+<>=", r):
			w += 0.74
		default:
			w += 0.57
		}
	}
	return w * size
}

// cut shortens text to a width.
func cut(s string, width, size float64) string {
	if measure(s, size) <= width {
		return s
	}
	r := []rune(s)
	for len(r) > 0 && measure(string(r)+"…", size) > width {
		r = r[:len(r)-1]
	}
	return strings.TrimRight(string(r), " ,") + "…"
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// esc makes text of XML. What no XML may hold becomes a question mark.
func esc(s string) string {
	return escaper.Replace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar || r == 0xFFFE || r == 0xFFFF {
			return '?'
		}
		return r
	}, s))
}

package progress

import (
	"fmt"
	"math"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weft-rl/weft/internal/metrics"
)

const (
	shownLosses = 3
	minBar      = 10
	maxBar      = 40
	maxRows     = 3 // most rows of the panel
)

// span is text in one style; line is spans side by side. The width of a line
// is known before it is coloured.
type span struct {
	style style
	text  string
}

type line []span

func (l line) text() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.text)
	}
	return strings.TrimRight(b.String(), " ")
}

func (l line) width() int { return utf8.RuneCountInString(l.text()) }

// cut returns the part of the line that fits the width.
func (l line) cut(width int) line {
	var out line
	for _, s := range l {
		r := []rune(s.text)
		n := min(len(r), width)
		out = append(out, span{s.style, string(r[:n])})
		width -= n
	}
	return out
}

// join puts lines side by side, two columns apart.
func join(parts ...line) line {
	var out line
	for i, p := range parts {
		if i > 0 {
			out = append(out, span{text: "  "})
		}
		out = append(out, p...)
	}
	return out
}

// fit joins as many of the parts as fit the width, from the first on.
func fit(width int, parts []line) line {
	for n := len(parts); n > 0; n-- {
		if l := join(parts[:n]...); n == 1 || l.width() <= width {
			return l.cut(width)
		}
	}
	return nil
}

// view holds what the progress display shows.
type view struct {
	Snapshot
	total   int64   // 0: not known
	rate    float64 // steps a second; NaN: not known
	elapsed time.Duration
}

// panel returns the live view: bar and clock, then the numbers on as many rows as
// they need.
func (v view) panel(width int, g glyphs) []line {
	rows := []line{v.headline(width, g)}
	for cells := v.cells(); len(cells) > 0 && len(rows) < maxRows; {
		n := 1
		for n < len(cells) && join(cells[:n+1]...).width() <= width {
			n++
		}
		rows = append(rows, join(cells[:n]...).cut(width))
		cells = cells[n:]
	}
	return rows
}

// headline returns a bar as long as the fields beside it allow.
func (v view) headline(width int, g glyphs) line {
	if v.total <= 0 {
		return fit(width, v.fields())
	}
	beside := fit(max(0, width-minBar-2), v.fields())
	n := min(maxBar, width-beside.width()-2)
	if n < minBar {
		return fit(width, v.fields())
	}
	return join(bar(v.part(), n, g), beside)
}

// plain returns everything in one line.
func (v view) plain() line { return join(append(v.fields(), v.cells()...)...) }

// final returns the last line of a run.
func (v view) final(width int) line {
	head := line{{strong, "done"}, {text: fmt.Sprintf("  %s steps in %s", metrics.Count(v.Steps), metrics.Duration(v.elapsed))}}
	if v.Steps < v.total {
		head = line{{strong, "stopped"}, {text: fmt.Sprintf(" at %s/%s steps after %s",
			metrics.Count(v.Steps), metrics.Count(v.total), metrics.Duration(v.elapsed))}}
	}
	parts := []line{head, {{text: metrics.Count(v.rate) + "/s"}}}
	for _, c := range v.cells() {
		last := len(c) - 1
		c[last].text = strings.TrimRight(c[last].text, " ")
		parts = append(parts, c)
	}
	return fit(width, parts)
}

// fields returns the parts of the headline, the most important first. Their widths
// do not change while a run goes on, so that nothing jumps.
func (v view) fields() []line {
	steps := fmt.Sprintf("%5s", metrics.Count(v.Steps))
	rate := line{{text: fmt.Sprintf("%5s/s", metrics.Count(v.rate))}}
	elapsed := line{{text: fmt.Sprintf("%6s", metrics.Duration(v.elapsed))}}
	if v.total <= 0 {
		return []line{{{text: steps + " steps"}}, rate, elapsed}
	}
	return []line{
		{{strong, fmt.Sprintf("%3d%%", min(100, v.Steps*100/v.total))}},
		{{text: steps + "/" + metrics.Count(v.total)}},
		rate,
		elapsed,
		{{text: fmt.Sprintf("%6s left", v.left())}},
	}
}

// cells returns the numbers of the run, each with its label, of steady widths.
func (v view) cells() []line {
	cells := []line{
		cell("return", fmt.Sprintf("%-7s", metrics.Number(v.Return))),
		cell("episodes", fmt.Sprintf("%-5s", metrics.Count(v.Episodes))),
	}
	for _, l := range v.Losses[:min(len(v.Losses), shownLosses)] {
		cells = append(cells, cell(printable(path.Base(l.Name)), fmt.Sprintf("%-7s", metrics.Number(l.X))))
	}
	return cells
}

func cell(label, value string) line { return line{{faint, label + " "}, {text: value}} }

// part returns how much of the run is done, from 0 to 1.
func (v view) part() float64 {
	return min(1, max(0, float64(v.Steps)/float64(v.total)))
}

// left returns the time left at the present rate.
func (v view) left() string {
	seconds := max(0, float64(v.total-v.Steps)) / v.rate
	if !(seconds < math.MaxInt64/float64(time.Second)) {
		return metrics.None
	}
	return metrics.Duration(time.Duration(seconds * float64(time.Second)))
}

// bar returns part of n columns filled, to half a column.
func bar(part float64, n int, g glyphs) line {
	halves := int(part * float64(2*n))
	full, half := halves/2, halves%2
	return line{
		{done, strings.Repeat(g.full, full) + strings.Repeat(g.half, half)},
		{faint, strings.Repeat(g.rest, n-full-half)},
	}
}

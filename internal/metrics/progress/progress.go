// Package progress shows a person how a run is getting on: on a terminal a
// small panel that is redrawn in place, anywhere else plain lines now and
// then. It has no goroutine: it draws when it is told something.
package progress

import (
	"io"
	"math"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/weft-rl/weft/internal/metrics"
)

const (
	redrawEvery = 100 * time.Millisecond // time between drawings on a terminal
	lineEvery   = 10 * time.Second       // elsewhere
	never       = math.MaxInt64          // a step that no run reaches
)

// Snapshot is where a run stands.
type Snapshot struct {
	Steps    int64
	Episodes int64
	Return   float64         // mean over the last episodes; NaN before the first
	Losses   []metrics.Value // the first three are shown, by what follows the last slash of their names
}

// Options say what is shown, and how. The zero value is of use.
type Options struct {
	Total   int64            // steps of the whole run; 0: not known
	Done    int64            // steps done before this process took over
	Now     func() time.Time // the clock; nil: time.Now
	Columns func() int       // the width of the terminal to draw on; nil: found out from the writer
}

// Progress shows the progress of one run. Its methods may be called from
// several goroutines. What cannot be written is not reported: a run does not
// fail because nobody can watch it.
type Progress struct {
	mu       sync.Mutex
	w        io.Writer
	total    int64
	done     int64
	now      func() time.Time
	screen   *screen // nil: plain lines
	started  time.Time
	last     Snapshot
	meter    meter
	due      time.Time // when to show next,
	mark     int64     // or at which step
	finished bool
}

// New makes a Progress that writes to w, live if w is a terminal.
func New(w io.Writer, o Options) *Progress {
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &Progress{w: w, total: o.Total, done: o.Done, now: o.Now, started: o.Now()}
	p.last = Snapshot{Steps: o.Done, Return: math.NaN()}
	p.screen = newScreen(w, o.Columns)
	p.meter.add(p.started, o.Done)
	if p.screen != nil {
		p.due, p.mark = p.started, never
	} else {
		p.due, p.mark = p.started.Add(lineEvery), firstMark(o.Total)
	}
	return p
}

// Update tells where the run stands. It is cheap while nothing is to be shown,
// and keeps nothing of s.
func (p *Progress) Update(s Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.finished {
		return
	}
	losses := append(p.last.Losses[:0], s.Losses...)
	p.last = s
	p.last.Losses = losses
	now := p.now()
	marked := s.Steps >= p.mark && s.Steps < p.total // the end is left to Finish
	if now.Before(p.due) && !marked {
		return
	}
	p.meter.add(now, s.Steps)
	if p.screen != nil {
		p.due = now.Add(redrawEvery)
		p.write(p.screen.draw("", p.view(now).panel))
	} else {
		p.due, p.mark = now.Add(lineEvery), nextMark(s.Steps, p.total)
		p.write(p.view(now).plain().text() + "\n")
	}
}

// Skip tells of steps that were done before this process took over and are not in Options.Done.
func (p *Progress) Skip(steps int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += steps
	p.last.Steps += steps
	for i := range p.meter.samples {
		p.meter.samples[i].steps += steps
	}
}

// Note prints a message, above the panel if there is one.
func (p *Progress) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text = printable(text) + "\n"
	if p.screen != nil && !p.finished {
		text = p.screen.draw(text, p.view(p.now()).panel)
	}
	p.write(text)
}

// Finish prints the last line, in place of the panel if there is one. Later
// updates are ignored.
func (p *Progress) Finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.finished {
		return
	}
	p.finished = true
	v := p.view(p.now())
	v.rate = perSecond(v.Steps-p.done, v.elapsed) // of all, not of the last moments
	if p.screen != nil {
		p.write(p.screen.close(v.final))
	} else {
		p.write(v.final(math.MaxInt).text() + "\n")
	}
}

func (p *Progress) write(s string) { io.WriteString(p.w, s) }

// view returns what is to be seen now.
func (p *Progress) view(now time.Time) view {
	return view{
		Snapshot: p.last,
		total:    p.total,
		rate:     p.meter.rate(),
		elapsed:  now.Sub(p.started),
	}
}

// firstMark returns the step of the first plain line: at one per cent, soon enough
// to see that a run works at all.
func firstMark(total int64) int64 {
	if total <= 0 {
		return never
	}
	return max(1, total/100)
}

// nextMark returns the first step after steps at which another twentieth of the run
// is done.
func nextMark(steps, total int64) int64 {
	const parts = 20
	if total <= 0 {
		return never
	}
	next := steps*parts/total + 1
	return (next*total + parts - 1) / parts
}

// printable returns text without trailing newlines and without control characters,
// which could move the cursor.
func printable(text string) string {
	keep := func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}
	return strings.TrimRight(strings.Map(keep, text), "\n")
}

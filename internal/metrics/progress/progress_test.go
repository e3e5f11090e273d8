package progress

import (
	"bytes"
	"io"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/metrics"
)

// fakeClock stands still until it is moved.
type fakeClock struct{ t time.Time }

func newClock() *fakeClock                { return &fakeClock{time.Unix(1_700_000_000, 0)} }
func (c *fakeClock) now() time.Time       { return c.t }
func (c *fakeClock) pass(d time.Duration) { c.t = c.t.Add(d) }
func columns(n int) func() int            { return func() int { return n } }
func at(steps int64) Snapshot             { return Snapshot{Steps: steps, Return: math.NaN()} }
func lines(b *bytes.Buffer) []string {
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}
func plainTerminal(t *testing.T) { t.Setenv("NO_COLOR", "1"); t.Setenv("LC_ALL", "C.UTF-8") }
func live(w io.Writer, c *fakeClock, width int) *Progress {
	return New(w, Options{Total: 1000, Now: c.now, Columns: columns(width)})
}

// percents returns the first words of plain lines.
func percents(b *bytes.Buffer) string {
	var out []string
	for _, l := range lines(b) {
		if f := strings.Fields(l); len(f) > 0 {
			out = append(out, f[0])
		}
	}
	return strings.Join(out, " ")
}

func TestPlainLines(t *testing.T) {
	tests := []struct {
		name        string
		total, done int64
		step        int64         // steps an update
		every       time.Duration // between updates
		updates     int
		want        string
	}{
		{"fast", 1000, 0, 1, time.Millisecond, 1000, "1% 5% 10% 15% 20% 25% 30% 35% 40% 45% 50% 55% 60% 65% 70% 75% 80% 85% 90% 95% done"},
		{"coarse", 1000, 0, 300, time.Second, 4, "30% 60% 90% done"},
		{"slow", 1_000_000, 0, 100, time.Second, 45, "0% 0% 0% 0% stopped"},
		{"mixed", 5000, 0, 1, 100 * time.Millisecond, 351, "1% 3% 5% 7% stopped"}, // at 5 s, then each 10 s
		{"resumed", 1000, 420, 1, time.Millisecond, 580, "42% 45% 50% 55% 60% 65% 70% 75% 80% 85% 90% 95% done"},
		{"few steps", 3, 0, 1, time.Millisecond, 3, "33% 66% done"},
		{"odd total", 1237, 0, 1, time.Millisecond, 200, "0% 5% 10% 15% stopped"},
		{"no total", 0, 0, 1000, time.Second, 25, "10k 20k done"},
		{"nothing", 1000, 0, 1, time.Second, 0, "stopped"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			c := newClock()
			p := New(&b, Options{Total: tt.total, Done: tt.done, Now: c.now})
			for i := range tt.updates {
				c.pass(tt.every)
				p.Update(at(tt.done + int64(i+1)*tt.step))
			}
			p.Finish()
			if got := percents(&b); got != tt.want {
				t.Errorf("lines at %s\nwant     %s", got, tt.want)
			}
			if i := strings.IndexFunc(b.String(), func(r rune) bool { return r < ' ' && r != '\n' }); i >= 0 {
				t.Errorf("control character in %q", b.String())
			}
		})
	}
}

func TestLiveThrottle(t *testing.T) {
	plainTerminal(t)
	draws := countWrites{}
	c := newClock()
	p := live(&draws, c, 80)
	for i := range int64(1000) { // one second
		p.Update(at(i))
		c.pass(time.Millisecond)
	}
	if draws.n != 10 {
		t.Errorf("%d drawings in a second, want 10", draws.n)
	}
}

type countWrites struct{ n int }

func (c *countWrites) Write(b []byte) (int, error) { c.n++; return len(b), nil }

func TestLive(t *testing.T) {
	plainTerminal(t)
	var term terminal
	c := newClock()
	p := live(&term, c, 60)
	step := func(n int64) { c.pass(time.Second); p.Update(at(n)) }
	step(100)
	step(200)
	p.Note("first\nnote \x1b[31mred\n\n")
	step(300)
	want := `first
note [31mred
━━━╸─────────   30%    300/1k    100/s    3.0s    7.0s left
return -        episodes 0
`
	if got := term.String(); got != want {
		t.Errorf("screen\n%swant\n%s", got, want)
	}
	step(1000)
	p.Finish()
	p.Finish()
	p.Update(at(5))
	p.Note("after")
	want = `first
note [31mred
done  1k steps in 4.0s  250/s  return -  episodes 0
after
`
	if got := term.String(); got != want {
		t.Errorf("screen at the end\n%swant\n%s", got, want)
	}
}

// A panel with fewer rows than the one before leaves nothing of it.
func TestLiveShrinks(t *testing.T) {
	plainTerminal(t)
	var term terminal
	c := newClock()
	width := 36
	p := New(&term, Options{Total: 1000, Now: c.now, Columns: func() int { return width }})
	s := at(500)
	s.Losses = []metrics.Value{{Name: "loss/value", X: 1}}
	p.Update(s)
	if n := strings.Count(term.String(), "\n"); n != 3 {
		t.Errorf("%d rows at 36 columns:\n%s", n, &term)
	}
	width = 100
	c.pass(time.Second)
	p.Update(s)
	if n := strings.Count(term.String(), "\n"); n != 2 {
		t.Errorf("%d rows at 100 columns:\n%s", n, &term)
	}
}

func TestUpdateIsCheap(t *testing.T) {
	p := New(io.Discard, Options{Total: 1 << 40, Now: newClock().now, Columns: columns(80)})
	s := Snapshot{Losses: []metrics.Value{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}}}
	p.Update(s)
	if n := testing.AllocsPerRun(100, func() { p.Update(s) }); n != 0 {
		t.Errorf("%v allocations for an update that draws nothing", n)
	}
}

func TestUpdateKeepsNothing(t *testing.T) {
	var b bytes.Buffer
	p := New(&b, Options{Now: newClock().now})
	losses := []metrics.Value{{Name: "loss/value", X: 1}}
	p.Update(Snapshot{Losses: losses})
	losses[0].X = 2
	p.Finish()
	if !strings.Contains(b.String(), "value 1.000") {
		t.Errorf("the caller's slice is still read: %q", b.String())
	}
}

func TestNoColour(t *testing.T) {
	for _, tt := range []struct {
		env  string
		want bool
	}{{"", true}, {"1", false}} {
		t.Setenv("NO_COLOR", tt.env)
		var b bytes.Buffer
		p := New(&b, Options{Total: 10, Now: newClock().now, Columns: columns(80)})
		p.Update(at(5))
		p.Finish()
		if got := strings.Contains(b.String(), "\x1b[1m"); got != tt.want {
			t.Errorf("NO_COLOR=%q: %q", tt.env, b.String())
		}
	}
}

// For the race detector: each write is still whole.
func TestConcurrent(t *testing.T) {
	plainTerminal(t)
	var term terminal
	p := live(&term, newClock(), 80)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range int64(50) {
				p.Update(at(i))
				p.Note("note")
			}
		})
	}
	wg.Wait()
	p.Finish()
	if got := strings.Count(term.String(), "note\n"); got != 200 {
		t.Errorf("%d notes on the screen, want 200", got)
	}
}

func TestMeter(t *testing.T) {
	var m meter
	c := newClock()
	m.add(c.now(), 0)
	if !math.IsNaN(m.rate()) {
		t.Errorf("rate of one sample = %v", m.rate())
	}
	for i := range int64(100) { // 10 steps/s for 10 s, then 100 steps/s for 10 s
		c.pass(100 * time.Millisecond)
		m.add(c.now(), i+1)
	}
	if got := m.rate(); math.Abs(got-10) > 1e-9 {
		t.Errorf("rate = %v, want 10", got)
	}
	for i := range int64(100) {
		c.pass(100 * time.Millisecond)
		m.add(c.now(), 100+10*(i+1))
	}
	if got := m.rate(); math.Abs(got-100) > 1e-9 {
		t.Errorf("recent rate = %v, want 100", got)
	}
	if n := len(m.samples); n > 102 {
		t.Errorf("%d samples kept", n)
	}
	c.pass(time.Hour)
	m.add(c.now(), 1100+3600)
	if got := m.rate(); math.Abs(got-1) > 1e-3 {
		t.Errorf("rate over a slow iteration = %v, want 1", got)
	}
	m.add(c.now(), 50)
	c.pass(time.Second)
	m.add(c.now(), 57)
	if got := m.rate(); got != 7 {
		t.Errorf("rate after a roll-back = %v, want 7", got)
	}
}

func BenchmarkUpdate(b *testing.B) {
	p := New(io.Discard, Options{Total: 1 << 40, Columns: columns(80)})
	s := Snapshot{Losses: []metrics.Value{{Name: "loss/policy"}, {Name: "loss/value"}}}
	for b.Loop() {
		s.Steps++
		p.Update(s)
	}
}

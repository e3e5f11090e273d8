package coordinator

import (
	"testing"
	"time"
	"unsafe"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/journal"
)

// stepped returns t as time.Now would have returned it had the machine's clock been set forward by
// d seconds: the wall time differs, the monotonic reading does not. There is no other way to make
// such a time without the rights to set a clock. It uses the layout of time.Time, which it checks.
func stepped(t *testing.T, at time.Time, d int) time.Time {
	t.Helper()
	const wallSeconds = 30 // the bit that whole seconds begin at
	out := at
	*(*uint64)(unsafe.Pointer(&out)) += uint64(d) << wallSeconds
	if out.Sub(at) != 0 || out.Round(0).Sub(at.Round(0)) != time.Duration(d)*time.Second {
		t.Fatal("time.Time has another layout in this version of Go")
	}
	return out
}

// A clock that is set forward is no silence: a worker that was just heard of is neither taken for
// lost nor has its lease given up.
func TestClockStep(t *testing.T) {
	c := &coordinator{Options: Options{Tick: 250 * time.Millisecond, Silence: time.Second, Log: journal.Discard(), Probe: &Probe{}}}
	a := newActing(c, nil)
	s := &session{id: 1, name: "w", out: nil, over: make(chan struct{})}
	a.core.Step(core.Joined{Worker: core.Worker{Name: "w", Session: 1}})
	a.sessions[1] = s
	now := time.Now()
	s.hear(now)
	a.ticked = now
	if err := a.tick(stepped(t, now, 3)); err != nil {
		t.Fatal(err)
	}
	if w := a.core.Worker("w"); s.silent || w.Silent {
		t.Error("a worker is taken for lost when the clock is set forward by 3 s")
	}
	if s.quiet(stepped(t, now, 3)) > time.Second {
		t.Error("its lease is not renewed")
	}
	// Time that has passed counts, whatever the clock says.
	a.ticked = now.Add(2 * time.Second)
	if err := a.tick(stepped(t, now.Add(2*time.Second), -3)); err != nil {
		t.Fatal(err)
	}
	if w := a.core.Worker("w"); !s.silent || !w.Silent {
		t.Error("a worker is not taken for lost after 2 s, because the clock was set back by 3 s")
	}
}

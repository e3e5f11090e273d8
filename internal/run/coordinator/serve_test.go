package coordinator_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/run/coordinator"
	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/port"
	"github.com/weft-rl/weft/internal/run/protocol"
	"github.com/weft-rl/weft/internal/run/worker"
)

func TestRun(t *testing.T) {
	c := newCluster(t)
	c.coordinate("127.0.0.1:0")
	c.submit("r", 2, 95, "") // before there is anybody
	c.work("a")
	c.work("b")
	c.work("c")
	r := c.whole("r", 95)
	if r.Epoch != 1 {
		t.Errorf("it took %d epochs", r.Epoch)
	}
	var log bytes.Buffer
	if err := c.client.Logs(t.Context(), "r", true, &log); err != nil || !strings.Contains(log.String(), ": it is over") {
		t.Errorf("%v, %s", err, log.String())
	}
	c.submit("s", 3, 20, "")
	c.whole("s", 20)
}

// hearing has a coordinator act that soon notices who has fallen silent, if that is what a test is
// about. Workers stay with it, however slow the machine is.
func (c *cluster) hearing(keenly bool) (at string) {
	patient := c.silence
	if keenly {
		c.silence = 2 * time.Second
	}
	at, _ = c.coordinate("127.0.0.1:0")
	c.silence = patient
	return at
}

// between has a worker reach its coordinator by the proxy, and soon notice when nothing comes
// through.
func (p *proxy) between(keenly bool) func(*worker.Options) {
	return func(o *worker.Options) {
		o.Coordinators = []string{p.Addr().String()}
		if keenly {
			o.Silence = time.Second
		}
	}
}

// A worker that is lost or frozen costs what was done since the last
// checkpoint, and comes back.
func TestLoss(t *testing.T) {
	for name, harm := range map[string]func(p *proxy, stop func()){
		"killed": func(_ *proxy, stop func()) { stop() },
		"frozen": func(p *proxy, _ func()) { p.freeze(true) },
	} {
		for _, who := range []string{"a", "b"} {
			t.Run(name+" "+who, func(t *testing.T) {
				c := newCluster(t)
				at := c.hearing(name == "frozen")
				letGo := c.disk.hold("r")
				p := newProxy(t, at)
				through := p.between(name == "frozen")
				stops := map[string]func(){}
				for _, w := range []string{"a", "b"} {
					if w == who {
						stops[w] = c.work(w, through)
					} else {
						stops[w] = c.work(w)
					}
				}
				c.members(2)
				c.submit("r", 2, 65, "")
				c.at("r", 15)
				harm(p, stops[who])
				c.wait("another epoch", func(s *protocol.Status) bool { return s.Runs[0].Epoch > 1 && s.Runs[0].Phase == core.Running })
				p.freeze(false)
				letGo()
				c.whole("r", 65)
			})
		}
	}
}

// A worker whose connection breaks comes back, whichever it is, and its part goes on.
func TestBroken(t *testing.T) {
	for _, who := range []string{"a", "b"} {
		t.Run(who, func(t *testing.T) {
			c := newCluster(t)
			c.returns = 600
			at, _ := c.coordinate("127.0.0.1:0")
			letGo := c.disk.hold("r")
			p := newProxy(t, at)
			for _, w := range []string{"a", "b"} {
				c.work(w, func(o *worker.Options) {
					if w == who {
						o.Coordinators = []string{p.Addr().String()}
					}
				})
			}
			c.members(2)
			c.submit("r", 2, 65, "")
			for _, step := range []int64{10, 20, 30} {
				c.at("r", step)
				before := c.session(who)
				p.cut()
				c.wait("another connection", func(*protocol.Status) bool { return c.session(who) > before })
			}
			letGo()
			if r := c.whole("r", 65); r.Epoch != 1 {
				t.Errorf("it took %d epochs: %q", r.Epoch, r.History)
			}
		})
	}
}

// A worker that an asynchronous run can spare is replaced within the epoch, by the same
// worker or by another, and nothing that was done is lost.
func TestSpared(t *testing.T) {
	for name, harm := range map[string]func(c *cluster, p *proxy, stop func()){
		"started again": func(c *cluster, _ *proxy, stop func()) { stop(); c.work("b") },
		"another":       func(c *cluster, _ *proxy, stop func()) { stop(); c.work("d") },
		"frozen": func(c *cluster, p *proxy, _ func()) {
			p.freeze(true)
			c.wait("its loss", func(s *protocol.Status) bool { return len(s.Runs[0].Members) == 3 && s.Runs[0].Members[1].Life > 0 })
			p.freeze(false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			at := c.hearing(name == "frozen")
			letGo := c.disk.hold("r")
			p := newProxy(t, at)
			c.work("a")
			stop := c.work("b", p.between(name == "frozen"))
			c.work("c")
			c.members(3)
			c.submit("r", 3, 65, sparing)
			c.at("r", 15)
			harm(c, p, stop)
			c.wait("another life", func(s *protocol.Status) bool {
				m := s.Runs[0].Members
				return len(m) == 3 && m[1].Life > 0 && m[1].Ready // a slow machine may take it for lost again
			})
			letGo()
			if r := c.whole("r", 65); r.Epoch != 1 {
				t.Errorf("it took %d epochs: %q", r.Epoch, r.History)
			}
		})
	}
}

// A part that fails by itself is replaced likewise. One that fails the same way again has
// shown what is wrong with the run.
func TestSparedFailures(t *testing.T) {
	for _, lives := range []int64{1, 9} {
		c := newCluster(t)
		c.coordinate("127.0.0.1:0")
		letGo := c.disk.hold("r")
		now := make(chan struct{})
		c.work("a")
		c.work("b", func(o *worker.Options) { o.Runner = faulty{fake{c.disk}, lives, now} })
		c.members(2)
		c.submit("r", 2, 65, sparing)
		c.at("r", 15)
		close(now)
		if lives > 1 {
			if r := c.ends("r", core.Failed); r.Why != "worker b: its environment failed" || r.Epoch != 1 {
				t.Errorf("after %d epochs: %s", r.Epoch, r.Why)
			}
			continue
		}
		c.wait("another life", func(s *protocol.Status) bool {
			m := s.Runs[0].Members
			return len(m) == 2 && m[1].Life == 1 && m[1].Ready
		})
		letGo()
		if r := c.whole("r", 65); r.Epoch != 1 {
			t.Errorf("it took %d epochs: %q", r.Epoch, r.History)
		}
	}
}

// Workers that join take part from the next checkpoint on.
func TestGrow(t *testing.T) {
	c := newCluster(t)
	c.coordinate("127.0.0.1:0")
	letGo := c.disk.hold("r")
	c.work("a")
	stop := c.work("b")
	c.members(2)
	c.submit("r", 2, 300, "")
	c.at("r", 15)
	if s, err := c.client.Status(t.Context(), "r"); err != nil || len(s.Runs[0].Progress.Metrics) != part.MaxMetrics {
		t.Errorf("%+v has not as many metrics as may be, %v", s, err)
	}
	stop()
	c.wait("one worker", func(s *protocol.Status) bool { return len(s.Runs[0].Members) == 1 })
	c.work("c")
	c.wait("two workers", func(s *protocol.Status) bool { return len(s.Runs[0].Members) == 2 })
	letGo()
	c.whole("r", 300)
}

// A coordinator that is started again on the same data goes on with the very epoch.
func TestRestart(t *testing.T) {
	c := newCluster(t)
	at, stop := c.coordinate(port.Lasting())
	letGo := c.disk.hold("r")
	c.work("a")
	c.work("b")
	c.members(2)
	c.submit("r", 2, 65, "")
	c.at("r", 15)
	stop()
	c.coordinate(at)
	c.at("r", 64)
	letGo()
	if r := c.whole("r", 65); r.Epoch != 1 {
		t.Errorf("it took %d epochs", r.Epoch)
	}
}

// Of two coordinators one acts; the other knows which, and takes over.
func TestStandby(t *testing.T) {
	c := newCluster(t)
	_, stop := c.coordinate("127.0.0.1:0")
	c.wait("one acts", func(*protocol.Status) bool { return true })
	second, _ := c.coordinate("127.0.0.1:0")
	c.told("it stands by: the coordinator at " + c.address[0] + " acts")
	letGo := c.disk.hold("r")
	ask := &protocol.Client{Addresses: []string{second}, Patience: c.client.Patience}
	only := func(o *worker.Options) { o.Coordinators = c.address[1:] }
	c.work("a", only)
	c.work("b")
	c.members(2)
	if s, err := ask.Status(t.Context(), ""); err != nil || s.Coordinator != c.address[0] {
		t.Errorf("%+v, %v", s, err)
	}
	c.submit("r", 2, 65, "")
	c.at("r", 15)
	stop()
	c.client = ask
	c.at("r", 64)
	letGo()
	if r := c.whole("r", 65); r.Epoch != 1 {
		t.Errorf("it took %d epochs", r.Epoch)
	}
}

// What cannot work ends with a sentence.
func TestFailures(t *testing.T) {
	c := newCluster(t)
	c.coordinate("127.0.0.1:0")
	c.work("a")
	c.members(1)
	c.submit("bad", 1, 20, "NaN in the loss at step 11")
	if r := c.ends("bad", core.Failed); r.Why != "worker a: NaN in the loss at step 11" {
		t.Error(r.Why)
	}
	if err := c.client.Submit(t.Context(), "odd", "nonsense"); err != nil {
		t.Fatal(err)
	}
	if r := c.ends("odd", core.Failed); !strings.Contains(r.Why, "the configuration makes no sense") {
		t.Error(r.Why)
	}
	c.submit("large", 3, 20, "")
	c.wait("a reason", func(s *protocol.Status) bool {
		return s.Runs[2].Phase == core.Waiting && strings.Contains(s.Runs[2].Why, "3 are asked for, there are 1")
	})
	if err := c.client.Stop(t.Context(), "large", false); err != nil {
		t.Fatal(err)
	}
	c.ends("large", core.Stopped)
	for name, err := range map[string]error{
		"there is a run bad already": c.client.Submit(t.Context(), "bad", fmt.Sprintf(configuration, 3, 20, "")),
		"is no name for a run":       c.client.Submit(t.Context(), "../x", "workers=1 steps=1"),
		"there is no run x":          c.client.Stop(t.Context(), "x", false),
	} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
}

// A run that is to stop is saved where it is.
func TestHalt(t *testing.T) {
	c := newCluster(t)
	c.coordinate("127.0.0.1:0")
	c.work("a")
	c.work("b")
	c.members(2)
	c.submit("r", 2, 1_000_000, "")
	c.at("r", 15)
	if err := c.client.Stop(t.Context(), "r", false); err != nil {
		t.Fatal(err)
	}
	r := c.ends("r", core.Stopped)
	if !r.Progress.Halted || r.Last == nil || r.Last.Step != r.Progress.Steps || r.Halting || r.Epoch != 1 {
		t.Errorf("it ended as %+v, %+v", r.Progress, r.Last)
	}
	if err := c.resume("r", 2, int(r.Last.Step)+20); err != nil {
		t.Fatal(err)
	}
	c.whole("r", int(r.Last.Step)+20)
}

// usurped is a store whose leadership can be lost without its holder being told.
type usurped struct {
	coordinator.Store
	terms chan coordinator.Term // that were given to who is not told
}

type unaware struct{ coordinator.Term }

func (unaware) Lost() <-chan struct{} { return nil }

func (u usurped) Campaign(ctx context.Context, address string) (coordinator.Term, error) {
	term, err := u.Store.Campaign(ctx, address)
	if err == nil {
		select {
		case u.terms <- term:
			term = unaware{term}
		default:
		}
	}
	return term, err
}

// A coordinator that does not know that another one acts finds out before it does harm.
func TestUsurped(t *testing.T) {
	c := newCluster(t)
	terms := make(chan coordinator.Term, 1)
	c.store = usurped{c.store, terms}
	c.coordinate("127.0.0.1:0")
	letGo := c.disk.hold("r")
	c.work("a")
	c.work("b")
	c.members(2)
	c.submit("r", 2, 200, "")
	c.at("r", 15)
	second, _ := c.coordinate("127.0.0.1:0")
	if err := (<-terms).Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	letGo()
	c.whole("r", 200)
	if s, err := c.client.Status(t.Context(), ""); err != nil || s.Coordinator != second {
		t.Errorf("%+v, %v", s, err)
	}
}

// A record that cannot be kept ends its run, and no other.
func TestRecordLost(t *testing.T) {
	c := newCluster(t)
	c.coordinate("127.0.0.1:0")
	if err := os.MkdirAll(filepath.Join(c.runs, "bad", "metrics.jsonl", "in the way"), 0o755); err != nil {
		t.Fatal(err)
	}
	c.work("a")
	c.submit("bad", 1, 20, "")
	if r := c.ends("bad", core.Failed); !strings.Contains(r.Why, "its record cannot be kept") {
		t.Error(r.Why)
	}
	c.submit("good", 1, 20, "")
	c.whole("good", 20)
}

// Whoever has submitted a run finds it.
func TestSubmitted(t *testing.T) {
	c := newCluster(t)
	c.coordinate("127.0.0.1:0")
	for i := range 50 {
		name := fmt.Sprint("r", i)
		c.submit(name, 1, 1, "")
		if _, err := c.client.Status(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
}

// A coordinator whose machine dies leaves a record without the lines that were not on its disk. The
// run goes on from its last checkpoint, and its record is whole.
func TestUnsynced(t *testing.T) {
	c := newCluster(t)
	at, stop := c.coordinate("127.0.0.1:0")
	letGo := c.disk.hold("r")
	c.work("a")
	c.members(1)
	c.submit("r", 1, 65, "")
	c.at("r", 64)
	stop()
	path := filepath.Join(c.runs, "r", "metrics.jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	if err := os.Truncate(path, int64(len(bytes.Join(lines[:61], nil)))); err != nil { // the last checkpoint is of step 60
		t.Fatal(err)
	}
	c.coordinate(at)
	letGo()
	c.whole("r", 65)
}

// A record that loses lines which no epoch does again is an error that says which, not a run that
// is done.
func TestRecordDamaged(t *testing.T) {
	for name, harm := range map[string]func(dir string) error{
		"truncated": func(dir string) error { return os.Truncate(filepath.Join(dir, "metrics.jsonl"), 100) },
		"removed":   func(dir string) error { return os.Remove(filepath.Join(dir, "metrics.jsonl")) },
		"folder":    os.RemoveAll,
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.coordinate("127.0.0.1:0")
			letGo := c.disk.hold("r")
			c.work("a")
			c.members(1)
			c.submit("r", 1, 65, "")
			c.at("r", 64)
			if err := harm(filepath.Join(c.runs, "r")); err != nil {
				t.Fatal(err)
			}
			letGo()
			if r := c.ends("r", core.Failed); !strings.Contains(r.Why, "lost") || !strings.Contains(r.Why, "the checkpoint of step 60 is good") {
				t.Error(r.Why)
			}
		})
	}
}

// TestRecordOf: the coordinator hands over a run's record, of all its files, as far as it is
// written.
func TestRecordOf(t *testing.T) {
	c := newCluster(t)
	c.coordinate("127.0.0.1:0")
	c.work("a")
	c.submit("r", 1, 95, "")
	c.whole("r", 95)
	lines, err := c.client.Record(t.Context(), "r")
	if err != nil || bytes.Count(lines, []byte("\n")) != 95 {
		t.Errorf("%d lines, %v", bytes.Count(lines, []byte("\n")), err)
	}
	for _, run := range []string{"s", "../r"} {
		if _, err := c.client.Record(t.Context(), run); err == nil || !strings.Contains(err.Error(), "there is no run") {
			t.Errorf("%s: %v", run, err)
		}
	}
	// The files of a run that the coordinator has forgotten, one of them closed.
	dir := filepath.Join(c.runs, "old")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"config.yaml": "x", "metrics.000001.jsonl": "1\n2\n", "metrics.jsonl": "3\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if lines, err := c.client.Record(t.Context(), "old"); err != nil || string(lines) != "1\n2\n3\n" {
		t.Errorf("%q, %v", lines, err)
	}
}

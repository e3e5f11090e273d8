package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/run/coordinator"
	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/protocol"
)

// TestProbe shows what a coordinator does: who acts, what befell a run, and nothing of runs that
// are over.
func TestProbe(t *testing.T) {
	c := newCluster(t)
	c.probe = &coordinator.Probe{}
	if err := c.probe.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "just started") {
		t.Error(err)
	}
	c.coordinate("127.0.0.1:0")
	stop := c.work("a")
	c.members(1)
	if err := errors.Join(c.probe.Ready(t.Context()), c.probe.Well()); err != nil {
		t.Error(err)
	}
	letGo := c.disk.hold("r")
	c.submit("r", 1, 45, "")
	c.at("r", 42)
	c.wait("a checkpoint", func(s *protocol.Status) bool { return s.Runs[0].Last != nil && s.Runs[0].Last.Step == 40 })
	stop()
	c.wait("it waits", func(s *protocol.Status) bool { return s.Runs[0].Phase == core.Waiting })
	c.work("b")
	c.at("r", 44)
	f := c.probe.Figures()
	r := f.Runs["r"]
	if !f.Acts || f.Elected != 1 || f.Decided == 0 || len(f.Status.Workers) != 1 {
		t.Errorf("%+v", f)
	}
	if r.Epochs != 2 || r.Restarts != 1 || r.Rewinds != 1 || r.Rewound < 2 || r.Rewound > 5 || r.Recovery <= 0 || r.Commits == 0 || r.Committed.IsZero() {
		t.Errorf("%+v", r)
	}
	if err := c.client.Stop(t.Context(), "nobody", false); err == nil {
		t.Error("a run that is not there was stopped")
	}
	letGo()
	c.whole("r", 45)
	c.wait("it is forgotten", func(*protocol.Status) bool { return len(c.probe.Figures().Runs) == 0 })
	if f := c.probe.Figures(); f.Refused["Stop"] != 1 || f.Recovery.Count != 1 || f.Recovery.Sum <= 0 {
		t.Errorf("%+v", f)
	}
}

// TestReady shows why coordinators are not ready: a store that takes no writes, a folder that takes
// none, no coordinator that acts.
func TestReady(t *testing.T) {
	c := newCluster(t)
	c.probe = &coordinator.Probe{}
	store := &readOnly{Store: c.store}
	c.store = store
	_, stop := c.coordinate("127.0.0.1:0")
	c.members(0)
	first := c.probe
	store.err = errors.New("database space exceeded")
	if err := first.Ready(t.Context()); err == nil || err.Error() != "its store takes no writes: database space exceeded" {
		t.Error(err)
	}
	store.err = nil
	if err := first.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	c.probe = &coordinator.Probe{}
	c.coordinate("127.0.0.1:0") // it stands by
	c.wait("it reaches the one that acts", func(*protocol.Status) bool { return c.probe.Ready(t.Context()) == nil })
	if c.probe.Figures().Acts {
		t.Error("both act")
	}
	stop()
	c.wait("it acts", func(*protocol.Status) bool { return c.probe.Figures().Acts })
	if err := os.RemoveAll(c.runs); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.runs, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := c.probe.Ready(t.Context()); err == nil {
		t.Error("it is ready without a folder of runs")
	}
}

// readOnly is a store that may take no writes.
type readOnly struct {
	coordinator.Store
	err error
}

func (s *readOnly) Probe(context.Context) error { return s.err }

// TestAudit keeps who asked for what, also what was refused, across coordinators.
func TestAudit(t *testing.T) {
	c := newCluster(t)
	ours := authority(t)
	c.tls, c.client.TLS = ours.tls, ours.tls
	_, stop := c.coordinate("127.0.0.1:0")
	c.work("a")
	c.submit("r", 1, 20, "")
	c.whole("r", 20)
	for range 2 {
		_, _ = c.client.Delete(t.Context(), "r") // the second is refused
	}
	stop()
	c.coordinate(c.address[0])
	c.members(1)
	if err := c.client.Drain(t.Context(), "x"); err == nil {
		t.Error("a worker that is not there was drained")
	}
	all, err := c.client.Audit(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range all {
		if d.Who != "node" || !strings.HasPrefix(d.From, "127.0.0.1:") || d.Time.IsZero() {
			t.Errorf("%+v", d)
		}
		got = append(got, fmt.Sprintf("%s %s%s %t", d.What, d.Run, d.Worker, d.Refused == ""))
	}
	if text := strings.Join(got, ", "); text != "submit r true, delete r true, delete r false, drain x false" {
		t.Error(text)
	}
	if all, err = c.client.Audit(t.Context(), "r"); err != nil || len(all) != 3 {
		t.Error(all, err)
	}
	info, err := os.Stat(filepath.Join(c.runs, ".audit.jsonl"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
}

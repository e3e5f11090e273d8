package coordinator_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/run/certs"
	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/protocol"
	"github.com/weft-rl/weft/internal/run/protocol/protocoltest"
	"github.com/weft-rl/weft/internal/run/worker"
)

// town is an authority that gives everybody a certificate of their own.
type town struct {
	*testing.T
	dir string
}

func newTown(t *testing.T) town {
	t.Helper()
	dir := t.TempDir()
	if err := certs.Init(dir); err != nil {
		t.Fatal(err)
	}
	return town{t, dir}
}

func (w town) issue(name string, roles ...certs.Role) *tls.Config {
	w.Helper()
	f, err := certs.Issue(w.dir, name, roles)
	if err != nil {
		w.Fatal(err)
	}
	f.Revoked = filepath.Join(w.dir, "ca.crl")
	c, err := f.Load()
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// as has a worker show a certificate.
func as(c *tls.Config) func(*worker.Options) { return func(o *worker.Options) { o.TLS = c } }

// forge joins with a certificate as hello says, sends messages, and returns the coordinator's
// answer to hello.
func (c *cluster) forge(config *tls.Config, hello protocol.Hello, all ...*protocol.Up) *protocol.Down {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	forger := &protocol.Client{Addresses: c.address, TLS: config, Patience: patience}
	answer, err := protocoltest.Join(ctx, forger, hello, func(f *protocoltest.Forger) error { return f.Say(all...) })
	if err != nil {
		return &protocol.Down{Kind: protocol.KindRefused, Text: err.Error()}
	}
	return answer
}

// TestForger: a worker of the cluster that has no part of a run can neither write its record nor
// its log, nor have it fail, end or go back, whatever it says.
func TestForger(t *testing.T) {
	c := newCluster(t)
	town := newTown(t)
	c.tls, c.client.TLS = town.issue("here", certs.Coordinate), town.issue("alice", certs.Submit)
	c.coordinate("127.0.0.1:0")
	letGo := c.disk.hold("r")
	c.work("a", as(town.issue("gpu1", certs.Work)))
	c.members(1)
	c.submit("r", 1, 65, "")
	c.at("r", 64)
	mallory := town.issue("mallory", certs.Work)
	if got := c.forge(mallory, protocol.Hello{Name: "b", Data: "b:1"}, protocoltest.Forgeries("r", 1)...); got.Kind != protocol.KindWelcome {
		t.Fatalf("%+v", got)
	}
	c.told(`refused mallory at`)
	c.told(`worker b says "record" of run "r", of which it has no part`)
	letGo()
	if r := c.whole("r", 65); r.Epoch != 1 {
		t.Errorf("it took %d epochs: %q", r.Epoch, r.History)
	}
	for _, name := range []string{"log.txt", "metrics.jsonl", "committed.json"} {
		text, err := os.ReadFile(filepath.Join(c.runs, "r", name))
		if err != nil || bytes.Contains(text, []byte("forged")) {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
}

// TestForgedName: nobody takes a worker's place who has another certificate, neither while the
// worker is there nor while its connection is broken, though it knows all that the coordinator
// shows.
func TestForgedName(t *testing.T) {
	c := newCluster(t)
	c.returns = 600
	town := newTown(t)
	c.tls, c.client.TLS = town.issue("here", certs.Coordinate), town.issue("alice", certs.Submit)
	at, _ := c.coordinate("127.0.0.1:0")
	letGo := c.disk.hold("r")
	p := newProxy(t, at)
	c.work("a", as(town.issue("gpu1", certs.Work)), p.between(false))
	c.members(1)
	c.submit("r", 1, 65, "")
	c.at("r", 30)
	mallory := town.issue("mallory", certs.Work)
	doing := &core.Doing{Run: "r", Epoch: 1, Ready: true, Done: true}
	try := func(want string) {
		t.Helper()
		for _, hello := range []protocol.Hello{{Name: "a", Data: "a:1"}, {Name: "a", Data: "a:1", Doing: doing}} {
			if got := c.forge(mallory, hello); got.Kind != protocol.KindRefused || !strings.Contains(got.Text, want) {
				t.Errorf("%+v, want a refusal with %q", got, want)
			}
		}
	}
	try("worker a has a part of run r, and another certificate")
	p.freeze(true)
	p.cut()
	c.members(0)
	try("worker a has a part of run r, and another certificate")
	p.freeze(false)
	letGo()
	if r := c.whole("r", 65); r.Epoch != 1 {
		t.Errorf("it took %d epochs: %q", r.Epoch, r.History)
	}
	try("there is a worker a already")
}

// TestRoleOfCaller: who may only work or read has nothing else done, over a real connection, and is
// told what it lacks.
func TestRoleOfCaller(t *testing.T) {
	c := newCluster(t)
	town := newTown(t)
	c.tls, c.client.TLS = town.issue("here", certs.Coordinate), town.issue("alice", certs.Submit)
	c.coordinate("127.0.0.1:0")
	c.submit("r", 1, 5, "")
	client := func(name string, roles ...certs.Role) *protocol.Client {
		return &protocol.Client{Addresses: c.address, TLS: town.issue(name, roles...), Patience: patience}
	}
	reader, hand := client("bob", certs.Read), client("gpu1", certs.Work)
	for what, do := range map[string]func(*protocol.Client) error{
		"submit":  func(x *protocol.Client) error { return x.Submit(t.Context(), "s", "workers=1 steps=1 fails=") },
		"resume":  func(x *protocol.Client) error { return x.Resume(t.Context(), "r", "x", protocol.Again{}) },
		"stop":    func(x *protocol.Client) error { return x.Stop(t.Context(), "r", true) },
		"delete":  func(x *protocol.Client) error { _, err := x.Delete(t.Context(), "r"); return err },
		"compact": func(x *protocol.Client) error { _, err := x.Compact(t.Context()); return err },
	} {
		for _, x := range []*protocol.Client{reader, hand} {
			if err := do(x); err == nil || !strings.Contains(err.Error(), "and this takes submit") {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	if _, err := reader.Status(t.Context(), ""); err != nil {
		t.Error(err)
	}
	var log bytes.Buffer
	if err := reader.Logs(t.Context(), "r", false, &log); err != nil || !strings.Contains(log.String(), "submitted") {
		t.Errorf("%q, %v", log.String(), err)
	}
	if _, err := hand.Status(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "and this takes read") {
		t.Error(err)
	}
	for _, config := range []*tls.Config{reader.TLS, c.client.TLS} {
		o := c.options("x")
		o.TLS = config
		c.refused(o, "and this takes work")
	}
	if s, err := reader.Status(t.Context(), "r"); err != nil || s.Runs[0].Secret != "" || s.Runs[0].Phase != core.Waiting {
		t.Errorf("%+v, %v", s, err)
	}
}

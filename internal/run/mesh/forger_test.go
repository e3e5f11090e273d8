package mesh

import (
	"crypto/tls"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/weft-rl/weft/internal/run/certs"
)

// holders returns nodes whose certificates were issued to names of their own, and the group that
// they are to be.
func holders(t *testing.T, names ...string) (nodes []*Node, g Group, configs []*tls.Config) {
	t.Helper()
	dir := t.TempDir()
	if err := certs.Init(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		f, err := certs.Issue(dir, name, []certs.Role{certs.Work})
		if err != nil {
			t.Fatal(err)
		}
		c, err := f.Load()
		if err != nil {
			t.Fatal(err)
		}
		nodes, configs = append(nodes, listen(t, Options{TLS: c, NoSocket: true, Silence: time.Minute})), append(configs, c)
	}
	g = group(nodes, "")
	for i, name := range names {
		g.Workers[i].Holder = name
	}
	g.Secret = "of the epoch"
	return nodes, g, configs
}

// TestForger: a worker of the cluster that has no part in a run does not get into it, though it
// knows everything but the epoch's secret, or has that and not the certificate; and nobody takes it
// for one that has.
func TestForger(t *testing.T) {
	nodes, whole, configs := holders(t, "gpu1", "gpu2", "mallory")
	g := whole
	g.Workers, g.Homes = whole.Workers[:2], whole.Homes[:2]
	p := make([]*process, 2)
	var all sync.WaitGroup
	all.Go(func() {
		var err error
		if p[1], err = nodes[1].enter(t, g, 1, []int{1}); err != nil {
			t.Error(err)
		}
	})
	for name, c := range map[string]struct {
		config *tls.Config
		secret string
		want   string
	}{
		"another certificate": {configs[2], g.Secret, `"mallory" is not worker w0, whose certificate was issued to "gpu1"`},
		"no secret":           {configs[0], "", "the secret is wrong"},
		"another epoch's":     {configs[0], "of another epoch", "the secret is wrong"},
	} {
		conn, err := grpc.NewClient("passthrough:///"+nodes[1].address, clientOptions(c.config)...)
		if err != nil {
			t.Fatal(err)
		}
		by := &Session{node: nodes[2], g: g, ctx: t.Context(), joining: t.Context()}
		h := hello{run: g.Run, epoch: g.Epoch, from: 0, to: 1, secret: c.secret}
		for err == nil || strings.Contains(err.Error(), "no epoch") { // until the other has begun
			_, err = by.open(conn, h)
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		conn.Close()
	}

	// Mallory answers in the place of the other.
	there := g
	there.Workers = append(there.Workers[:1:1], g.Workers[1])
	there.Workers[1].Data, there.Run = nodes[2].Address(), "other"
	all.Go(func() {
		if x, err := nodes[2].enter(t, there, 1, []int{1}); err == nil {
			x.Abort(errEnded)
		}
	})
	if _, err := nodes[0].enter(t, there, 0, []int{1}); err == nil || !strings.Contains(err.Error(), `"mallory" is not worker w1`) {
		t.Errorf("somebody else is taken for a worker: %v", err)
	}

	var err error
	if p[0], err = nodes[0].enter(t, g, 0, []int{1}); err != nil {
		t.Fatal(err)
	}
	for _, s := range nodes[2].sessionsNow() { // it waits in vain
		s.Abort(errors.New("the test is over"))
	}
	all.Wait()
	leave(t, p)
}

func (n *Node) sessionsNow() (out []*Session) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.sessions {
		out = append(out, s)
	}
	return out
}

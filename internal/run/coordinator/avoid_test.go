package coordinator_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/protocol"
	"github.com/weft-rl/weft/internal/run/worker"
)

// blamed is an error that says what is to blame.
type blamed struct {
	peers []string
	node  bool
}

func (b blamed) Error() string       { return "it cannot be done here" }
func (b blamed) Peer() bool          { return len(b.peers) > 0 }
func (b blamed) Unreached() []string { return b.peers }
func (b blamed) Node() bool          { return b.node }

// impaired is a runner whose worker cannot reach others, or cannot do what the part that decides
// has to.
type impaired struct {
	fake
	name string
	away []string // workers that it cannot reach
	node bool
}

func (i impaired) Run(ctx context.Context, a part.Assignment, r part.Reporter) error {
	for _, w := range a.Workers {
		switch {
		case !slices.Contains(i.away, w.Name):
		case w.Name > i.name: // it is this one that connects
			return blamed{peers: []string{w.Name}}
		default: // it waits to be connected to
			<-ctx.Done()
			return ctx.Err()
		}
	}
	if i.node && a.Owner() {
		return blamed{node: true}
	}
	return i.fake.Run(ctx, a, r)
}

// A run is planned without a worker that another cannot reach, though the coordinator reaches both,
// and without one that cannot keep checkpoints.
func TestAvoided(t *testing.T) {
	for name, c := range map[string]struct {
		workers map[string]impaired
		without string
	}{
		"link":    {map[string]impaired{"a": {away: []string{"b"}}, "b": {away: []string{"a"}}, "c": {}}, "b"},
		"cut off": {map[string]impaired{"a": {away: []string{"b", "c"}}, "b": {away: []string{"a"}}, "c": {away: []string{"a"}}}, "a"},
		"store":   {map[string]impaired{"a": {node: true}, "b": {}, "c": {}}, "a"},
		"stores":  {map[string]impaired{"a": {node: true}, "b": {node: true}, "c": {}}, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			x := newCluster(t)
			x.coordinate("127.0.0.1:0")
			for name, i := range c.workers {
				i.fake, i.name = fake{x.disk}, name
				x.work(name, func(o *worker.Options) { o.Runner = i })
			}
			x.members(3)
			letGo := x.disk.hold("r")
			x.submit("r", 3, 35, "")
			x.at("r", 34)
			s, err := x.client.Status(t.Context(), "")
			if err != nil || !strings.Contains(strings.Join(s.LeftOut, "\n"), c.without) {
				t.Errorf("the status says %q, %v", s.LeftOut, err)
			}
			letGo()
			r := x.whole("r", 35)
			if !strings.Contains(strings.Join(r.History, "\n"), "worker "+c.without+" is left out") {
				t.Errorf("%q", r.History)
			}
		})
	}
}

// missing is a runner whose part hears nothing of another worker in its first epoch, and fails
// because of that when it is let.
type missing struct {
	fake
	name string
	let  <-chan struct{} // nil: it does not fail by itself
}

func (m missing) Run(ctx context.Context, a part.Assignment, r part.Reporter) error {
	if a.Epoch > 1 {
		return m.fake.Run(ctx, a, r)
	}
	if err := r.Ready(ctx); err != nil {
		return err
	}
	r.Quiet([]string{m.name})
	select {
	case <-m.let:
		return silence{m.name}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// silence is the error of a part that lost a worker of which it heard nothing any more.
type silence struct{ worker string }

func (s silence) Error() string    { return "worker " + s.worker + " was lost" }
func (s silence) Peer() bool       { return true }
func (s silence) Broken() []string { return []string{s.worker} }

// Two workers that hear nothing of each other, though the coordinator hears both, are not planned
// together in the next epoch. What they say does not wait for the next sign of life.
func TestSilentLink(t *testing.T) {
	c := newCluster(t)
	c.silence = time.Hour
	c.coordinate("127.0.0.1:0")
	let := make(chan struct{})
	c.work("a", func(o *worker.Options) { o.Runner, o.Beat = missing{fake{c.disk}, "b", let}, time.Hour })
	c.work("b", func(o *worker.Options) { o.Runner, o.Beat = missing{fake{c.disk}, "a", nil}, time.Hour })
	c.work("c")
	c.members(3)
	c.submit("r", 3, 35, "")
	c.wait("both say so", func(s *protocol.Status) bool {
		said := 0
		for _, m := range s.Runs[0].Members {
			said += len(m.Quiet)
		}
		return said == 2
	})
	close(let)
	r := c.whole("r", 35)
	want := []string{
		"workers a and b are not planned together for now: neither hears anything of the other",
		"epoch 1 is over, worker a: worker b was lost: it goes on from step 0",
		"worker b is left out: it and worker a cannot reach each other",
		"epoch 2 begins at step 0 on a, c",
	}
	if got := r.History[2:]; len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		t.Errorf("%q", r.History)
	}
}

package coordinator

import (
	"slices"
	"sync"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/protocol"
)

// news holds what the loop last published.
type news struct {
	mu       sync.Mutex
	status   protocol.Status
	sessions []*session
	changed  chan struct{} // closed when there is something newer
}

// publish makes the present state known.
func (a *acting) publish() {
	a.stale = false
	s := protocol.Status{Coordinator: a.Address, Workers: slices.Clone(a.core.Workers), Runs: slices.Clone(a.core.Runs), LeftOut: a.core.LeftOut()}
	for i := range s.Runs {
		s.Runs[i].Members, s.Runs[i].Secret = slices.Clone(s.Runs[i].Members), ""
	}
	sessions := make([]*session, 0, len(a.sessions))
	for _, id := range a.ordered() {
		sessions = append(sessions, a.sessions[id])
	}
	n := &a.news
	n.mu.Lock()
	defer n.mu.Unlock()
	n.status, n.sessions = s, sessions
	close(n.changed)
	n.changed = make(chan struct{})
}

// latest returns what is known, and what is closed when that is old.
func (n *news) latest() (protocol.Status, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.status, n.changed
}

func (n *news) live() []*session {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sessions
}

// run is a run among those that are known.
func find(s protocol.Status, name string) (core.Run, bool) {
	i := slices.IndexFunc(s.Runs, func(r core.Run) bool { return r.Name == name })
	if i < 0 {
		return core.Run{}, false
	}
	return s.Runs[i], true
}

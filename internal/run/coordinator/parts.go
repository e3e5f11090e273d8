package coordinator

import (
	"slices"
	"sync"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/protocol"
)

// parts lists the work that a session was given. What a worker says of anything else reaches no
// run's folder: its lines are not written, its notes are not logged, and what is missing in a
// record is not asked of it.
type parts struct {
	claimed string // run that the worker said it is at when it joined, whether it is or not; set before anything is read

	mu    sync.Mutex
	given []grant // the newest last
}

// grant is a part of an epoch.
type grant struct {
	run         string
	epoch, life int64
	owner       bool // it decides, and writes the record
}

// maxGiven bounds what is remembered: a worker has one part at a time, and may still speak of the
// one before.
const maxGiven = 8

func (p *parts) add(g grant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.given = append(p.given, g)
	p.given = slices.Clone(p.given[max(0, len(p.given)-maxGiven):])
}

// mayWrite reports whether a message may change the folder of its run: it comes from who was given
// the part, and lines and checkpoints from the part that decides.
func (p *parts) mayWrite(m *protocol.Up) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range p.given {
		if g.run == m.Run && g.epoch == m.Epoch && g.life == m.Life {
			return g.owner || m.Kind != protocol.KindRecord && m.Kind != protocol.KindCommit && m.Offset == 0
		}
	}
	return false
}

// knows reports whether a worker may have a reason to speak of a run.
func (p *parts) knows(run string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return run == p.claimed || slices.ContainsFunc(p.given, func(g grant) bool { return g.run == run })
}

// give notes which sessions have which parts, before anybody is told: those that were assigned, and
// the one that a worker which has joined goes on with.
func (a *acting) give(e core.Event, decisions []core.Decision) {
	for _, d := range decisions {
		if x, ok := d.(core.Assign); ok && a.sessions[x.Session] != nil {
			y := x.Assignment
			a.sessions[x.Session].parts.add(grant{y.Run, y.Epoch, y.Life, y.Owner()})
		}
	}
	x, ok := e.(core.Joined)
	if !ok || a.sessions[x.Worker.Session] == nil {
		return
	}
	w := a.core.Worker(x.Worker.Name)
	if w == nil || w.Session != x.Worker.Session || w.Run == "" {
		return
	}
	r := a.core.Run(w.Run)
	for i, m := range r.Members {
		if m.Session == w.Session {
			owner := part.Assignment{Plan: *r.Plan, Me: i}.Owner()
			a.sessions[w.Session].parts.add(grant{r.Name, r.Epoch, m.Life, owner})
		}
	}
}

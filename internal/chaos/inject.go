package chaos

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/part"
)

// inject does something to the cluster, and returns what will show that the run has got
// over it. What lasts goes on behind it, unless training is to go on all the while: then
// it is over when inject returns.
func (t *trial) inject(ctx context.Context, f Fault) (mark, error) {
	r := t.status(ctx)
	owner := t.slot(ownerOf(r))
	victim := t.cluster.workers[f.Pick%len(t.cluster.workers)]
	switch f.Kind {
	case KillWorker:
		return kill(r, victim), nil
	case KillOwner:
		return kill(r, owner), nil
	case KillAll:
		return kill(r, t.cluster.workers...), nil
	case KillWriting:
		t.writes(ctx)
		return kill(r, owner), nil
	case KillCoordinator:
		return t.killCoordinator(ctx, r)
	case LargeRecord:
		return t.largeRecord(ctx)
	case LoseLines:
		return t.loseLines(ctx, r, f.Pick)
	case KillBoth:
		m := kill(r, victim)
		after, err := t.killCoordinator(ctx, r)
		m.after = after.after
		return m, err
	case FreezeWorker:
		return t.freeze(ctx, r, victim, f.For), nil
	case FreezeOwner:
		return t.freeze(ctx, r, owner, f.For), nil
	case FreezeCoordinator, PauseCoordinator:
		return t.pause(ctx, t.cluster.coordinator, f.For), nil
	case Pause:
		return t.pause(ctx, victim, f.For), nil
	case Slow:
		return t.slow(ctx, victim, f.For), nil
	case Leave:
		m := lost(r, victim)
		victim.Leave()
		t.lasting.Go(func() {
			rest(ctx, f.For)
			victim.Return()
		})
		return m, nil
	}
	switch f.Kind {
	case Drain:
		return t.drain(ctx, r, victim)
	case CutLink:
		return t.cutLink(ctx, r, f)
	case HangSubmission:
		return t.hang(ctx, r, f, victim)
	case ReadOnly:
		return t.readOnly(ctx, r, f, owner)
	case HideSocket:
		return t.hideSocket(r, f)
	case SetClock:
		return t.setClock(ctx, r, f)
	}
	return t.disturb(ctx, r, f)
}

// status returns the run as it stands, with its plan.
func (t *trial) status(ctx context.Context) core.Run {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if s, err := t.cluster.client.Status(ctx, t.name); err == nil && len(s.Runs) == 1 {
		return s.Runs[0]
	}
	r, _, _ := t.view.latest()
	return r
}

// ownerOf returns the worker that decides, or one that might.
func ownerOf(r core.Run) string {
	for i, m := range r.Members {
		if r.Plan != nil && (part.Assignment{Plan: *r.Plan, Me: i}).Owner() {
			return m.Name
		}
	}
	return "w0"
}

func (t *trial) slot(name string) *slot {
	i := slices.IndexFunc(t.cluster.workers, func(s *slot) bool { return s.name == name })
	return t.cluster.workers[max(0, i)]
}

// member reports whether any of some workers has a part in a run.
func member(r core.Run, all ...*slot) bool {
	return slices.ContainsFunc(r.Members, func(m core.Member) bool {
		return slices.ContainsFunc(all, func(s *slot) bool { return s.name == m.Name })
	})
}

// going returns the mark of a run that should go on as it is.
func going(r core.Run) mark {
	now := time.Now()
	return mark{from: now, after: now, epoch: r.Epoch, anew: r.Phase == core.Waiting, iter: r.Progress.Iter, lives: lives(r), owner: ownerOf(r)}
}

// lost returns the mark of a run that loses workers.
func lost(r core.Run, all ...*slot) mark {
	m := going(r)
	if m.spared = spares(r, all...); !m.spared {
		m.anew = m.anew || member(r, all...)
	}
	return m
}

// spares reports whether a run goes on without workers that have a part in it.
func spares(r core.Run, all ...*slot) bool {
	owner := ownerOf(r)
	return r.Phase == core.Running && r.Plan != nil && r.Plan.Sparing() && member(r, all...) &&
		!slices.ContainsFunc(all, func(s *slot) bool { return s.name == owner })
}

func kill(r core.Run, all ...*slot) mark {
	m := lost(r, all...)
	for _, s := range all {
		s.Signal(sigKill)
	}
	return m
}

// killCoordinator returns when there is another one: what the old one said does not count.
func (t *trial) killCoordinator(ctx context.Context, r core.Run) (mark, error) {
	m, listening := going(r), t.cluster.listening()
	t.cluster.coordinator.Signal(sigKill)
	ctx, cancel := context.WithTimeoutCause(ctx, t.Patience, fmt.Errorf("no coordinator is there again within %v", t.Patience))
	defer cancel()
	select {
	case <-listening:
	case <-ctx.Done():
		return m, context.Cause(ctx)
	}
	m.after = time.Now()
	return m, nil
}

func (t *trial) freeze(ctx context.Context, r core.Run, s *slot, d time.Duration) mark {
	m := lost(r, s)
	s.Signal(sigFreeze)
	t.lasting.Go(func() {
		rest(ctx, d)
		s.Signal(sigThaw)
	})
	return m
}

func (t *trial) pause(ctx context.Context, s *slot, d time.Duration) mark {
	s.Signal(sigFreeze)
	rest(ctx, d)
	r, _, _ := t.view.latest()
	s.Signal(sigThaw)
	return going(r)
}

// slow has a worker stand still two thirds of the time.
func (t *trial) slow(ctx context.Context, s *slot, d time.Duration) mark {
	for until := time.Now().Add(d); time.Now().Before(until) && ctx.Err() == nil; {
		s.Signal(sigFreeze)
		rest(ctx, 40*time.Millisecond)
		s.Signal(sigThaw)
		rest(ctx, 20*time.Millisecond)
	}
	r, _, _ := t.view.latest()
	return going(r)
}

// disturb disturbs a worker's connections.
func (t *trial) disturb(ctx context.Context, r core.Run, f Fault) (mark, error) {
	hit := []*slot{t.cluster.workers[f.Pick%len(t.cluster.workers)]}
	at := hit[0]
	if f.Kind == CutData && len(r.Members) > 1 {
		at, hit = t.opened(r, f.Pick)
	}
	i := slices.Index(t.cluster.workers, at)
	m := going(r)
	if f.Kind == Drop || f.Kind == CutData && t.network.severs() {
		m = lost(r, hit...)
	}
	if err := t.network.disturb(i, f.Kind); err != nil {
		return m, err
	}
	mend := func() {
		rest(ctx, f.For)
		if err := t.network.mend(i); err != nil {
			t.bad(err)
		}
	}
	if f.Kind == Drop {
		t.lasting.Go(mend)
		return m, nil
	}
	mend()
	if !m.anew && !m.spared {
		r, _, _ = t.view.latest()
		m = going(r)
	}
	return m, nil
}

// opened returns a worker that others have opened data connections to, and who is lost when
// these are cut: of a run that can spare workers, all but the one that decides; else the
// worker itself, which is any but the first.
func (t *trial) opened(r core.Run, pick int) (at *slot, hit []*slot) {
	at = t.slot(r.Members[1+pick%(len(r.Members)-1)].Name)
	if r.Plan == nil || !r.Plan.Sparing() {
		return at, []*slot{at}
	}
	owner := ownerOf(r)
	for _, m := range r.Members {
		if m.Name != owner {
			hit = append(hit, t.slot(m.Name))
		}
	}
	return t.slot(owner), hit
}

// writes waits until a checkpoint is being written, or it takes too long.
func (t *trial) writes(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ticker := time.NewTicker(200 * time.Microsecond)
	defer ticker.Stop()
	before := t.unfinished()
	for {
		for _, path := range t.unfinished() {
			if !slices.Contains(before, path) && strings.HasPrefix(filepath.Base(path), "step-") {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// unfinished returns the objects of the run's store that are being written.
func (t *trial) unfinished() []string {
	all, _ := filepath.Glob(filepath.Join(t.cluster.runs(), t.name, "*.part")) // the pattern is a good one
	return all
}

// rest waits.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

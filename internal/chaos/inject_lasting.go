package chaos

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
)

// Faults that a run gets over only by doing without something: a link, a machine, a socket, or
// another submission.

// cutLink cuts the link between two workers of the run, of an asynchronous one that of a worker to
// the one that decides. The coordinator reaches both.
func (t *trial) cutLink(ctx context.Context, r core.Run, f Fault) (mark, error) {
	if len(r.Members) < 2 {
		return going(r), nil
	}
	n := len(r.Members)
	a := f.Pick % n
	b := (a + 1 + f.Pick/n%(n-1)) % n
	if r.Plan != nil && r.Plan.Sparing() {
		owner := ownerOf(r)
		b = slices.IndexFunc(r.Members, func(m core.Member) bool { return m.Name == owner })
		a = (b + 1 + f.Pick%(n-1)) % n
	}
	first, second := t.slot(r.Members[a].Name), t.slot(r.Members[b].Name)
	m := lost(r, first)
	i, j := slices.Index(t.cluster.workers, first), slices.Index(t.cluster.workers, second)
	if err := t.network.sever(i, j, true); err != nil {
		return m, err
	}
	t.lasting.Go(func() {
		rest(ctx, f.For)
		t.bad(t.network.sever(i, j, false))
	})
	return m, nil
}

// hang submits a run whose environment is never constructed, and kills a worker of the other one,
// which must get over that as ever. The submission is stopped in the end.
func (t *trial) hang(ctx context.Context, r core.Run, f Fault, victim *slot) (mark, error) {
	name := fmt.Sprintf("hang-%d", f.Pick)
	python := filepath.Join(t.cluster.dir, name+".sh")
	if err := os.WriteFile(python, []byte("#!/bin/sh\nexec sleep 100000\n"), 0o755); err != nil {
		return mark{}, err
	}
	config := "algorithm: ppo\nenv: gym:CartPole-v1\nsteps: 2000\npython: " + python + "\n"
	if err := t.cluster.client.Submit(ctx, name, config); err != nil {
		return mark{}, err
	}
	rest(ctx, time.Second) // until others could be held up by it
	m := kill(r, victim)
	t.lasting.Go(func() {
		rest(ctx, f.For)
		t.bad(t.stop(ctx, name))
	})
	return m, nil
}

// stop stops a submission at once.
func (t *trial) stop(ctx context.Context, name string) error {
	limited, cancel := context.WithTimeout(ctx, t.Patience)
	defer cancel()
	if err := t.cluster.client.Stop(limited, name, true); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s is not stopped: %w", name, err)
	}
	s, err := t.cluster.client.Status(limited, name)
	if err == nil && len(s.Runs) == 1 && s.Runs[0].Phase != core.Stopped {
		err = fmt.Errorf("%s is %s though it was stopped: %s", name, s.Runs[0].Phase, s.Runs[0].Why)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// readOnly takes the store away from the worker that decides, which others see as ever.
func (t *trial) readOnly(ctx context.Context, r core.Run, f Fault, owner *slot) (mark, error) {
	m := lost(r, owner)
	if err := t.cluster.mount(owner.name, os.DevNull); err != nil {
		return m, err
	}
	t.lasting.Go(func() {
		rest(ctx, f.For)
		t.bad(t.cluster.mount(owner.name, t.cluster.runs()))
	})
	return m, nil
}

// hideSocket removes the names of all workers' Unix sockets, as if each had a temporary folder that
// no other sees, and kills a worker. The others have to be reached in another way.
func (t *trial) hideSocket(r core.Run, f Fault) (mark, error) {
	for _, s := range t.cluster.workers {
		all, _ := filepath.Glob(filepath.Join(t.cluster.newest(s.name).temp, "weft-data-*", "socket")) // the pattern is a good one
		for _, path := range all {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return mark{}, err
			}
		}
	}
	return kill(r, t.cluster.workers[f.Pick%len(t.cluster.workers)]), nil
}

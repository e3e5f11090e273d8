package process_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/part/parttest"
	"github.com/weft-rl/weft/plan"
)

// halt carries an epoch out and has it end early; the parts that do not decide are given up
// then, as a coordinator does. What it returns is what it goes on from.
func (x *team) halt(t *testing.T, a part.Assignment, d *parttest.Desk) part.Manifest {
	t.Helper()
	ctx, over := context.WithCancel(t.Context())
	defer over()
	var once sync.Once
	d.Progressed = func(p part.Progress) {
		if p.Iter >= 3 {
			once.Do(d.Halt)
		}
		if p.Halted {
			over()
		}
	}
	errs := x.run(ctx, a, d)
	for i, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("part %d: %v", i, err)
		}
	}
	last := d.Last()
	if last.Result != nil || !last.Halted {
		t.Fatalf("it ended with %+v", last)
	}
	all := d.Commits()
	if len(all) != 1 || all[0].Step != last.Steps {
		t.Fatalf("%+v are committed, and it stands at %+v", all, last)
	}
	if rows := steps(t, d.Lines()); rows[len(rows)-1] != last.Steps {
		t.Errorf("it has recorded %v", rows)
	}
	return all[0]
}

// TestHalted: a run that is to stop does so at its next consistent point, and goes on from
// there to the end that it would have come to.
func TestHalted(t *testing.T) {
	const config = "every=1000000 steps=6400"
	want := plain(t, config)
	for _, by := range []plan.Deployment{
		{Policy: "plain", Workers: 1}, {Policy: "single-learner-coarse", Workers: 2}, {Policy: "single-learner-fine", Workers: 2},
		{Policy: "single-learner-coarse", Workers: 2, Async: true, Staleness: 2, Queue: 2}, {Policy: "central", Workers: 2, Async: true, Staleness: 4, Queue: 2},
	} {
		t.Run(fmt.Sprint(by.Policy, by.Async), func(t *testing.T) {
			x, d := newTeam(t, 2), parttest.NewDesk(2)
			a := part.Assignment{Run: "r", Epoch: 1, Config: config, Plan: planned(t, config, by)}
			m := x.halt(t, a, d)
			again := parttest.NewDesk(2)
			a.Epoch, a.From = 2, &m
			if err := errors.Join(x.run(t.Context(), a, again)...); err != nil {
				t.Fatal(err)
			}
			if by.Async {
				return
			}
			same(t, again, want)
			if rows := slices.Concat(steps(t, d.Lines()), steps(t, again.Lines())); len(rows) != 100 || !slices.IsSorted(rows) {
				t.Errorf("%d rows: %v", len(rows), rows)
			}
		})
	}
}

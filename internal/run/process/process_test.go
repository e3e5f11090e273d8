package process_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/part/parttest"
	"github.com/weft-rl/weft/internal/run/process"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/internal/run/store"
	"github.com/weft-rl/weft/plan"
)

// TestRun: processes come to what the loop comes to, and tell of it.
func TestRun(t *testing.T) {
	want := plain(t, "")
	for _, c := range []struct {
		plan.Deployment
		processes int
	}{
		{plan.Deployment{Policy: "single-learner-coarse", Workers: 2}, 2},
		{plan.Deployment{Policy: "single-learner-fine", Workers: 3, Replicas: 5}, 3},
		{plan.Deployment{Policy: "single-learner-coarse", Workers: 1}, 2}, // one has nothing to do
		{plan.Deployment{Policy: "plain", Workers: 1}, 2},
	} {
		t.Run(fmt.Sprint(c.Policy, c.Workers), func(t *testing.T) {
			x, d := newTeam(t, c.processes), parttest.NewDesk(c.processes)
			a := part.Assignment{Run: "r", Epoch: 1, Plan: planned(t, "", c.Deployment)}
			if err := errors.Join(x.run(t.Context(), a, d)...); err != nil {
				t.Fatal(err)
			}
			same(t, d, want)
			var wanted []int64
			for s := int64(64); s <= 640; s += 64 {
				wanted = append(wanted, s)
			}
			if got := steps(t, d.Lines()); !slices.Equal(got, wanted) {
				t.Errorf("rows of %v", got)
			}
			if n := len(d.Commits()); n != 10 {
				t.Errorf("%d commits", n)
			}
			files, err := os.ReadDir(filepath.Join(x.folder, "r"))
			if err != nil || len(files) != 2 {
				t.Errorf("%v are kept, %v", files, err)
			}
		})
	}
}

// TestSavedAgain: the last step is saved again when it was evaluated, and nothing that was
// committed is written over.
func TestSavedAgain(t *testing.T) {
	x, d := newTeam(t, 1), parttest.NewDesk(1)
	x.runners[0] = process.New(process.Config{Node: x.nodes[0], Store: inFolder(x.folder), Job: func(text string) (runner.Job, error) {
		j, err := job(text)
		j.EvalEpisodes = 2
		return j, err
	}})
	d.Committed = func(m part.Manifest) error {
		info, err := os.Stat(filepath.Join(x.folder, "r", m.Object))
		if err == nil && info.Size() != m.Size {
			err = fmt.Errorf("%d bytes, want %d", info.Size(), m.Size)
		}
		return err
	}
	if err := errors.Join(x.run(t.Context(), part.Assignment{Run: "r", Epoch: 1, Plan: planned(t, "", plan.Deployment{Policy: "plain", Workers: 1})}, d)...); err != nil {
		t.Fatal(err)
	}
	all := d.Commits()
	before, last := all[len(all)-2], all[len(all)-1]
	if before.Step != 640 || last.Step != 640 || before.Evaluated || !last.Evaluated || before.Object == last.Object {
		t.Errorf("%+v and then %+v", before, last)
	}
	for _, m := range []part.Manifest{before, last} {
		if _, err := os.Stat(filepath.Join(x.folder, "r", m.Object)); err != nil {
			t.Error(err)
		}
	}
}

var coarse = plan.Deployment{Policy: "single-learner-coarse", Workers: 2}

// TestResume: an epoch goes on from any checkpoint, with another policy and other
// processes, to the same end; from the last one too, where nothing is left to do.
func TestResume(t *testing.T) {
	want := plain(t, "")
	for _, from := range []int64{192, 640} {
		x, d := newTeam(t, 2), parttest.NewDesk(2)
		ctx, stop := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		d.Committed = func(m part.Manifest) error {
			if m.Step == from && from < 640 {
				stop(enough)
			}
			return nil
		}
		a := part.Assignment{Run: "r", Epoch: 1, Plan: planned(t, "", coarse)}
		err := errors.Join(x.run(ctx, a, d)...)
		if stopped := errors.Is(err, enough); stopped != (from < 640) {
			t.Fatal(err)
		}
		stop(nil)
		commits := d.Commits()
		m := commits[slices.IndexFunc(commits, func(m part.Manifest) bool { return m.Step == from })]
		again := parttest.NewDesk(2)
		a.Epoch, a.From, a.Plan = 2, &m, planned(t, "", plan.Deployment{Policy: "single-learner-fine", Workers: 2, Replicas: 3})
		if err := errors.Join(x.run(t.Context(), a, again)...); err != nil {
			t.Fatal(err)
		}
		same(t, again, want)
		if n := len(steps(t, again.Lines())); n != int(640-from)/64 {
			t.Errorf("%d rows after step %d", n, from)
		}
	}
}

// TestEvaluated: the policy is evaluated at the end, once: an epoch that begins with
// the last checkpoint before that does only this, one that begins after it nothing.
func TestEvaluated(t *testing.T) {
	const config = "steps=192 eval=5"
	want := plain(t, "steps=192")
	x, d := newTeam(t, 2), parttest.NewDesk(2)
	a := part.Assignment{Run: "r", Epoch: 1, Config: config, Plan: planned(t, config, coarse)}
	if err := errors.Join(x.run(t.Context(), a, d)...); err != nil {
		t.Fatal(err)
	}
	same(t, d, want)
	if m := d.Last().Metrics; len(m) == 0 || len(m) > part.MaxMetrics {
		t.Errorf("it tells of the metrics %+v", m)
	}
	if e := d.Last().Evaluation; e == nil || e.Steps != 192 || e.Episodes == 0 {
		t.Errorf("it tells of the evaluation %+v", e)
	}
	commits := d.Commits() // of three steps, and of the last once more
	if len(commits) != 4 || commits[2].Step != commits[3].Step || commits[2].Object == commits[3].Object {
		t.Fatalf("%+v", commits)
	}
	for i, rows := range []int{0, 1} {
		again := parttest.NewDesk(2)
		a.Epoch, a.From = a.Epoch+1, &commits[3-i]
		if err := errors.Join(x.run(t.Context(), a, again)...); err != nil {
			t.Fatal(err)
		}
		same(t, again, want)
		if n := bytes.Count(again.Lines(), []byte("eval/return")); n != rows {
			t.Errorf("from commit %d: %d evaluations", 3-i, n)
		}
	}
	if all, _ := filepath.Glob(filepath.Join(x.folder, "r", "best*")); len(all) != 1 {
		t.Errorf("the best are %v", all)
	}
}

// TestDamaged: a checkpoint that is not what was committed is refused.
func TestDamaged(t *testing.T) {
	x, d := newTeam(t, 2), parttest.NewDesk(2)
	a := part.Assignment{Run: "r", Epoch: 1, Config: "steps=192", Plan: planned(t, "", coarse)}
	if err := errors.Join(x.run(t.Context(), a, d)...); err != nil {
		t.Fatal(err)
	}
	last := d.Commits()[2]
	path := filepath.Join(x.folder, "r", last.Object)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(good)
	flipped[len(flipped)-1] ^= 1
	for name, c := range map[string]struct {
		data []byte
		want string
	}{"short": {good[:100], "has 100 bytes"}, "altered": {flipped, "checksum"}, "none": {nil, "no such object"}} {
		if err := os.WriteFile(path, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if c.data == nil {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		a.Epoch, a.From, a.Config = a.Epoch+1, &last, "steps=640"
		for i, err := range x.run(t.Context(), a, parttest.NewDesk(2)) {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: process %d: %v", name, i, err)
			}
		}
	}
}

// TestFails: what fails in one process ends the part of every one, with its reason;
// a commit that is refused is such a failure.
func TestFails(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		refuse error
		want   string
	}{
		"commit": {"", errors.New("the epoch was given up"), "the epoch was given up"},
		"number": {"learning_rate=1e30 steps=64000", nil, "loss"},
	} {
		t.Run(name, func(t *testing.T) {
			x, d := newTeam(t, 3), parttest.NewDesk(3)
			d.Committed = func(part.Manifest) error { return c.refuse }
			p := planned(t, "", plan.Deployment{Policy: "multi-learner", Workers: 3})
			for i, err := range x.run(t.Context(), part.Assignment{Run: "r", Epoch: 1, Config: c.config, Plan: p}, d) {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("process %d: %v", i, err)
				}
			}
		})
	}
}

// TestAborted: an epoch that is given up ends everywhere, wherever it is.
func TestAborted(t *testing.T) {
	given := errors.New("given up")
	for _, at := range []int64{0, 64, 320} {
		x, d := newTeam(t, 2), parttest.NewDesk(2)
		ctx, stop := context.WithCancelCause(t.Context())
		d.Progressed = func(p part.Progress) {
			if p.Steps >= at {
				stop(given)
			}
		}
		if at == 0 {
			stop(given)
		}
		a := part.Assignment{Run: "r", Epoch: 1, Config: "steps=1000000", Plan: planned(t, "", coarse)}
		for i, err := range x.run(ctx, a, d) {
			if err == nil {
				t.Errorf("at %d: process %d came to an end", at, i)
			}
		}
		stop(nil)
	}
}

// TestAsync: asynchronous runs come to their end, and are saved meanwhile.
func TestAsync(t *testing.T) {
	for _, p := range []string{"single-learner-coarse", "central"} {
		x, d := newTeam(t, 3), parttest.NewDesk(3)
		dep := plan.Deployment{Policy: p, Workers: 3, Async: true, Staleness: 2, Queue: 1}
		a := part.Assignment{Run: "r", Epoch: 1, Plan: planned(t, "", dep)}
		if err := errors.Join(x.run(t.Context(), a, d)...); err != nil {
			t.Fatal(p, err)
		}
		last := d.Last()
		if last.Result == nil || last.Result.Steps < 640 || len(d.Commits()) == 0 || count(d.Lines()) == 0 {
			t.Errorf("%s: %+v, %d commits", p, last, len(d.Commits()))
		}
	}
}

func TestNonsense(t *testing.T) {
	x := newTeam(t, 1)
	p := planned(t, "", coarse) // for two
	for _, a := range []part.Assignment{
		{Run: "r", Plan: p, Workers: x.workers}, {Run: "r", Workers: x.workers, Me: 1}, {Run: "r", Workers: x.workers, Config: "hidden=x"},
	} {
		if err := x.runners[0].Run(t.Context(), a, parttest.NewDesk(1)); err == nil {
			t.Errorf("%+v was carried out", a)
		}
	}
}

// mute is a store that takes nothing and says nothing.
type mute struct{ store.Store }

func (m mute) Put(ctx context.Context, _ string, _ io.Reader, _ int64) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestMute: a run does not wait for a store that says nothing.
func TestMute(t *testing.T) {
	x, d := newTeam(t, 2), parttest.NewDesk(2)
	for i, n := range x.nodes {
		x.runners[i] = process.New(process.Config{Job: job, Node: n, Patience: time.Millisecond, Store: func(string) (store.Store, error) {
			return mute{store.Folder(t.TempDir())}, nil
		}})
	}
	for i, err := range x.run(t.Context(), part.Assignment{Run: "r", Epoch: 1, Plan: planned(t, "", coarse)}, d) {
		if err == nil || !strings.Contains(err.Error(), "the store did not answer within 1ms") {
			t.Errorf("process %d: %v", i, err)
		}
	}
}

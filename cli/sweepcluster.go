package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/durable"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/protocol"
	"github.com/weft-rl/weft/internal/sweep"
)

// clusterTrials trains the runs of a sweep on the workers of a cluster. What is decided about a
// trial follows from its record, which the coordinator hands over: a run that was stopped late, or
// that went on while the sweep was away, has the same one up to any step.
type clusterTrials struct {
	client   *protocol.Client
	programs []part.Program
	name     string      // of the sweep; the names of its runs begin with it
	abort    func(error) // ends the sweep, which goes on later
}

// joinCluster has the trials trained by a cluster. It returns how many of them the workers there
// are have room for at a time.
func (s *sweeping) joinCluster(ctx context.Context, f *sweepFlags) (room int, err error) {
	tls, err := f.loadFor(f.addresses...)
	if err != nil {
		return 0, err
	}
	f.warned()
	if err := errors.Join(s.base.Submittable(), s.base.ShareAmong(1, true)); err != nil {
		return 0, err
	}
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return 0, err
	}
	s.at = &clusterTrials{client: &protocol.Client{Addresses: f.addresses, TLS: tls}, name: filepath.Base(dir)}
	s.train = s.at.train
	state, err := s.at.client.Status(ctx, "")
	if err != nil {
		return 0, err
	}
	if s.at.programs, err = f.brought(ctx, s.c, s.at.client); err != nil {
		return 0, err
	}
	return max(1, len(state.Workers)/max(1, s.base.Workers)), nil
}

// run returns the name of a trial's run in the cluster, of which dir is the folder.
func (x *clusterTrials) run(dir string) string {
	trial := filepath.Base(dir)
	if strings.HasPrefix(trial, request.SeedPrefix) {
		trial = filepath.Base(filepath.Dir(dir)) + "-" + trial
	}
	return x.name + "-" + trial
}

// train trains a run as trainHere does. A run that the cluster has already goes on, or is watched.
func (x *clusterTrials) train(ctx context.Context, r *request.Request, dir string, until int64, metric string) (ended bool, err error) {
	t := clusterRun{clusterTrials: x, r: r, dir: dir, name: x.run(dir), until: until, metric: metric}
	for {
		last, err := t.leg(ctx)
		if ctx.Err() != nil {
			return false, nil // where the run stands is in the cluster
		}
		switch {
		case err != nil:
		case last.Phase == core.Done || t.judged:
			return last.Phase == core.Done, nil
		case last.Phase == core.Stopped && t.stopped: // before the evaluation that counts
			continue
		case last.Phase == core.Failed && !last.Abandoned():
			return false, errors.New(last.Why)
		default: // nothing that the trial is to blame for
			err = fmt.Errorf("run %s is %s: %s; weft sweep goes on with the folder", t.name, last.Phase, last.Why)
		}
		x.abort(err)
		return false, err
	}
}

// clusterRun is a run of a trial, which is trained until a step.
type clusterRun struct {
	*clusterTrials
	r       *request.Request
	dir     string // where the sweep has its record
	name    string
	until   int64 // 0 is the run's end
	metric  string
	stopped bool // the sweep has asked for that
	judged  bool // the record has what the trial is judged by at that step
}

// leg has the run go on until it is over, for now or altogether, and fetches its record.
func (t *clusterRun) leg(ctx context.Context) (last core.Run, err error) {
	t.stopped = false
	if last, err = t.begin(ctx); err == nil && !last.Phase.Over() {
		last, err = t.watch(ctx)
	}
	if err == nil {
		err = t.keep(ctx)
	}
	return last, err
}

// begin submits the run, or resumes it if it was stopped or failed. It returns the run as it is
// then.
func (t *clusterRun) begin(ctx context.Context) (r core.Run, err error) {
	text, err := t.r.YAML()
	if err != nil {
		return r, err
	}
	old, err := t.find(ctx, t.name)
	switch {
	case err != nil:
		return r, err
	case old == nil:
		return r, t.client.SubmitWith(ctx, t.name, string(text), t.programs)
	case old.Config != string(text):
		return r, fmt.Errorf("the cluster has another run of the name %s: begin the sweep in a folder of another name (--out), or delete that run (weft delete %[1]s)", t.name)
	case !old.Phase.Over() || old.Phase == core.Done:
		return *old, nil
	}
	if err := t.keep(ctx); err != nil || t.judged {
		return *old, err
	}
	return r, t.client.Resume(ctx, t.name, string(text), protocol.Again{Begin: true, Programs: t.programs})
}

// find returns a run of the cluster; nil if it has none of that name.
func (x *clusterTrials) find(ctx context.Context, name string) (*core.Run, error) {
	all, err := x.client.Status(ctx, "")
	if err != nil {
		return nil, err
	}
	known := slices.ContainsFunc(all.Runs, func(r core.Run) bool { return r.Name == name })
	one, err := x.client.Status(ctx, name)
	if err != nil && !known && ctx.Err() == nil && !errors.As(err, new(protocol.Away)) { // nor is its folder there
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &one.Runs[0], nil
}

// watch follows the run until it is over, and stops it once it is to be judged. An interruption of
// the sweep stops it too; a terminal that was closed does not.
func (t *clusterRun) watch(ctx context.Context) (core.Run, error) {
	patient := *t.client
	patient.Patience = absent
	var stopping sync.WaitGroup
	defer stopping.Wait()
	stop := sync.OnceFunc(func() {
		t.stopped = true
		stopping.Go(func() { _ = t.client.Stop(ctx, t.name, false) }) // without it the run is judged later, by the same lines
	})
	passed := int64(-1)
	last, err := patient.Watch(ctx, t.name, func(r core.Run) {
		p := r.Progress
		if t.until == 0 || p.Steps < t.until {
			return
		}
		if passed < 0 {
			passed = p.Steps
		}
		if !sweep.Evaluated(t.metric) || p.Steps > passed || p.Evaluation != nil && p.Evaluation.Steps >= t.until {
			stop()
		}
	})
	if ctx.Err() != nil && context.Cause(ctx) == context.Canceled {
		return stopped(context.WithoutCancel(ctx), t.client, t.name, false, halting, func(core.Run) {})
	}
	return last, err
}

// keep fetches the run's record into the folder of the trial, with its configuration.
func (t *clusterRun) keep(ctx context.Context) error {
	text, err := t.client.Record(ctx, t.name)
	if err != nil {
		return err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1] // of a line that is being written
	err = errors.Join(os.MkdirAll(t.dir, 0o755), durable.Replace(filepath.Join(t.dir, "metrics.jsonl"), text), t.r.Record(t.dir))
	if err != nil {
		return err
	}
	rows, err := record(t.dir)
	t.judged = t.until > 0 && sweep.Judged(rows, t.metric, t.until)
	return err
}

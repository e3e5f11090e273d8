package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/protocol"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/internal/run/store"
)

// resumeProcesses resumes the run of a folder in processes of this machine, wherever it was trained
// before.
func (c *command) resumeProcesses(ctx context.Context, before, r *request.Request, dir string, f *trainFlags, workers bool) error {
	if err := r.ShareAmongProcesses("--processes", f.processes, workers); err != nil {
		return err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	w := c.watcher(r, dir, f.json)
	kept, place, err := hand(ctx, dir, f, w)
	if err != nil {
		return err
	}
	f.store = place
	shards := cmp.Or(kept.Shards, before.Shards())
	r.KeepShards(before, shards)
	if err := r.KeepParts(before, shards); err != nil {
		return err
	}
	if err := request.ChangeBudget(kept.Step(), before, r, dir, w); err != nil {
		return err
	}
	return c.inProcesses(ctx, r, f, dir, func(client *protocol.Client, ctx context.Context, name, config string) error {
		return client.Resume(ctx, name, config, protocol.Again{Split: r.Policy != before.Policy, Lost: f.Lost, Begin: f.Begin})
	})
}

// hand makes the newest checkpoint of a run's folder one that a cluster goes on from, in
// a store, which by default is where the last one was.
func hand(ctx context.Context, dir string, flags *trainFlags, w watcher) (c part.Committed, _ string, err error) {
	release, err := request.Lock(dir)
	if err != nil {
		return c, "", err
	}
	defer release()
	found, err := runner.Committed(ctx, dir, flags.store)
	if err != nil {
		return c, "", err
	}
	c = found.Committed
	from, err1 := store.Absolute(runner.Place(dir, c))
	place, err2 := store.Absolute(cmp.Or(flags.store, from))
	all, err3 := store.Open(place)
	if err := errors.Join(err1, err2, err3); err != nil {
		return c, "", err
	}
	if found.Note != "" { // from now on it is committed
		w.Note(found.Note)
		if err := c.Write(dir); err != nil {
			return c, "", err
		}
	}
	f, step, err := newest(ctx, dir, flags.Begin, w)
	if err != nil {
		return c, "", err
	}
	if step < 0 { // epochs go on counting: there may be objects of earlier ones in the store
		c = part.Committed{Epoch: c.Epoch}
		return c, place, c.Write(dir)
	}
	evaluated := f.Meta["evaluated"] == fmt.Sprint(step)
	if c.Last != nil && c.Last.Step == step && (c.Last.Evaluated || !evaluated) && place == from {
		return c, place, nil
	}
	kept := all.Under(filepath.Base(dir))
	if c, err = commit(ctx, kept, c, step, f); err != nil {
		return c, "", err
	}
	c.Last.Evaluated, c.Last.Place = evaluated, place
	return c, place, errors.Join(handBest(ctx, dir, kept, c.Epoch), c.Write(dir))
}

// newest reads the checkpoint that a run's folder goes on from; its step is -1 if the run is to
// begin.
func newest(ctx context.Context, dir string, begin bool, w watcher) (f checkpoint.File, step int64, err error) {
	f, step, skipped, err := runner.NewestOrBegin(ctx, dir, begin)
	if err != nil {
		return f, 0, err
	}
	for _, x := range skipped {
		w.Note(fmt.Sprintf("passed over: %v", x))
	}
	if step >= 0 {
		return f, step, nil
	}
	to, err := part.SetAside(dir)
	if err == nil && to != "" {
		w.Note(fmt.Sprintf("the run begins at step 0: what %s held before is in %s", dir, to))
	}
	return f, step, err
}

// commit puts a checkpoint into a run's store, as one of an epoch of its own.
func commit(ctx context.Context, kept store.Store, c part.Committed, step int64, f checkpoint.File) (part.Committed, error) {
	o, err := checkpoint.Encode(step, f)
	if err != nil {
		return c, err
	}
	c.Epoch++
	c.Last = &part.Manifest{
		Record: recorded(f), Epoch: c.Epoch, Step: step, Object: runner.ObjectName(c.Epoch, step, o.SHA256()), Size: o.Size(), SHA256: o.SHA256(),
	}
	return c, kept.Put(ctx, c.Last.Object, o.Reader(), o.Size())
}

// recorded returns how many bytes of the record there were when a checkpoint was taken; 0
// is unknown.
func recorded(f checkpoint.File) int64 {
	n, _ := strconv.ParseInt(f.Meta["recorded"], 10, 64)
	return n
}

// handBest does the same for the best checkpoint, if the store has none as good.
func handBest(ctx context.Context, dir string, kept store.Store, epoch int64) error {
	f, score, step, err := runner.Best(ctx, dir)
	if errors.Is(err, checkpoint.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, there, _, err := runner.FetchBest(ctx, kept); err == nil && there >= score {
		return nil
	}
	o, err := checkpoint.EncodeBest(score, step, f)
	if err != nil {
		return err
	}
	return kept.Put(ctx, runner.BestName(epoch), o.Reader(), o.Size())
}

// resumeCluster resumes a run that a cluster has, or had.
func (c *command) resumeCluster(ctx context.Context, run string, more []config.Assignment, f *trainFlags) error {
	tls, err := f.loadFor(f.addresses...)
	if err != nil {
		return err
	}
	f.warned()
	client := &protocol.Client{Addresses: f.addresses, TLS: tls}
	name := filepath.Base(filepath.Clean(run))
	s, err := client.Status(ctx, name)
	if err != nil {
		c.started = true
		return err
	}
	old := s.Runs[0]
	file, err := config.ParseYAML([]byte(old.Config), request.ConfigFile)
	if err != nil {
		return err
	}
	before, r, err := c.resumed(ctx, file, more, "run "+name, f)
	if r == nil {
		return err
	}
	if err := r.ShareAmong(max(1, len(s.Workers)), request.Layers{Flags: more}.Sets("workers")); err != nil {
		return err
	}
	r.KeepShards(before, old.Shards)
	if err := r.KeepParts(before, old.Shards); err != nil {
		return err
	}
	w := f.watcher(c, r, name)
	if err := request.ChangeBudget((part.Committed{Last: old.Last}).Step(), before, r, name, w); err != nil {
		return err
	}
	c.started = true
	programs, err := f.brought(ctx, c, client)
	if err != nil {
		return err
	}
	resume := func(ctx context.Context, name, config string) error {
		return client.Resume(ctx, name, config, protocol.Again{Split: r.Policy != before.Policy, Lost: f.Lost, Begin: f.Begin, Programs: programs})
	}
	if f.detach {
		return c.detach(ctx, f, r, name, resume)
	}
	return c.follow(ctx, client, r, name, resume, &viewer{w: w, told: old.Told, stays: true})
}

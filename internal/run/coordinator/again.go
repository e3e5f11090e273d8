package coordinator

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/durable"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/protocol"
)

// again returns what the folder of a run that is to be resumed says of it, which the core may not
// know. From now on nobody else may train into the folder. Old is what the core knows, if it is
// known.
func (a *acting) again(q *protocol.Submit, known bool, old core.Run) (*part.Committed, error) {
	r := a.records.of(q.Name)
	if _, err := os.Stat(filepath.Join(r.dir, configFile)); err != nil {
		if known { // another coordinator had it
			return &part.Committed{}, nil
		}
		return nil, fmt.Errorf("there is no run %s: %s has no %s", q.Name, r.dir, configFile)
	}
	if err := r.hold(); err != nil {
		return nil, err
	}
	c, err := part.ReadCommitted(r.dir)
	if err == nil {
		err = r.alone(c)
	}
	if err == nil && c.Last == nil && (!known || old.Blank()) {
		err = r.anew(q.Begin)
	}
	if err == nil {
		err = r.ready(c, q.Lost)
	}
	if err == nil {
		err = durable.Replace(filepath.Join(r.dir, idFile), []byte(q.ID))
	}
	if err != nil && !known {
		r.letGo()
	}
	return &c, err
}

// anew begins a run of which no checkpoint was committed. If it has left something it begins again
// only if it may, and what it has left is set aside.
func (r *record) anew(begin bool) error {
	t, err := part.ReadTraces(r.dir)
	if err != nil || t.None() {
		return err
	}
	if !begin {
		return fmt.Errorf("%s says of no checkpoint that it was committed, and has a record of %d lines and %d files of checkpoints: "+
			"weft resume RUN --processes N looks for a good one among these, and with --or-begin the run begins again and they are kept", r.dir, t.Lines, len(t.Checkpoints))
	}
	return r.setAside()
}

// setAside keeps what a run has left that begins again.
func (r *record) setAside() error {
	r.mu.Lock()
	r.shut()
	to, err := part.SetAside(r.dir)
	r.mu.Unlock()
	if err == nil && to != "" {
		err = r.say(fmt.Sprintf("begins at step 0: what %s held before is in %s", r.dir, to))
	}
	return err
}

// alone checks that nobody trained the run further than what was committed: its record
// would have a gap when that is gone on from.
func (r *record) alone(c part.Committed) error {
	dir, err := checkpoint.Open(filepath.Join(r.dir, "checkpoints"), 1)
	if err != nil {
		return err
	}
	_, step, _, err := dir.Latest()
	switch {
	case errors.Is(err, checkpoint.ErrNone):
		return nil
	case err == nil && step > c.Step():
		return fmt.Errorf("%s was trained in one process to step %d, beyond the %d that a cluster committed: weft resume %s goes on with it, also with --processes", r.dir, step, c.Step(), r.dir)
	}
	return err
}

// ready checks that the record has the lines up to what was committed. With lost, those that
// it has are made a record that can be gone on with.
func (r *record) ready(c part.Committed, lost bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.Last == nil {
		return nil
	}
	if lost {
		if err := metrics.MendRecord(r.path()); err != nil {
			return err
		}
		at, err := r.index()
		lines, err2 := metrics.StatRecord(r.path())
		if errors.Is(err, fs.ErrNotExist) {
			return err2
		}
		at.Closed = lines.Closed
		return errors.Join(err, err2, r.mark(at))
	}
	if _, _, err := r.place(c.Last.Step, c.Last.Evaluated, c.Last.Record); err != nil {
		return fmt.Errorf("%w; put the files back, or go on without those lines with --lost-record", err)
	}
	return nil
}

// configure writes down what a run is from now on.
func (r *record) configure(config string) error {
	return durable.Replace(filepath.Join(r.dir, configFile), []byte(config))
}

// left returns a run of which only the folder is known.
func (r *records) left(run string) (core.Run, bool) {
	if !names.MatchString(run) {
		return core.Run{}, false
	}
	dir := filepath.Join(r.dir, run)
	text, err := os.ReadFile(filepath.Join(dir, configFile))
	if err != nil {
		return core.Run{}, false
	}
	c, err := part.ReadCommitted(dir)
	out := core.Run{Name: run, Config: string(text), Phase: core.Stopped, Epoch: c.Epoch, Shards: c.Shards, Last: c.Last}
	out.Why = "only its folder is known: weft resume goes on with it"
	if err != nil {
		out.Why = err.Error()
	}
	out.Progress.Steps = c.Step()
	return out, true
}

// keeps writes down from where a run can go on, if that has changed.
func (r *record) keeps(run core.Run) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil {
		r.kept = &part.Committed{}
	}
	same := (r.kept.Last == nil) == (run.Last == nil) && (run.Last == nil || *r.kept.Last == *run.Last)
	if same && r.kept.Epoch == run.Epoch && r.kept.Shards == run.Shards {
		return nil
	}
	c := part.Committed{Epoch: run.Epoch, Shards: run.Shards}
	if run.Last != nil {
		last := *run.Last
		c.Last = &last
	}
	err := os.MkdirAll(r.dir, 0o755)
	if err == nil {
		err = c.Write(r.dir)
	}
	if err == nil {
		r.kept = &c
	}
	return err
}

// hold keeps others from training into the folder. A file system that knows no locks is
// no reason not to.
func (r *record) hold() error {
	_, err := r.take()
	return err
}

// take locks the folder as hold does; fresh is false if it was locked before.
func (r *record) take() (fresh bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.release != nil {
		return false, nil
	}
	release, err := checkpoint.Lock(r.dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return true, nil
	}
	if err == nil {
		r.release = release
	}
	return true, err
}

// letGo lets others have the folder.
func (r *record) letGo() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.release != nil {
		r.release()
		r.release = nil
	}
}

// retire gives the folder of a run back that is over: its file is closed, and what is still said of
// the last epoch does not get into it any more, since others may train there.
func (r *record) retire() {
	r.mu.Lock()
	r.shut()
	r.over = true
	r.mu.Unlock()
	r.letGo()
}

// note writes into a run's folder where the run stands, and releases the folder when the run is
// over.
func (a *acting) note(run core.Run) {
	run = core.Run{Name: run.Name, Phase: run.Phase, Epoch: run.Epoch, Shards: run.Shards, Last: run.Last} // the rest is the loop's
	a.write(run.Name, func(r *record) error {
		var err error
		if run.Epoch > 0 {
			err = r.keeps(run)
		}
		if run.Phase.Over() {
			r.retire()
		} else {
			_ = r.hold() // whoever has it was told so, or does not act any more
		}
		return err
	})
}

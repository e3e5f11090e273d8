package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/phase"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// ErrNotExact is the error of a run that cannot be resumed because its environment cannot save its
// state.
var ErrNotExact error = notExact{}

type notExact struct{}

func (notExact) Error() string {
	return "its environment cannot save its state, so the run cannot be resumed exactly; " +
		"--resume=restart-episodes goes on with new episodes, --from starts a new run from its weights"
}

// Permanent tells a cluster that to try again is in vain.
func (notExact) Permanent() bool { return true }

// Session is a job that is ready to run: constructed, and loaded with the state
// it goes on from. Nothing has been written yet.
type Session struct {
	Job
	*assembly
	scope  *rl.Scope    // scope of the replica that decides
	run    *rl.Run      // likewise
	vault  Vault        // nil: nothing is kept
	sink   metrics.Sink // likewise
	size   func() int64 // returns the bytes of the record; 0 if it is kept elsewhere
	loaded bool         // a checkpoint of the run itself was loaded

	ctx       context.Context
	begun     time.Time
	before    float64 // seconds that earlier processes worked
	beganAt   int64   // steps that they did
	evaluated int64   // steps at the last evaluation; -1 without one
	recorded  int64   // bytes of the record when the checkpoint was taken that it goes on from
	saved     int64   // steps of the newest checkpoint; -1 without one
	taken     int64   // steps of the newest that was begun; likewise
	savedAt   time.Time
	writing   chan error // gives how that ended; nil once it was heard
	stopped   bool       // ctx stopped the run
	last      []rl.Array // the state at the last cut; nil before it
	closed    bool
	laps      laps

	result Result
}

// Train prepares a job and runs it.
func Train(ctx context.Context, j Job) (Result, error) {
	s, err := Prepare(j)
	if err != nil {
		return Result{}, err
	}
	return s.Train(ctx)
}

// Prepare constructs everything that a job needs and reads what it goes on from.
// It writes nothing, so that a job that cannot run leaves no trace. A session is
// given back by Train, by Finish, or by Close.
func Prepare(j Job) (*Session, error) {
	j = j.withDefaults()
	end := phase.Begin(j.Trace, phasePrepare)
	s, err := prepared(j)
	end(err)
	return s, err
}

func prepared(j Job) (*Session, error) {
	s := &Session{Job: j, saved: -1, taken: -1, evaluated: -1, size: func() int64 { return 0 }}
	var err error
	if s.assembly, err = assemble(j, s.cut, s.until); err != nil {
		return nil, err
	}
	s.scope, s.run = s.world.Scope(), s.world.Run()
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// prepare reads what the job goes on from.
func (s *Session) prepare() (err error) {
	j := s.Job
	switch {
	case j.Part != nil:
		s.vault = j.Part.Vault
	case j.Dir != "":
		if s.vault, err = openKept(j.Reading, j.Dir, j.Keep); err != nil {
			return err
		}
	}
	if j.Resume {
		end := phase.Begin(j.Trace, phaseRecover)
		err := s.load()
		if end(err); err != nil {
			return err
		}
	}
	if s.loaded && j.Part == nil && !j.LostRecord {
		if _, _, err := s.place(filepath.Join(j.Dir, recordFile)); err != nil {
			return err
		}
	}
	if j.From != "" && !s.loaded {
		return s.start(j)
	}
	return nil
}

func checkpoints(dir string) string { return filepath.Join(dir, "checkpoints") }

// Edges returns the edges of the generated programs that the session runs; none of the plain loop.
func (s *Session) Edges() []plan.Edge { return s.world.Programs.Edges }

// Compile makes the device program of a loop that is to be one, and does nothing
// elsewhere. Train does it where it was not done before.
func (s *Session) Compile() error { return s.world.Compile() }

// Done returns how many steps are done.
func (s *Session) Done() int64 { return s.run.Steps() }

// Finished reports whether there is nothing left to do.
func (s *Session) Finished() bool {
	return s.loaded && (s.Ended() || s.run.Steps() >= s.Job.Steps) && !s.owesEvaluation()
}

// Ended reports whether the algorithm has ended the run by leaving its loop: to go on
// with it changes nothing, whatever the budget.
func (s *Session) Ended() bool { return rl.System.Ended(s.run) }

// Finish returns the result of a finished run.
func (s *Session) Finish() (Result, error) {
	s.begun = s.Now()
	err := s.conclude()
	return s.result, errors.Join(err, s.Close())
}

// load takes the run's newest good state over. Without any, a run that has left something begins
// again only if it may, which gives the same bits; one that has not begun yet begins.
func (s *Session) load() error {
	f, step, skipped, err := s.vault.Latest()
	if errors.Is(err, checkpoint.ErrNone) {
		return s.begin(skipped)
	}
	noteSkipped(s.Watch, skipped)
	if err != nil {
		return s.of(err)
	}
	if k, ok := s.vault.(*kept); ok && k.note != "" {
		s.Watch.Note(k.note)
	}
	if !s.exact && !s.RestartEpisodes {
		return s.of(ErrNotExact)
	}
	if !s.exact {
		s.Watch.Note(fmt.Sprintf("%s cannot save its state: its environments begin new episodes at step %d", s.Env.ID, step))
	}
	if err := s.restore(f, step); err != nil {
		return s.of(err)
	}
	s.loaded, s.saved, s.taken, s.beganAt = true, step, step, s.run.Steps()
	// A checkpoint without these is no worse for it: they decide no weights.
	s.before, _ = strconv.ParseFloat(f.Meta["seconds"], 64)
	s.evaluated, _ = strconv.ParseInt(f.Meta["evaluated"], 10, 64)
	s.recorded, _ = strconv.ParseInt(f.Meta["recorded"], 10, 64)
	return nil
}

// of adds the run's name to an error. For a part of a cluster's run the coordinator does so.
func (s *Session) of(err error) error {
	if s.Dir == "" {
		return err
	}
	return fmt.Errorf("run %s: %w", s.Dir, err)
}

// begin begins a run that has no good checkpoint, if nothing is lost by it or the job asks for it.
func (s *Session) begin(skipped []error) error {
	err := nothing(s.Dir, skipped)
	if err != nil && !s.OrBegin {
		return err
	}
	noteSkipped(s.Watch, skipped)
	if err == nil {
		s.Watch.Note("the run has not begun yet: it begins now")
	}
	return nil
}

func noteSkipped(w Watcher, skipped []error) {
	for _, x := range skipped {
		w.Note(fmt.Sprintf("passed over: %v", x))
	}
}

// open begins the run's files.
func (s *Session) open() error {
	if s.Part != nil {
		s.sink = s.Part.Sink
		if x, ok := s.sink.(interface{ Size() int64 }); ok {
			s.size = x.Size
		}
		return nil
	}
	if s.vault == nil {
		return nil
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return err
	}
	path, resume := filepath.Join(s.Dir, recordFile), int64(-1)
	if s.loaded {
		resume = s.run.Steps()
	} else if err := s.SetAside(); err != nil {
		return err
	}
	jsonl, err := s.openRecord(path)
	if err != nil {
		return err
	}
	unsaved, err := s.unsaved(jsonl, resume)
	if err != nil {
		return errors.Join(err, jsonl.Close())
	}
	from := resume
	if len(unsaved) > 0 {
		from--
	}
	board, err := metrics.OpenTensorBoard(s.Dir, from)
	for _, row := range unsaved {
		if err == nil {
			err = board.Write(row)
		}
	}
	if err != nil {
		if board != nil {
			err = errors.Join(err, board.Close())
		}
		return errors.Join(err, jsonl.Close())
	}
	s.sink, s.size = metrics.Multi(jsonl, board), jsonl.Size
	return nil
}

const recordFile = "metrics.jsonl"

// SetAside moves what an earlier run has left out of the way, in the folder where this one begins.
// Train does it where it was not done before.
func (s *Session) SetAside() error {
	to, err := part.SetAside(s.Dir, s.Wrap.Files()...)
	if err == nil && to != "" {
		s.Watch.Note(fmt.Sprintf("the run begins at step 0: what %s held before is in %s", s.Dir, to))
	}
	return err
}

// openRecord opens the record, cut to the lines that it had when the checkpoint was taken:
// the rest will be done again, such as an evaluation of which the checkpoint does not know.
func (s *Session) openRecord(path string) (*metrics.JSONL, error) {
	if !s.loaded {
		return metrics.OpenJSONL(path, -1)
	}
	if s.LostRecord {
		if err := metrics.MendRecord(path); err != nil {
			return nil, err
		}
	}
	r, at, err := s.place(path)
	if err != nil {
		return nil, err
	}
	return metrics.OpenAt(r, at)
}

// place returns the record, and where the lines end in it that it had when the checkpoint
// was taken. It fails if some of them are lost, unless the user knows.
func (s *Session) place(path string) (r metrics.Record, at int64, err error) {
	r, err = metrics.StatRecord(path)
	step, at := s.run.Steps(), s.recorded
	if err == nil && at > 0 {
		err = r.Complete(at, step)
	}
	switch {
	case err == nil && at > 0:
		return r, at, nil
	case err == nil || s.LostRecord: // an older weft wrote the checkpoint, or there are fewer lines
		at, err = r.Find(step, s.evaluated == step)
		return r, at, err
	}
	return r, 0, fmt.Errorf("%w; put the files back, or go on without those lines with --lost-record", err)
}

// unsaved returns the rows of the step that the run goes on from, if its evaluation will
// be done again. Event files forget steps as a whole, so these rows are written there anew.
func (s *Session) unsaved(j *metrics.JSONL, step int64) ([]metrics.Row, error) {
	if !s.loaded || s.evaluated == step {
		return nil, nil
	}
	row, ok, err := j.Last()
	if err != nil || !ok || row.Step != step {
		return nil, err
	}
	return []metrics.Row{row}, nil
}

// Close gives back what a session holds besides memory: files, and what its
// environments hold. Train and Finish do it at their end.
func (s *Session) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	err := errors.Join(s.settle(), s.world.Close())
	if s.sink != nil {
		err = errors.Join(err, s.sink.Close())
	}
	return err
}

// content returns what a checkpoint holds: everything, but, of an environment that
// cannot be saved, the episodes under way. After the last cut it is the state of that
// cut: whatever a training function does behind its loop is not part of the run. state is
// the same as the components saved it, to be released when the file was written.
func (s *Session) content() (f checkpoint.File, state []rl.Array, err error) {
	if state = s.last; state == nil {
		state, err = capture(s.scope, s.world.Save)
	}
	if err != nil {
		return f, nil, err
	}
	f.Arrays, err = arrays(rl.System.Stored(state))
	f.Meta = map[string]string{
		"algorithm": s.Algorithm.Name, "env": s.Env.ID, "seed": fmt.Sprint(s.Seed),
		"steps": fmt.Sprint(s.run.Steps()), "iterations": fmt.Sprint(s.run.Iter()),
		"seconds": strconv.FormatFloat(s.seconds(), 'g', -1, 64), "exact": fmt.Sprint(s.exact),
		"evaluated": fmt.Sprint(s.evaluated), "recorded": fmt.Sprint(s.size()),
	}
	if err == nil {
		f.Meta[specsKey], err = formatSpecs(s.specs)
	}
	if err == nil {
		f.Meta[dataKey], err = describedSet(s.scope)
	}
	return f, state, err
}

// release gives up what content returned.
func (s *Session) release(state []rl.Array) {
	if s.last == nil {
		rl.System.Release(state)
	}
}

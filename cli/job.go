package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/weft-rl/weft/internal/launch"
	"github.com/weft-rl/weft/internal/plain"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/part"
)

// jobFolder is the folder, within a run's own, of what concerns the job that trains the run.
const (
	jobFolder    = "job"
	jobFile      = "job.json"
	progressFile = "progress.json"
)

// job is the job that trains a run.
type job struct {
	Engine string `json:"engine"`
	ID     string `json:"job"`
}

func (b job) String() string { return fmt.Sprintf("job %s of %s", b.ID, b.Engine) }

// write keeps the job in its run's folder.
func (b job) write(out string) error { return keep(out, jobFile, b) }

// engine returns the job's engine.
func (b job) engine() (launch.Engine, error) {
	e, ok := engines[b.Engine]
	if !ok {
		return nil, fmt.Errorf("%v: this program knows no such engine", b)
	}
	return e, nil
}

// jobIn returns the job that trains the run of a folder, or trained it last. A name without a
// folder is looked for under runs/.
func jobIn(run string) (b job, out string, ok bool) {
	for _, out := range []string{run, filepath.Join("runs", run)} {
		if recall(out, jobFile, &b) == nil {
			return b, out, true
		}
	}
	return b, "", false
}

// runJob is a job with the folder of its run.
type runJob struct {
	job
	out string
}

// jobsIn returns the job of the run of a folder, or those of a folder of several seeds.
func jobsIn(run string) (all []runJob) {
	if b, out, ok := jobIn(run); ok {
		return []runJob{{b, out}}
	}
	seeds := request.SeedFolders(run)
	if len(seeds) == 0 {
		seeds = request.SeedFolders(filepath.Join("runs", run))
	}
	for _, out := range seeds {
		var b job
		if recall(out, jobFile, &b) == nil {
			all = append(all, runJob{b, out})
		}
	}
	return all
}

// idle refuses a run that a job still has.
func (c *command) idle(ctx context.Context, out string) error {
	b, _, ok := jobIn(out)
	if !ok {
		return nil
	}
	e, err := b.engine()
	if err != nil {
		return err
	}
	if s, err := e.Look(ctx, b.ID); err == nil && s.Phase != launch.Over {
		return fmt.Errorf("%v still has the run, and is %s: weft stop %s saves and ends it", b, s.Text, out)
	}
	return nil
}

// keep writes a file of the job's folder, in one piece.
func keep(out, name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	path := filepath.Join(out, jobFolder, name)
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// recall reads a file of the job's folder.
func recall(out, name string, v any) error {
	text, err := os.ReadFile(filepath.Join(out, jobFolder, name))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// account is the leading command's report of a job's run.
type account struct {
	Restarts int      `json:"restarts"`       // of the job
	Over     bool     `json:"over"`           // the job does not go on with the run
	Left     bool     `json:"left,omitempty"` // the command was told to end, and is started again unless the job is over
	Error    string   `json:"error,omitempty"`
	Run      core.Run `json:"run"`
}

func forgetProgress(out string) error {
	err := os.Remove(filepath.Join(out, jobFolder, progressFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// herald tells in a run's folder where the run stands.
type herald struct {
	dir      string
	restarts int
	last     core.Run
	when     time.Time
	out      io.Writer // gets the account as lines too, if its folder is not seen where the job was submitted
	printed  time.Time
}

// often bounds how often a run's account is written.
const often = 200 * time.Millisecond

// tell writes a state of the run, unless one was written just now. That a state cannot be written
// is no reason to stop: the next one may be.
func (h *herald) tell(r core.Run) {
	news := r.Phase != h.last.Phase || r.Told != h.last.Told
	if h.last = r; news || time.Since(h.when) > often {
		h.when = time.Now()
		_ = keep(h.dir, progressFile, account{Restarts: h.restarts, Run: r})
	}
	if h.out != nil && (news || time.Since(h.printed) > looking) {
		h.printed = time.Now()
		_ = account{Restarts: h.restarts, Run: r}.print(h.out)
	}
}

// over tells how the job ended. A command that was told to end may be started again, by an engine
// that takes its machines away or moves it to others.
func (h *herald) over(why error, told bool) error {
	p := account{Restarts: h.restarts, Over: !told, Left: told, Run: h.last}
	if why != nil && !errors.As(why, new(exitStatus)) {
		p.Error = why.Error()
	}
	err := keep(h.dir, progressFile, p)
	if err != nil { // numbers that JSON has no words for
		p.Run.Progress = part.Progress{}
		err = keep(h.dir, progressFile, p)
	}
	if h.out != nil {
		err = errors.Join(err, p.print(h.out))
	}
	return err
}

// looking is the time between two questions to an engine about a job.
const looking = 2 * time.Second

// jobFollower shows a job and its run to a user.
type jobFollower struct {
	job
	engine  launch.Engine
	out     string
	v       *viewer
	said    string // standing of the job that was shown last
	seen    account
	far     *listener // nil if the run's folder is seen here
	missing int       // questions in a row to which the engine answered that the job is over
	also    func()    // called when the follower looks at what the run tells; may be nil
}

// followJob shows a run until its job is over. If it is interrupted the run is saved and stopped.
func (c *command) followJob(ctx context.Context, r *request.Request, f *trainFlags, b job, out string) error {
	w := c.watcher(r, out, f.json)
	if s, ok := w.(*screen); ok {
		s.again = fmt.Sprintf("%s --on %s", out, f.on)
	}
	j := &jobFollower{job: b, engine: f.engine(), out: out, v: &viewer{w: w, total: r.Steps, async: r.Async, begun: time.Now(), stays: true}}
	w.Note(fmt.Sprintf("%v has run %s", b, filepath.Base(out)))
	if d, far := f.distant(); far {
		j.far = listen(ctx, d, b, out)
		defer j.far.stop()
	}
	p, err := j.follow(ctx)
	if err == nil && p.Error != "" {
		err = errors.New(p.Error)
	}
	switch {
	case errors.Is(err, errHungUp):
		return exitStatus(exitInterrupted) // nobody is there to be told: the job goes on
	case err != nil:
		w.fail(err)
		return exitStatus(exitFailed)
	}
	return j.v.end(p.Run)
}

// follow shows a job until it is over, and returns how it ended.
func (j *jobFollower) follow(ctx context.Context) (account, error) {
	tick := time.NewTicker(often)
	defer tick.Stop()
	interrupted, stopping := ctx.Done(), context.WithoutCancel(ctx)
	var late <-chan time.Time
	for looked := time.Now().Add(-looking); ; {
		if j.read(); j.seen.Over {
			return j.seen, nil
		}
		if time.Since(looked) > looking {
			looked = time.Now()
			if over, err := j.look(stopping); over || err != nil {
				return j.seen, err
			}
		}
		select {
		case <-tick.C:
		case <-late:
			return j.seen, fmt.Errorf("%v did not end within %v: weft status %s shows where it stands", j.job, halting, j.out)
		case <-interrupted:
			if errors.Is(context.Cause(ctx), errHungUp) {
				return j.seen, errHungUp
			}
			interrupted, late = nil, time.After(halting)
			j.v.w.Note("it stops at its next consistent point and is saved there; another interruption is not waited for")
			if err := j.engine.Interrupt(stopping, j.ID); err != nil {
				return j.seen, err
			}
		}
	}
}

// read shows what the leading command has told since.
func (j *jobFollower) read() {
	if j.also != nil {
		j.also()
	}
	var p account
	if j.far != nil {
		p = j.far.account()
	} else if recall(j.out, progressFile, &p) != nil {
		return // not there yet
	}
	if p.Restarts != j.seen.Restarts { // another coordinator counts its news from the beginning
		j.v.told = 0
	}
	if j.seen = p; p.Run.Name != "" {
		j.v.show(p.Run)
	}
}

// look asks the engine for the job, says what is news, and reports whether the job is over, with
// its leading command told to end. A job that is over otherwise and told nothing is an error.
func (j *jobFollower) look(ctx context.Context) (over bool, err error) {
	s, err := j.engine.Look(ctx, j.ID)
	if err != nil {
		return false, nil // the engine may be back soon; the run does not depend on it
	}
	if j.missing++; s.Phase != launch.Over {
		j.missing = 0
	}
	if s.Text != j.said {
		j.said = s.Text
		j.v.w.Note(fmt.Sprintf("%v is %s", j.job, plain.Line(s.Text)))
	}
	if j.read(); j.missing > 0 && j.seen.Left {
		return true, nil
	}
	if j.missing < 3 { // its last words may be on their way through a shared file system
		return false, nil
	}
	text := fmt.Sprintf("%v is %s, and the run is not over", j.job, s.Text)
	if s.Log != "" {
		text += fmt.Sprintf("; the job's output is in %s", s.Log)
	}
	if request.Taken(j.out) {
		text += fmt.Sprintf("; weft resume %s --on %s goes on", j.out, j.Engine)
	}
	return false, errors.New(text)
}

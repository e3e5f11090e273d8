package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/launch"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/protocol"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/internal/run/store"
	"github.com/weft-rl/weft/rl"
)

// elsewhere are the flags of train that have other processes do it.
type elsewhere struct {
	credentials
	addresses []string
	processes int
	store     string
	detach    bool
	travel
	engineFlags
}

func (f *elsewhere) flags(cmd *cobra.Command) {
	f.credentials.flags(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&f.addresses, "cluster", nil, "`address` of the coordinator whose workers train; all of them without --workers")
	flags.BoolVar(&f.detach, "detach", false, "with --cluster or --on, submit the run and return; it goes on without this command. Without --detach, Ctrl-C and SIGTERM stop the run at its next consistent point")
	flags.IntVar(&f.processes, "processes", 0, "train in `N` processes on this machine, started and stopped by this command; for policies with workers")
	f.travel.flags(cmd)
	f.engineFlags.flags(cmd)
	flags.StringVar(&f.store, "store", "", "`place` of the checkpoints of --processes and --on, a folder or s3://HOST/BUCKET/FOLDER; by default they are in the run's own folder")
}

func (f *elsewhere) asked() bool { return len(f.addresses) > 0 || f.processes > 0 || f.on != "" }

// check reports what does not go together.
func (f *elsewhere) check(cmd *cobra.Command, seeds int) error {
	var errs []error
	if len(f.addresses) > 0 && f.processes > 0 {
		errs = append(errs, errors.New("--cluster and --processes: give one of them"))
	}
	if f.detach && len(f.addresses) == 0 && f.on == "" {
		errs = append(errs, errors.New("--detach needs --cluster or --on: only there a run goes on without this command"))
	}
	if f.ownProgram && len(f.addresses) == 0 {
		errs = append(errs, errors.New("--own-program needs --cluster: elsewhere all processes are this program"))
	}
	errs = append(errs, f.engineFlags.check(len(f.addresses) > 0 || f.processes > 0)...)
	if cmd.Flags().Changed("processes") && f.processes < 1 {
		errs = append(errs, fmt.Errorf("--processes: %d is not a number of processes", f.processes))
	}
	if x := cmd.Flags().Lookup("max-workers"); x != nil && x.Changed && len(f.addresses) == 0 && f.on == "" {
		errs = append(errs, errors.New("--max-workers needs --cluster or --on, whose workers come and go: elsewhere set --workers or --processes"))
	}
	if f.store != "" && f.processes < 1 && f.on == "" {
		errs = append(errs, errors.New("--store needs --processes or --on: workers of a cluster are started with their own --store"))
	}
	if _, err := store.Absolute(f.store); err != nil {
		errs = append(errs, fmt.Errorf("--store: %w", err))
	}
	_, far := f.distant()
	if f.asked() && seeds > 0 && (f.on == "" || far) {
		errs = append(errs, errors.New("--seeds: a cluster trains one seed a run: submit one run for each --seed; slurm and ray take all of them at once, with --on"))
	}
	_, err := f.loadFor(f.addresses...)
	return errors.Join(append(errs, err)...)
}

// trainElsewhere has a run trained by a cluster.
func (c *command) trainElsewhere(ctx context.Context, r *request.Request, f *trainFlags, workers bool) error {
	if f.processes > 0 {
		return c.trainProcesses(ctx, r, f, workers)
	}
	if err := r.Submittable(); err != nil {
		return err
	}
	config, err := f.loadFor(f.addresses...)
	if err != nil {
		return err
	}
	f.warned()
	client := &protocol.Client{Addresses: f.addresses, TLS: config}
	c.started = true
	s, err := client.Status(ctx, "")
	if err != nil {
		return err
	}
	if err := r.ShareAmong(max(1, len(s.Workers)), workers); err != nil {
		return err
	}
	name := filepath.Base(f.out)
	if f.out == "" {
		name = unused(s, fmt.Sprintf("%s-seed%d", r.Name(), r.Seed))
	}
	programs, err := f.brought(ctx, c, client)
	if err != nil {
		return err
	}
	submit := func(ctx context.Context, name, config string) error {
		return client.SubmitWith(ctx, name, config, programs)
	}
	if f.detach {
		return c.detach(ctx, f, r, name, submit)
	}
	return c.follow(ctx, client, r, name, submit, &viewer{w: f.watcher(c, r, name), stays: true})
}

// watcher shows a run of a cluster, which is resumed there.
func (f *trainFlags) watcher(c *command, r *request.Request, name string) watcher {
	w := c.watcher(r, name, f.json)
	if s, ok := w.(*screen); ok && len(f.addresses) > 0 {
		s.again = fmt.Sprintf("%s --cluster %s", name, strings.Join(f.addresses, ","))
	}
	return w
}

// unused returns a name that no run has.
func unused(s *protocol.Status, name string) string {
	taken := func(name string) bool {
		return slices.ContainsFunc(s.Runs, func(r core.Run) bool { return r.Name == name })
	}
	out := name
	for i := 2; taken(out); i++ {
		out = fmt.Sprintf("%s-%d", name, i)
	}
	return out
}

// follow starts or resumes a run, and shows it until it is over. If it is interrupted the run is
// stopped.
func (c *command) follow(ctx context.Context, client *protocol.Client, r *request.Request, name string, begin func(ctx context.Context, name, config string) error, v *viewer) error {
	text, err := r.YAML()
	if err != nil {
		return err
	}
	if err := begin(ctx, name, string(text)); err != nil {
		return err
	}
	v.total, v.async, v.begun = r.Steps, r.Async, time.Now()
	last, err := v.follow(ctx, client, name)
	if v.stays && errors.Is(context.Cause(ctx), errHungUp) {
		return exitStatus(exitInterrupted) // nobody is there to be told: the run goes on in its cluster
	}
	if ctx.Err() != nil {
		last, err = v.stop(ctx, client, name)
	}
	if err != nil {
		v.w.fail(err)
		return exitStatus(exitFailed)
	}
	return v.end(last)
}

// halting is how long a run is waited for that is to stop. Its coordinator gives it a
// minute.
const halting = 90 * time.Second

// stop has a run stop at its next consistent point, and waits for that. If it was not the
// user who asked, but this machine's processes do not stay alive, it is not waited for.
func (v *viewer) stop(ctx context.Context, client *protocol.Client, name string) (last core.Run, err error) {
	now, limit := errors.As(context.Cause(ctx), new(launch.Unsteady)), halting
	if now {
		limit = 10 * time.Second
	} else {
		v.w.Note("it stops at its next consistent point and is saved there; another interruption is not waited for")
	}
	return stopped(context.WithoutCancel(ctx), client, name, now, limit, v.show)
}

// stopped has a run stop, and is how it ended.
func stopped(ctx context.Context, client *protocol.Client, name string, now bool, limit time.Duration, show func(core.Run)) (last core.Run, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err = client.Stop(ctx, name, now); err == nil {
		last, err = client.Watch(ctx, name, show)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("run %s did not stop within %v: weft status %s shows where it stands", name, limit, name)
	}
	return last, err
}

// viewer shows a run of a cluster as if it were here.
type viewer struct {
	w     watcher
	total int64
	async bool
	begun time.Time
	stays bool           // the run may go on without this command
	tell  func(core.Run) // called with each state of the run; may be nil
	bar   bool
	told  int64 // number of events of the run when it was last shown
	at    int64 // iteration that was shown last
	tried int64 // step of the evaluation that was
}

// absent is how long a coordinator may be away before a run is no longer watched.
const absent = time.Minute

// follow shows a run until it is over, and says when its coordinator is away.
func (v *viewer) follow(ctx context.Context, client *protocol.Client, name string) (core.Run, error) {
	patient := *client
	patient.Patience = absent
	patient.Waiting = func(why error) { v.w.Note("waits: " + why.Error()) }
	last, err := patient.Watch(ctx, name, v.show)
	if errors.As(err, new(protocol.Away)) && v.stays {
		err = fmt.Errorf("%w; the run goes on when its coordinator is back: weft status %s --cluster %s", err, name, strings.Join(client.Addresses, ","))
	}
	return last, err
}

func (v *viewer) show(r core.Run) {
	if v.tell != nil {
		v.tell(r)
	}
	if e := r.Progress.Evaluation; e != nil && e.Steps > v.tried {
		v.tried = e.Steps
		v.w.Evaluated(runner.Evaluation(*e))
	}
	news := min(int64(len(r.History)), max(0, r.Told-v.told))
	for _, text := range r.History[int64(len(r.History))-news:] {
		v.w.Note(text)
	}
	v.told = r.Told
	if r.Phase == core.Running && !v.bar {
		v.bar = true
		v.w.Begin(r.Progress.Steps, v.total)
	}
	if p := r.Progress; v.bar && p.Iter != v.at && p.Iter > 0 {
		v.at = p.Iter
		v.w.Iteration(runner.Report{
			Steps: p.Steps, Iter: p.Iter, Episodes: p.Episodes, Seconds: time.Since(v.begun).Seconds(), Return: mean(p.Episodes, p.Return), Logs: logged(p.Metrics),
		})
	}
}

// logged returns metrics as a loop logs them.
func logged(all []part.Metric) (out []rl.Logged) {
	for _, m := range all {
		out = append(out, rl.Logged{Name: m.Name, X: float64(m.X)})
	}
	return out
}

// mean returns a mean over episodes, of which there may be none.
func mean(episodes int64, x float64) float64 {
	if episodes == 0 {
		return math.NaN()
	}
	return x
}

// end says how a run ended.
func (v *viewer) end(r core.Run) error {
	if v.bar {
		v.w.End()
	}
	if r.Phase == core.Failed {
		v.w.fail(errors.New(r.Why))
		return exitStatus(exitFailed)
	}
	p := r.Progress
	x := runner.Result{
		Steps: p.Steps, Iter: p.Iter, Episodes: p.Episodes, Seconds: time.Since(v.begun).Seconds(),
		StepsPerSecond: p.StepsPerSecond, ReturnMean: mean(p.Episodes, p.Return), Exact: !v.async, Interrupted: r.Phase != core.Done,
	}
	if p.Result != nil {
		x.Steps, x.WeightsSHA256, x.StateSHA256 = p.Result.Steps, p.Result.WeightsSHA256, p.Result.StateSHA256
	}
	if x.Interrupted {
		x.Steps = (part.Committed{Last: r.Last}).Step()
	}
	v.w.done(x)
	if x.Interrupted {
		return exitStatus(exitInterrupted)
	}
	return nil
}

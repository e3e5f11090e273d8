package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-rl/weft/internal/launch"
	"github.com/weft-rl/weft/internal/launch/kubernetes"
	"github.com/weft-rl/weft/internal/launch/ray"
	"github.com/weft-rl/weft/internal/launch/slurm"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/coordinator/core"
)

// engines are the schedulers that runs can be submitted to, by name. An engine's options have a
// flag of the same name.
var engines = map[string]launch.Engine{
	"kubernetes": &kubernetes.Engine{},
	"ray":        &ray.Engine{},
	"slurm":      slurm.Engine{},
}

func engineNames() []string { return slices.Sorted(maps.Keys(engines)) }

// engineFlags are the flags of train and resume that have an engine run the job.
type engineFlags struct {
	on      string
	nodes   int
	options map[string]*[]string // further options, by engine

	allocation *launch.Allocation // allocation that this process leads a run in; nil outside of a job
	program    string             // program of the cluster's processes; empty is this one
	tell       func(core.Run)     // called with each state of the run; may be nil
}

func (f *engineFlags) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.on, "on", "", "`engine` to submit the run to: "+strings.Join(engineNames(), ", ")+". Within a job of the engine, train on the job's machines")
	flags.IntVar(&f.nodes, "nodes", 0, "with --on, `N` machines; one worker on each, unless --workers says how many there are in all")
	f.options = map[string]*[]string{}
	for _, name := range engineNames() {
		f.options[name] = flags.StringArray(name, nil, "with --on "+name+", an option of the engine's own, `key=value` or key; may be repeated")
	}
}

// check reports what does not go together. Other says that another way to train elsewhere was asked
// for too.
func (f *engineFlags) check(other bool) (errs []error) {
	if _, ok := engines[f.on]; f.on != "" && !ok {
		errs = append(errs, fmt.Errorf("--on: unknown engine %q: there is %s", f.on, strings.Join(engineNames(), ", ")))
	}
	if f.on != "" && other {
		errs = append(errs, errors.New("--on: leave out --cluster and --processes: the engine starts a cluster for the run"))
	}
	if f.nodes < 0 || f.nodes > 0 && f.on == "" {
		errs = append(errs, errors.New("--nodes is a number of machines for --on"))
	}
	for _, name := range engineNames() {
		if f.on != name && len(*f.options[name]) > 0 {
			errs = append(errs, fmt.Errorf("--%s needs --on %s", name, name))
		}
		for _, text := range *f.options[name] {
			if _, err := launch.ParseOption(name, text); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errs
}

// engine returns the engine that was asked for.
func (f *engineFlags) engine() launch.Engine { return engines[f.on] }

// allot finds the allocation of the job that this process is in, if an engine was asked for.
func (f *trainFlags) allot(ctx context.Context) (err error) {
	e := f.engine()
	if e == nil {
		return nil
	}
	j := launch.Job{Nodes: f.nodes}
	j.Workers, _ = strconv.Atoi(*f.values["workers"])  // not set, or refused later
	j.Most, _ = strconv.Atoi(*f.values["max_workers"]) // likewise
	j.Program, err = self()
	if err == nil {
		j.Options, err = f.own()
	}
	if err == nil {
		f.allocation, err = e.Allocation(ctx, j)
	}
	return err
}

// own returns the options in the engine's own words.
func (f *engineFlags) own() (out []launch.Option, err error) {
	for _, text := range *f.options[f.on] {
		o, err := launch.ParseOption(f.on, text)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// job returns what is to be submitted for a request.
func (f *trainFlags) job(r *request.Request, out string, args []string, workers bool) (j launch.Job, err error) {
	j = launch.Job{Name: filepath.Base(out), Run: out, Args: args, Nodes: f.nodes, Most: r.MaxWorkers}
	if workers {
		j.Workers = r.Workers
	}
	alone := r.Found.Policy.AsIs || r.Found.Policy.Lowered
	if j.Nodes == 0 && j.Workers == 0 {
		if !alone {
			return j, fmt.Errorf("--on %s: say how many machines with --nodes N, or how many workers with --workers N", f.on)
		}
		j.Nodes = 1
	}
	least := max(j.Nodes, j.Workers)
	if f.members.asked() { // each of which is one process
		workers = false
	} else if err := r.ShareAmongProcesses("--nodes", least, workers); err != nil {
		return j, err
	}
	if j.Most > 0 && j.Most < least {
		return j, fmt.Errorf("--max-workers: %d are fewer than the %d that the job begins with", j.Most, least)
	}
	if j.Options, err = f.own(); err != nil {
		return j, err
	}
	if workers && *f.values["workers"] == "" { // it was said in a file, which only the settings are of
		j.Args = append(j.Args, "--workers", strconv.Itoa(r.Workers))
	}
	if j.Most > 0 && *f.values["max_workers"] == "" { // likewise
		j.Args = append(j.Args, "--max-workers", strconv.Itoa(j.Most))
	}
	j.Dir, err = os.Getwd()
	return j, err
}

// notOfJob are the flags that are for the submitting command alone.
var notOfJob = []string{"detach", "dry-run", "nodes", "out", "json"}

// commandLine returns a command as it is typed, without some flags.
func commandLine(cmd *cobra.Command, args, without []string) []string {
	out := append([]string{cmd.Name()}, args...)
	cmd.Flags().Visit(func(x *pflag.Flag) {
		text := x.Value.String()
		list, several := x.Value.(pflag.SliceValue)
		switch {
		case slices.Contains(without, x.Name):
		case several:
			for _, text := range list.GetSlice() {
				out = append(out, "--"+x.Name, text)
			}
		case x.NoOptDefVal == "":
			out = append(out, "--"+x.Name, text)
		case x.NoOptDefVal == text:
			out = append(out, "--"+x.Name)
		default:
			out = append(out, "--"+x.Name+"="+text)
		}
	})
	return out
}

// trainOn trains a run in the job that this process leads, or submits a job that does.
func (c *command) trainOn(cmd *cobra.Command, args []string, r *request.Request, f *trainFlags, workers bool) error {
	ctx := cmd.Context()
	if f.allocation != nil {
		return c.leadNew(ctx, f, func(ctx context.Context) error { return c.trainProcesses(ctx, r, f, workers) })
	}
	name := fmt.Sprintf("%s-seed%d", r.Name(), r.Seed)
	if f.members.asked() {
		name = f.members.name(r)
	}
	out := f.out
	if out == "" {
		out = request.NewFolder(name)
	}
	out, err := filepath.Abs(out)
	if err == nil && f.members.asked() {
		err = newPopulation(out)
	}
	if err != nil {
		return err
	}
	line := commandLine(cmd, args, append(notOfJob, engineNames()...))
	if c.set.Built() && !f.skip { // it has been verified here
		line = append(line, "--no-verify")
	}
	j, err := f.job(r, out, append(line, "--out", out), workers)
	if err == nil {
		err = f.pack(cmd, r, &j)
	}
	if err != nil {
		return err
	}
	return c.submit(ctx, j, r, f, out)
}

// leadNew trains a new run in this process's allocation.
func (c *command) leadNew(ctx context.Context, f *trainFlags, train func(context.Context) error) error {
	if f.out == "" {
		return fmt.Errorf("--on %s: a job needs --out FOLDER, by which it finds its run when it is started again", f.on)
	}
	return c.lead(ctx, f, f.out, train)
}

// trainSeedsOn submits a job for each of several seeds, and follows all of them.
func (c *command) trainSeedsOn(cmd *cobra.Command, args []string, r *request.Request, n int, f *trainFlags, workers bool) error {
	if f.allocation != nil {
		return fmt.Errorf("--seeds: a job of %s trains one seed: leave it out, and say which with --seed", f.on)
	}
	out := f.out
	if out == "" {
		out = request.NewFolder(seedsName(r, n))
	}
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	line := commandLine(cmd, args, append(append(notOfJob, "seeds", "seed"), engineNames()...))
	if c.set.Built() && !f.skip { // it has been verified here
		line = append(line, "--no-verify")
	}
	dir := filepath.Join(out, request.SeedPrefix+launch.Seed)
	j, err := f.job(r, out, append(line, "--seed", launch.Seed, "--out", dir), workers)
	if err != nil {
		return err
	}
	runs, err := newSeeds(cmd.Context(), r, n, out)
	if err != nil {
		return err
	}
	j.Run = dir
	return c.submitSeeds(cmd.Context(), j, runs, f, out)
}

// resumeSeedsOn submits a job for each seed of a folder.
func (c *command) resumeSeedsOn(cmd *cobra.Command, out string, folders []string, f *trainFlags) error {
	if _, far := f.distant(); far {
		return fmt.Errorf("--on %s: %s holds the runs of several seeds, of which a job takes one: name it, such as %s", f.on, out, folders[0])
	}
	ctx, more := cmd.Context(), f.changed(cmd)
	runs, err := c.savedSeeds(ctx, folders, more, f)
	if runs == nil {
		return err
	}
	for _, s := range runs {
		if err := c.idle(ctx, s.dir); err != nil {
			return err
		}
	}
	dir := filepath.Join(out, request.SeedPrefix+launch.Seed)
	line := commandLine(cmd, []string{dir, "--or-begin"}, append(append(notOfJob, "or-begin"), engineNames()...))
	j, err := f.job(runs[0].r, out, line, request.Layers{Flags: more}.Sets("workers"))
	if err != nil {
		return err
	}
	j.Run = dir
	return c.submitSeeds(ctx, j, runs, f, out)
}

// resumeOn resumes a run in the job that this process leads, or submits a job that does.
func (c *command) resumeOn(cmd *cobra.Command, run string, f *trainFlags) error {
	ctx, more := cmd.Context(), f.changed(cmd)
	if err := f.allot(ctx); err != nil {
		return err
	}
	if f.serves() {
		return c.serveJob(ctx, f)
	}
	if f.allocation != nil {
		return c.lead(ctx, f, run, func(ctx context.Context) error { return c.runResume(ctx, run, more, f) })
	}
	out, err := filepath.Abs(run)
	if err != nil {
		return err
	}
	if seeds := request.SeedFolders(out); len(seeds) > 0 && !request.Taken(out) {
		return c.resumeSeedsOn(cmd, out, seeds, f)
	}
	dir := out
	if holdsPopulation(out) {
		if _, ok := f.engine().(launch.Stepper); !ok {
			return fmt.Errorf("--on %s: %s holds a population, which goes on here, or with --on slurm", f.on, out)
		}
		if len(more) > 0 {
			return populationAsBegun(more, out)
		}
		dir, f.members.size = request.MemberFolder(out, 0), "all"
	}
	file, err := f.runConfig(dir)
	if err != nil {
		return err
	}
	_, r, err := c.resumed(ctx, file, more, filepath.Join(dir, request.ConfigFile), f)
	if r == nil {
		return err
	}
	if err := c.idle(ctx, out); err != nil {
		return err
	}
	line := commandLine(cmd, []string{out}, append(notOfJob, engineNames()...))
	j, err := f.job(r, out, line, request.Layers{Flags: more}.Sets("workers"))
	if err == nil {
		err = f.carry(r, &j)
	}
	if err != nil {
		return err
	}
	return c.submit(ctx, j, r, f, out)
}

// submit submits a job, and follows it unless the run is to be detached. With --dry-run it prints
// what would be submitted.
func (c *command) submit(ctx context.Context, j launch.Job, r *request.Request, f *trainFlags, out string) error {
	jobs, err := c.handIn(ctx, j, f, []string{out}, nil)
	if err != nil || f.dry {
		return err
	}
	if f.detach {
		return c.submitted(f, jobs[0], out)
	}
	if f.members.asked() {
		return c.followPopulation(ctx, r, f, jobs[0], out)
	}
	return c.followJob(ctx, r, f, jobs[0], out)
}

// submitSeeds does the same for jobs of several seeds.
func (c *command) submitSeeds(ctx context.Context, j launch.Job, runs []*seedRun, f *trainFlags, out string) error {
	var dirs []string
	for _, s := range runs {
		j.Seeds = append(j.Seeds, s.r.Seed)
		dirs = append(dirs, s.dir)
	}
	jobs, err := c.handIn(ctx, j, f, dirs, func(undo *[]func() error) error { return claimSeeds(runs, undo) })
	if err != nil || f.dry {
		return err
	}
	if f.detach {
		for i, b := range jobs {
			if err := c.submitted(f, b, dirs[i]); err != nil {
				return err
			}
		}
		return nil
	}
	return c.followSeeds(ctx, runs, jobs, out, f)
}

// handIn submits a job, or one for each of its seeds, and returns them in the order of their runs'
// folders. Before claims what is needed in these; it may be nil. With --dry-run handIn prints what
// would be submitted.
func (c *command) handIn(ctx context.Context, j launch.Job, f *trainFlags, dirs []string, before func(undo *[]func() error) error) (jobs []job, err error) {
	e := f.engine()
	if j.Program, err = self(); err != nil {
		return nil, err
	}
	if f.dry && !c.set.Built() {
		return nil, c.printScript(e, j)
	}
	if _, err := e.Script(j); err != nil { // a mistake of the user's
		return nil, err
	}
	if !f.dry {
		c.started = true
		if _, err := e.Check(ctx, j.Options...); err != nil {
			return nil, err
		}
	}
	var undo []func() error
	defer func() {
		for _, do := range slices.Backward(undo) {
			if err != nil {
				err = errors.Join(err, do())
			}
		}
	}()
	for _, dir := range dirs {
		if err := makeFolder(filepath.Join(dir, jobFolder), &undo); err != nil {
			return nil, err
		}
	}
	if _, far := f.distant(); far {
		err = keepText(dirs[0], submittedFile, j.Config)
		undo = append(undo, func() error { return os.Remove(filepath.Join(dirs[0], jobFolder, submittedFile)) })
	} else {
		j.Program, err = stage(j.Program, filepath.Dir(dirs[0]), &undo)
	}
	if err != nil {
		return nil, err
	}
	if f.dry {
		return nil, c.printScript(e, j)
	}
	for _, dir := range dirs {
		if err := forgetProgress(dir); err != nil {
			return nil, err
		}
	}
	if before != nil {
		if err := before(&undo); err != nil {
			return nil, err
		}
	}
	ids, err := submitAll(ctx, e, j)
	if err != nil {
		return nil, err
	}
	undo = nil
	for i, id := range ids {
		b := job{Engine: f.on, ID: id}
		if err := b.write(dirs[i]); err != nil {
			return nil, err
		}
		jobs = append(jobs, b)
	}
	return jobs, nil
}

// submitAll submits a job, or one for each of its seeds. If one of them is refused, those before it
// are removed.
func submitAll(ctx context.Context, e launch.Engine, j launch.Job) (ids []string, err error) {
	if a, ok := e.(launch.Arrays); ok || len(j.Seeds) == 0 {
		id, err := e.Submit(ctx, j)
		if err != nil || len(j.Seeds) == 0 {
			return []string{id}, err
		}
		for i := range j.Seeds {
			ids = append(ids, a.Element(id, i))
		}
		return ids, nil
	}
	for _, seed := range j.Seeds {
		id, err := e.Submit(ctx, j.Alone(seed))
		if err != nil {
			for _, id := range ids {
				err = errors.Join(err, e.Interrupt(context.WithoutCancel(ctx), id))
			}
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (c *command) printScript(e launch.Engine, j launch.Job) error {
	text, err := e.Script(j)
	if err == nil {
		_, err = c.out.Write([]byte(text))
	}
	return err
}

// makeFolder makes a folder and those above it, and adds to undo what removes the ones that it
// made.
func makeFolder(dir string, undo *[]func() error) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := makeFolder(filepath.Dir(dir), undo); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	*undo = append(*undo, func() error { return os.Remove(dir) })
	return nil
}

// among returns how many processes share the work, as far as flags and the job say; 0 is unknown.
func (f *trainFlags) among() int {
	if f.allocation != nil {
		return len(f.allocation.Slots)
	}
	return max(f.processes, f.nodes)
}

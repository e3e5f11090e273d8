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
	j.Workers, _ = strconv.Atoi(*f.values["workers"]) // not set, or refused later
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
	j = launch.Job{Name: filepath.Base(out), Run: out, Args: args, Nodes: f.nodes}
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
	if err := r.ShareAmongProcesses("--nodes", max(j.Nodes, j.Workers), workers); err != nil {
		return j, err
	}
	if j.Options, err = f.own(); err != nil {
		return j, err
	}
	if workers && *f.values["workers"] == "" { // it was said in a file, which only the settings are of
		j.Args = append(j.Args, "--workers", strconv.Itoa(r.Workers))
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
		if f.out == "" {
			return fmt.Errorf("--on %s: a job needs --out FOLDER, by which it finds its run when it is started again", f.on)
		}
		return c.lead(ctx, f, f.out, func(ctx context.Context) error { return c.trainProcesses(ctx, r, f, workers) })
	}
	out := f.out
	if out == "" {
		out = request.NewFolder(fmt.Sprintf("%s-seed%d", r.Name(), r.Seed))
	}
	out, err := filepath.Abs(out)
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
	file, err := f.runConfig(out)
	if err != nil {
		return err
	}
	_, r, err := c.resumed(ctx, file, more, filepath.Join(run, request.ConfigFile), f)
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
func (c *command) submit(ctx context.Context, j launch.Job, r *request.Request, f *trainFlags, out string) (err error) {
	e := f.engine()
	if j.Program, err = self(); err != nil {
		return err
	}
	if f.dry && !c.set.Built() {
		return c.printScript(e, j)
	}
	if _, err := e.Script(j); err != nil { // a mistake of the user's
		return err
	}
	if !f.dry {
		c.started = true
		if _, err := e.Check(ctx, j.Options...); err != nil {
			return err
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
	if err := makeFolder(filepath.Join(out, jobFolder), &undo); err != nil {
		return err
	}
	if _, far := f.distant(); far {
		err = keepText(out, submittedFile, j.Config)
		undo = append(undo, func() error { return os.Remove(filepath.Join(out, jobFolder, submittedFile)) })
	} else {
		j.Program, err = stage(j.Program, filepath.Dir(out), &undo)
	}
	if err != nil {
		return err
	}
	if f.dry {
		return c.printScript(e, j)
	}
	if err := forgetProgress(out); err != nil {
		return err
	}
	id, err := e.Submit(ctx, j)
	if err != nil {
		return err
	}
	undo = nil
	b := job{Engine: f.on, ID: id}
	if err := b.write(out); err != nil {
		return err
	}
	if f.detach {
		return c.submitted(f, b, out)
	}
	return c.followJob(ctx, r, f, b, out)
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

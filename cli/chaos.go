package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/chaos"
	"github.com/weft-rl/weft/internal/run/journal"
)

// chaosFlags are the flags of chaos.
type chaosFlags struct {
	chaos.Options
	seconds      float64
	only, kinds  []string
	record       int64 // MiB
	json, inside bool
}

// insideFlag says that this process is in a network namespace of its own.
const insideFlag = "inside"

func (c *command) chaos() *cobra.Command {
	f := &chaosFlags{}
	cmd := &cobra.Command{
		Use:   "chaos",
		Short: "Inject faults into clusters and check that no run loses anything",
		Long: "Chaos trains PPO, A2C, A3C and IMPALA on clusters of this machine while it kills, freezes, slows, cuts off and takes\n" +
			"away their processes, the coordinator included, at random moments. Synchronous runs must end in the bits of undisturbed\n" +
			"ones; asynchronous ones must go on when a worker is lost that is not the learner's; every run must end with every step\n" +
			"recorded once, and nothing may hang or be left behind. It shows what was done and how long it took until runs trained\n" +
			"again, and fails if anything was not as it should be. The same seed has the same faults. With --namespaces every\n" +
			"process has a network of its own: links go down, and there is TLS.",
		Example: "  weft chaos\n" +
			"  weft chaos --seed 7 --faults 200 --json\n" +
			"  weft chaos --time 2m --processes 3\n" +
			"  weft chaos --only a3c,impala\n" +
			"  sudo weft chaos --namespaces",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runChaos(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.Uint64Var(&f.Seed, "seed", 1, "`seed` of the faults")
	flags.IntVar(&f.Faults, "faults", 100, "`number` of faults to inject")
	flags.DurationVar(&f.Time, "time", 0, "`time` after which no more are injected; 0 is no limit")
	flags.IntVar(&f.Workers, "processes", 4, "worker `processes` of a cluster")
	flags.IntVar(&f.PerRun, "per-run", 10, "maximum `faults` injected into a run")
	flags.Float64Var(&f.seconds, "seconds", 15, "approximate `seconds` that a run takes without faults")
	flags.StringSliceVar(&f.only, "only", nil, "`runs` to train, by name; all of them if none is given")
	flags.StringSliceVar(&f.kinds, "kinds", nil, "`kinds` of faults to inject, as docs/chaos.md names them; all but setting the clock if none is given")
	flags.Int64Var(&f.record, "record", 64, "`MiB` of lines that the fault \"large record\" adds")
	flags.DurationVar(&f.Patience, "patience", 45*time.Second, "`time` without progress after which a run counts as hanging")
	flags.DurationVar(&f.Bar, "bar", 3*time.Second, "`time` within which a run must train again after a fault; 0 is no limit")
	flags.BoolVar(&f.Namespaces, "namespaces", false, "put every process into a network namespace; needs an administrator's rights and the program ip")
	flags.BoolVar(&f.json, "json", false, "print one JSON object and nothing else")
	flags.BoolVar(&f.inside, insideFlag, false, "assume that this process is in a network namespace already")
	_ = flags.MarkHidden(insideFlag)
	return cmd
}

// check reports what makes no sense.
func (f *chaosFlags) check() error {
	var errs []error
	for _, x := range []struct {
		flag string
		n    int
	}{{"faults", f.Faults}, {"processes", f.Workers}, {"per-run", f.PerRun}} {
		if x.n < 1 {
			errs = append(errs, fmt.Errorf("--%s: %d: give at least 1", x.flag, x.n))
		}
	}
	if f.Record = f.record << 20; f.record < 1 {
		errs = append(errs, fmt.Errorf("--record: %d is too little", f.record))
	}
	for _, k := range f.kinds {
		if f.Kinds = append(f.Kinds, chaos.Kind(k)); !slices.Contains(chaos.Kinds(), chaos.Kind(k)) {
			errs = append(errs, fmt.Errorf("--kinds: %q is not a kind of fault: there are %q", k, chaos.Kinds()))
		}
	}
	if f.seconds <= 0 {
		errs = append(errs, fmt.Errorf("--seconds: %v is too short", f.seconds))
	}
	if f.Patience <= 0 {
		errs = append(errs, fmt.Errorf("--patience: %v is too short", f.Patience))
	}
	f.Runs = slices.DeleteFunc(chaos.Runs(f.seconds), func(r chaos.Run) bool { return len(f.only) > 0 && !slices.Contains(f.only, r.Name) })
	if len(f.Runs) < len(f.only) {
		errs = append(errs, fmt.Errorf("--only %s: the runs are %s", strings.Join(f.only, ","), strings.Join(names(chaos.Runs(1)), ", ")))
	}
	return errors.Join(errs...)
}

// names returns the names of runs.
func names(all []chaos.Run) (out []string) {
	for _, r := range all {
		out = append(out, r.Name)
	}
	return out
}

func (c *command) runChaos(ctx context.Context, f *chaosFlags) (err error) {
	if err := errors.Join(f.check(), c.set.Fit()); err != nil {
		return err
	}
	c.started = true
	if f.Program, err = self(); err != nil {
		return err
	}
	if f.Namespaces && !f.inside {
		return c.enter(ctx, f.Program)
	}
	f.Log = func(string) {}
	if !f.json {
		log := journal.New(c.out, journal.Text, "chaos")
		f.Log = func(text string) { log.Info(text) }
	}
	r, err := chaos.Test(ctx, f.Options)
	if err != nil && len(r.Trials) == 0 {
		return err
	}
	if f.json {
		err = errors.Join(err, json.NewEncoder(c.out).Encode(struct {
			chaos.Report
			Kinds []chaos.Row `json:"kinds"`
		}{r, r.Rows()}))
	} else {
		err = errors.Join(err, r.Write(c.out))
	}
	if err == nil && len(r.Violations()) > 0 {
		return exitStatus(exitFailed)
	}
	return err
}

// enter runs the same command again in a network namespace.
func (c *command) enter(ctx context.Context, program string) error {
	runtime.LockOSThread() // the namespace's process ends with the thread that started it
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, program, append(c.args, "--"+insideFlag)...)
	cmd.Stdout, cmd.Stderr = c.out, c.err
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := chaos.Enter(cmd); err != nil {
		return err
	}
	err := cmd.Run()
	var status *exec.ExitError
	switch {
	case errors.As(err, &status) && status.ExitCode() >= 0:
		return exitStatus(status.ExitCode())
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("network namespaces need an administrator's rights: %w", err)
	}
	return err
}

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
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/launch"
	"github.com/weft-rl/weft/internal/plain"
)

// launchers returns the command that shows which ways to start a cluster there are.
func (c *command) launchers() *cobra.Command {
	return &cobra.Command{
		Use:   "launchers",
		Short: "Show which engines can run jobs from here",
		Long: "Launchers shows the ways to train in other processes than this one: child processes of this machine (--processes)\n" +
			"and engines that jobs are submitted to (--on). Of an engine that cannot be used from here it says what is missing.",
		Example: "  weft launchers",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
			fmt.Fprint(t, "LAUNCHER\tFLAG\tUSABLE\n")
			fmt.Fprint(t, "local\t--processes N\tyes\n")
			for _, name := range engineNames() {
				version, err := engines[name].Check(cmd.Context())
				usable := "yes, " + version
				if err != nil {
					usable = "no: " + plain.Line(err.Error())
				}
				fmt.Fprintf(t, "%s\t--on %s\t%s\n", name, name, usable)
			}
			return t.Flush()
		},
	}
}

// submitted says how to watch, stop and fetch the run of a job.
func (c *command) submitted(f *trainFlags, b job, out string) error {
	if f.json {
		return json.NewEncoder(c.out).Encode(struct {
			Event string `json:"event"`
			Run   string `json:"run"`
			job
		}{"submitted", out, b})
	}
	fmt.Fprintf(c.out, "%v has run %s, and goes on without this command\n", b, filepath.Base(out))
	fmt.Fprintf(c.out, "  weft logs %s --follow   tells what happens to it\n", out)
	fmt.Fprintf(c.out, "  weft status %s          shows where it stands\n", out)
	fmt.Fprintf(c.out, "  weft stop %s            saves and ends it; weft resume %s --on %s goes on\n", out, out, b.Engine)
	return nil
}

// statusOfJobs shows where jobs and their runs stand, one after the other.
func (c *command) statusOfJobs(ctx context.Context, all []runJob, asJSON bool) error {
	for i, b := range all {
		if len(all) > 1 && !asJSON {
			fmt.Fprintf(c.out, "%s%s\n", strings.Repeat("\n", min(i, 1)), b.out)
		}
		if err := c.statusOfJob(ctx, b.job, b.out, asJSON); err != nil {
			return err
		}
	}
	return nil
}

// statusOfJob shows where a job and its run stand.
func (c *command) statusOfJob(ctx context.Context, b job, out string, asJSON bool) error {
	e, err := b.engine()
	if err != nil {
		return err
	}
	p, err := lastAccount(ctx, e, b, out)
	if err != nil {
		return err
	}
	s, err := e.Look(ctx, b.ID)
	if err != nil {
		s.Text = "unknown: " + err.Error()
	}
	if asJSON {
		return json.NewEncoder(c.out).Encode(struct {
			job
			State string `json:"state"`
			account
		}{b, s.Text, p})
	}
	w := plain.Writer(c.out)
	fmt.Fprintf(w, "%v is %s\n", b, s.Text)
	if s.Log != "" {
		fmt.Fprintf(w, "its output is in %s\n", s.Log)
	}
	if p.Restarts > 0 {
		fmt.Fprintf(w, "it was started again %d times\n", p.Restarts)
	}
	if p.Error != "" {
		fmt.Fprintln(w, p.Error)
	}
	if p.Run.Name == "" || p.Run.Plan == nil {
		return nil
	}
	return showRun(w, p.Run)
}

// logsOfJob prints the log of a job's run; with follow, until the job is over.
func (c *command) logsOfJob(ctx context.Context, b job, out string, follow bool) error {
	e, err := b.engine()
	if err != nil {
		return err
	}
	w := plain.Writer(c.out)
	if d, far := e.(launch.Distant); far {
		return printOutput(ctx, w, d, b, follow)
	}
	tick := time.NewTicker(often)
	defer tick.Stop()
	var at int64
	for looked, over := time.Now(), !follow; ; {
		if at, err = printFrom(w, filepath.Join(out, "log.txt"), at); err != nil || over {
			return err
		}
		var p account
		over = recall(out, progressFile, &p) == nil && p.Over
		if time.Since(looked) > looking && !over {
			looked = time.Now()
			s, err := e.Look(ctx, b.ID)
			over = err == nil && s.Phase == launch.Over
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// printFrom prints a file from a position on, and returns where it ended. A file that is not there
// is empty, and one that has become shorter is another one.
func printFrom(w io.Writer, path string, at int64) (int64, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return at, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() < at {
		return 0, err
	}
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return at, err
	}
	n, err := io.Copy(w, f)
	return at + n, err
}

// stopJobs has jobs save their runs and end, and waits for that.
func (c *command) stopJobs(ctx context.Context, all []runJob) error {
	errs := make([]error, len(all))
	var ends sync.WaitGroup
	for i, b := range all {
		ends.Go(func() { errs[i] = c.stopJob(ctx, b.job, b.out) })
	}
	ends.Wait()
	for i, b := range all {
		if errs[i] == nil {
			fmt.Fprintf(c.out, "%v is over: weft resume %s --on %s goes on\n", b.job, b.out, b.Engine)
		}
	}
	return errors.Join(errs...)
}

// stopJob has a job save its run and end, and waits for that.
func (c *command) stopJob(ctx context.Context, b job, out string) error {
	e, err := b.engine()
	if err != nil {
		return err
	}
	if d, far := e.(launch.Distant); far { // its last words go with it
		l := listen(ctx, d, b, out)
		defer l.stop()
	}
	if err := e.Interrupt(ctx, b.ID); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, halting)
	defer cancel()
	tick := time.NewTicker(often)
	defer tick.Stop()
	for {
		s, err := e.Look(ctx, b.ID)
		if err == nil && s.Phase == launch.Over {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%v did not end within %v: weft status %s shows where it stands", b, halting, out)
		}
	}
}

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/plain"
	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/protocol"
)

func (c *command) status() *cobra.Command {
	f := &clientFlags{}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status [RUN]",
		Short: "Show the runs and workers of a cluster",
		Long: "Status shows the workers of a cluster and its runs: where they stand, how fast they are, how old what they learn\n" +
			"from is, and which fragment others wait for. Of one RUN it shows what its workers do and what happened to it. RUN may\n" +
			"be the folder of a run that was submitted with --on: then its job's state is shown too.",
		Example: "  weft status\n  weft status ppo-CartPole-v1-seed1\n  weft status runs/ppo-CartPole-v1-seed1\n  weft status --cluster 10.0.0.1:7700 --certs certs --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all := f.jobs(cmd, args); len(all) > 0 {
				c.started = true
				return c.statusOfJobs(cmd.Context(), all, asJSON)
			}
			client, err := f.client()
			if err != nil {
				return err
			}
			c.started = true
			s, err := client.Status(cmd.Context(), strings.Join(args, ""))
			switch {
			case err != nil:
				return err
			case asJSON:
				return json.NewEncoder(c.out).Encode(s)
			case len(args) == 1:
				return showRun(plain.Writer(c.out), s.Runs[0])
			}
			return showStatus(plain.Writer(c.out), s)
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object and nothing else")
	return cmd
}

func showStatus(out io.Writer, s *protocol.Status) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "coordinator %s, %d workers, %d runs\n", s.Coordinator, len(s.Workers), len(s.Runs))
	if len(s.Workers) > 0 {
		fmt.Fprint(t, "\nWORKER\tHOST\tCORES\tMEMORY\tDEVICES\tPROGRAM\tAT\n")
	}
	for _, w := range s.Workers {
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%.8s\t%s\n", w.Name, w.Host, w.Cores, size(w.Memory), strings.Join(w.Devices, ","), w.Binary, occupation(w))
	}
	if len(s.Runs) > 0 {
		fmt.Fprint(t, "\nRUN\tIS\tPROGRAM\tEPOCH\tWORKERS\tSTEPS\tSAVED\tRETURN\tSTEPS/S\tSTALENESS\tSLOWEST\tWHY\n")
	}
	for _, r := range s.Runs {
		p := r.Progress
		saved := int64(0)
		if r.Last != nil {
			saved = r.Last.Step
		}
		fmt.Fprintf(t, "%s\t%s\t%.8s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, r.Phase, r.Program, r.Epoch, has(r), metrics.Count(p.Steps), metrics.Count(saved),
			metrics.Number(mean(p.Episodes, p.Return)), metrics.Count(int64(p.StepsPerSecond)), metrics.Number(p.Staleness), p.Slowest, r.Why)
	}
	for i, text := range s.LeftOut {
		if i == 0 {
			fmt.Fprintln(t)
		}
		fmt.Fprintln(t, text)
	}
	return t.Flush()
}

// has returns how many workers a run has, and how many it may have if it grows.
func has(r core.Run) string {
	text := fmt.Sprint(len(r.Members))
	if r.Most > 0 {
		text += fmt.Sprintf(" (up to %d)", r.Most)
	}
	return text
}

// size returns an amount of memory; - is unknown.
func size(bytes int64) string {
	if bytes == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f GiB", gib(bytes))
}

func gib(bytes int64) float64 { return float64(bytes) / (1 << 30) }

func occupation(w core.Worker) string {
	switch {
	case w.Silent:
		return "(silent)"
	case w.Draining && w.Run != "":
		return w.Run + " (to leave)"
	case w.Draining:
		return "(to leave)"
	case w.Run == "":
		return "-"
	}
	return w.Run
}

func showRun(out io.Writer, r core.Run) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	p := r.Progress
	fmt.Fprintf(t, "run %s is %s", r.Name, r.Phase)
	if r.Why != "" {
		fmt.Fprintf(t, ": %s", r.Why)
	}
	fmt.Fprintf(t, "\nstep %d, iteration %d, %d episodes, return %s, %s steps/s, staleness %s\n",
		p.Steps, p.Iter, p.Episodes, metrics.Number(p.Return), metrics.Count(int64(p.StepsPerSecond)), metrics.Number(p.Staleness))
	if r.Program != "" {
		fmt.Fprintf(t, "program %s\n", r.Program)
	}
	if r.Most > 0 && r.Phase.Active() {
		fmt.Fprintf(t, "%d workers; it takes others in at a checkpoint, up to %d in all\n", len(r.Members), r.Most)
	}
	if p.Slowest != "" {
		fmt.Fprintf(t, "others wait for %s\n", p.Slowest)
	}
	for i, m := range r.Members {
		var parts []string
		for _, x := range r.Plan.Replicas {
			if x.Worker == i {
				parts = append(parts, fmt.Sprintf("%s %d on %s", x.Group, x.Rank, x.Device))
			}
		}
		had := ""
		if m.Vacant {
			had = " (lost: nobody has its part)"
		}
		fmt.Fprintf(t, "worker %s%s:\t%s\n", m.Name, had, strings.Join(parts, ", "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, text := range r.History {
		fmt.Fprintf(out, "  %s\n", text)
	}
	return nil
}

func (c *command) stop() *cobra.Command {
	f := &clientFlags{}
	var now bool
	cmd := &cobra.Command{
		Use:   "stop RUN",
		Short: "Stop a run of a cluster",
		Long: "Stop ends a run at its next consistent point, of which it keeps a checkpoint, and waits for that.\n" +
			"A run that does not come to one within a minute ends all the same, and goes on from the checkpoint\n" +
			"before. With --now it ends at once: what was done since its last checkpoint is given up. RUN may be the\n" +
			"folder of a run that was submitted with --on.",
		Example: "  weft stop ppo-CartPole-v1-seed1\n  weft stop ppo-CartPole-v1-seed1 --cluster 10.0.0.1:7700 --certs certs\n" +
			"  weft stop ppo-CartPole-v1-seed1 --now\n  weft stop runs/ppo-CartPole-v1-seed1",
		Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			if all := f.jobs(cmd, args); len(all) > 0 {
				c.started = true
				return c.stopJobs(cmd.Context(), all)
			}
			client, err := f.client()
			if err != nil {
				return err
			}
			c.started = true
			return c.runStop(cmd.Context(), client, args[0], now)
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&now, "now", false, "discard the work since the last checkpoint")
	return cmd
}

// runStop has a run stop, and says how it ended.
func (c *command) runStop(ctx context.Context, client *protocol.Client, name string, now bool) error {
	r, err := stopped(ctx, client, name, now, halting, func(core.Run) {})
	if err == nil {
		fmt.Fprintf(plain.Writer(c.out), "run %s is %s: %s\n", r.Name, r.Phase, r.Why)
	}
	return err
}

func (c *command) logs() *cobra.Command {
	f := &clientFlags{}
	var follow bool
	cmd := &cobra.Command{
		Use:     "logs RUN",
		Short:   "Show the log of a run of a cluster",
		Example: "  weft logs ppo-CartPole-v1-seed1\n  weft logs ppo-CartPole-v1-seed1 --follow\n  weft logs runs/ppo-CartPole-v1-seed1 --follow",
		Args:    oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			if all := f.jobs(cmd, args); len(all) > 1 {
				return fmt.Errorf("%s holds the runs of several seeds, each with a log: name one of them, such as %s", args[0], all[0].out)
			} else if len(all) == 1 {
				c.started = true
				return c.logsOfJob(cmd.Context(), all[0].job, all[0].out, follow)
			}
			client, err := f.client()
			if err != nil {
				return err
			}
			c.started = true
			return client.Logs(cmd.Context(), args[0], follow, c.out)
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print new lines until the run ends")
	return cmd
}

// oneName asks for a run.
func oneName(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes the name of one run, not %d arguments (weft status shows them)", cmd.CommandPath(), len(args))
	}
	return nil
}

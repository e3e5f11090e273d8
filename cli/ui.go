package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/draw/graph"
	"github.com/weft-rl/weft/internal/draw/sheet"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/protocol"
	"github.com/weft-rl/weft/internal/run/replicas"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/internal/ui"
	"github.com/weft-rl/weft/internal/web"
)

// defaultUI is where the page is, unless it is said.
const defaultUI = "127.0.0.1:7000"

// uiFlags are the flags of ui.
type uiFlags struct {
	listenFlags
	clientFlags
}

func (c *command) ui() *cobra.Command {
	var f uiFlags
	every := 2 * time.Second
	cmd := &cobra.Command{
		Use:   "ui [FOLDER...]",
		Short: "Show runs in a web browser",
		Long: "Ui serves a web page that shows the runs of some folders, by default of runs: as a table that sorts and filters\n" +
			"by setting, with their learning curves, what differs between their settings, and the graph, plan, traffic, profile,\n" +
			"log and films of each. Runs under way are followed. With --cluster it shows the workers and runs of a cluster too.\n" +
			"The page is part of this program and loads nothing from elsewhere.",
		Example: "  weft ui\n  weft ui runs /data/experiments\n  weft ui --cluster 127.0.0.1:7700\n  weft ui --listen 0.0.0.0:7000",
		RunE:    func(cmd *cobra.Command, args []string) error { return c.runUI(cmd.Context(), args, f, every) },
	}
	f.listenFlags.flags(cmd, defaultUI)
	f.credentials.flags(cmd)
	cmd.Flags().StringSliceVar(&f.addresses, "cluster", nil, "`address` of the coordinator whose workers and runs are shown")
	cmd.Flags().DurationVar(&every, "every", every, "`time` between looks for runs and new lines of their records")
	return cmd
}

func (c *command) runUI(ctx context.Context, folders []string, f uiFlags, every time.Duration) error {
	if every <= 0 {
		return fmt.Errorf("--every: %v is not a time", every)
	}
	if len(folders) == 0 {
		folders = []string{"runs"}
	}
	inside := make([]string, len(folders))
	for i, folder := range folders {
		var err error
		if inside[i], err = filepath.Abs(folder); err != nil {
			return err
		}
	}
	o := ui.Options{
		Graph: c.graphSVG,
		Plan: func(ctx context.Context, settings []config.Assignment) ([]byte, error) {
			r, err := c.shown(settings, inside)
			if err != nil {
				return nil, err
			}
			return c.planSVG(ctx, r)
		},
		Edges: func(_ context.Context, settings []config.Assignment) ([]ui.Edge, error) {
			r, err := c.shown(settings, inside)
			if err != nil {
				return nil, err
			}
			return c.edges(r)
		},
	}
	if len(f.addresses) > 0 {
		client, err := f.client()
		if err != nil {
			return err
		}
		o.Cluster = func(ctx context.Context) (ui.Cluster, error) { return clusterOf(ctx, client) }
	}
	site, err := ui.New(folders, o)
	if err != nil {
		return err
	}
	defer site.Close()
	l, token, err := f.listen()
	if err != nil {
		return err
	}
	c.started = true
	ctx, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { site.Watch(ctx, every) })
	defer watching.Wait()
	defer stop()
	defer context.AfterFunc(ctx, site.End)()
	address := "http://" + l.Addr().String() + "/"
	if token != "" {
		address += "?token=" + token
	}
	fmt.Fprintf(c.out, "runs at %s\n", address)
	return web.Serve(ctx, l, web.Guard(token, site.Handler()), 0, time.Second)
}

// graphSVG draws the graph of an algorithm's loop, as this program carries it.
func (c *command) graphSVG(_ context.Context, algorithm string) ([]byte, error) {
	g := c.builtin(algorithm)
	if g == nil {
		return nil, fmt.Errorf("this program does not carry the graph of %s: weft graph %s --format svg draws it from the source", algorithm, algorithm)
	}
	var b bytes.Buffer
	err := graph.Overview(&b, g)
	return b.Bytes(), err
}

// shown resolves a run that the page shows, for its plan. To open a page must not read or run what
// is elsewhere, so the run may name files below the folders that are shown, and no programs.
func (c *command) shown(settings []config.Assignment, folders []string) (*request.Request, error) {
	steps := config.Assignment{Key: "steps", Value: fmt.Sprint(endless), Source: "plan"}
	r, err := c.set.Resolve(request.Layers{File: settings, Flags: []config.Assignment{steps}})
	if err != nil {
		return nil, err
	}
	r.From = "" // a plan needs no weights
	if err := r.Confine(request.Confinement{Data: folders}); err != nil {
		return nil, errors.New("the run names a program, or a file outside of the folders shown, which the page does not touch: weft plan --config shows its plan")
	}
	return r, nil
}

// planSVG plans a run and draws the plan.
func (c *command) planSVG(ctx context.Context, r *request.Request) ([]byte, error) {
	s, err := c.sheetOf(ctx, r)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = sheet.SVG(&b, s)
	return b.Bytes(), err
}

// edges returns the edges of the plan of a run.
func (c *command) edges(r *request.Request) (out []ui.Edge, err error) {
	job, err := r.Job()
	if err != nil {
		return nil, err
	}
	job.EvalEpisodes, job.Wrap = 0, job.Wrap.Silent()
	s, err := runner.Prepare(job)
	if err != nil {
		return nil, err
	}
	all := s.Edges()
	for i, name := range replicas.EdgeNames(all) {
		out = append(out, ui.Edge{Name: name, From: all[i].From, To: all[i].To})
	}
	return out, s.Close()
}

// clusterOf returns how a cluster stands.
func clusterOf(ctx context.Context, client *protocol.Client) (ui.Cluster, error) {
	s, err := client.Status(ctx, "")
	if err != nil {
		return ui.Cluster{}, err
	}
	out := ui.Cluster{Coordinator: s.Coordinator, LeftOut: s.LeftOut, Workers: []ui.Worker{}, Runs: []ui.ClusterRun{}}
	for _, w := range s.Workers {
		state := "idle"
		switch {
		case w.Silent:
			state = "silent"
		case w.Draining:
			state = "leaving"
		case w.Run != "":
			state = "working"
		}
		out.Workers = append(out.Workers, ui.Worker{Name: w.Name, Host: w.Host, Cores: w.Cores, Memory: w.Memory, Devices: w.Devices, Run: w.Run, State: state})
	}
	for _, r := range s.Runs {
		x := ui.ClusterRun{
			Name: r.Name, Phase: string(r.Phase), Why: r.Why, Fault: r.Fault, Epoch: r.Epoch, Steps: r.Progress.Steps, Speed: r.Progress.StepsPerSecond,
			Slowest: r.Progress.Slowest, History: r.History, Restarts: r.Restarts, Workers: []string{},
		}
		if r.Last != nil {
			x.Saved = r.Last.Step
		}
		for _, m := range r.Members {
			x.Workers = append(x.Workers, m.Name)
		}
		out.Runs = append(out.Runs, x)
	}
	return out, nil
}

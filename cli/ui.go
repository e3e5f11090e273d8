package cli

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/draw/graph"
	"github.com/weft-rl/weft/internal/draw/sheet"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/ui"
	"github.com/weft-rl/weft/internal/web"
)

// defaultUI is where the page is, unless it is said.
const defaultUI = "127.0.0.1:7000"

func (c *command) ui() *cobra.Command {
	var f listenFlags
	every := 2 * time.Second
	cmd := &cobra.Command{
		Use:   "ui [FOLDER...]",
		Short: "Show runs in a web browser",
		Long: "Ui serves a web page that shows the runs of some folders, by default of runs: as a table that sorts and filters\n" +
			"by setting, with their learning curves, what differs between their settings, and the graph, plan, log and films\n" +
			"of each. Runs under way are followed. The page is part of this program and loads nothing from elsewhere.",
		Example: "  weft ui\n  weft ui runs /data/experiments\n  weft ui --listen 0.0.0.0:7000",
		RunE:    func(cmd *cobra.Command, args []string) error { return c.runUI(cmd.Context(), args, f, every) },
	}
	f.flags(cmd, defaultUI)
	cmd.Flags().DurationVar(&every, "every", every, "`time` between looks for runs and new lines of their records")
	return cmd
}

func (c *command) runUI(ctx context.Context, folders []string, f listenFlags, every time.Duration) error {
	if every <= 0 {
		return fmt.Errorf("--every: %v is not a time", every)
	}
	if len(folders) == 0 {
		folders = []string{"runs"}
	}
	site, err := ui.New(folders, ui.Options{Graph: c.graphSVG, Plan: c.planSVG})
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

// planSVG plans a run and draws the plan.
func (c *command) planSVG(ctx context.Context, settings []config.Assignment) ([]byte, error) {
	s, err := c.planned(ctx, request.Layers{File: settings}, "", nil)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = sheet.SVG(&b, s)
	return b.Bytes(), err
}

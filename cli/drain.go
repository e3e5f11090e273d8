package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/protocol"
)

func (c *command) drain() *cobra.Command {
	f := &clientFlags{}
	cmd := &cobra.Command{
		Use:   "drain WORKER...",
		Short: "Make workers leave a cluster without losing work",
		Long: "Drain has workers leave, and waits until they have. A run that has parts on them is saved at its next consistent\n" +
			"point and goes on from there on the other workers: no step is done twice, and a synchronous run keeps its bits.\n" +
			"A worker whose run does not come to such a point within its --drain-timeout leaves all the same; then the run goes\n" +
			"on from its last checkpoint. Ctrl-C ends the wait, and not what was asked for.",
		Example: "  weft drain gpu2\n  weft drain gpu2 gpu3 --cluster 10.0.0.1:7700 --certs certs",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("%s takes the names of workers (weft status shows them)", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := f.client()
			if err != nil {
				return err
			}
			c.started = true
			return c.runDrain(cmd.Context(), client, args)
		},
	}
	f.flags(cmd)
	return cmd
}

// runDrain drains workers, all at once, and waits until they have left.
func (c *command) runDrain(ctx context.Context, client *protocol.Client, workers []string) error {
	before, err := client.Status(ctx, "")
	if err != nil {
		return err
	}
	if err := client.Drain(ctx, workers...); err != nil {
		return err
	}
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	for left := workers; ; {
		s, err := client.Status(ctx, "")
		if err != nil {
			return err
		}
		left = slices.DeleteFunc(slices.Clone(left), func(name string) bool {
			gone := instance(s, name) == "" || instance(s, name) != instance(before, name)
			if gone {
				fmt.Fprintf(c.out, "worker %s has left\n", name)
			}
			return gone
		})
		if len(left) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// instance returns the process that has a worker's name; empty if there is none.
func instance(s *protocol.Status, name string) string {
	i := slices.IndexFunc(s.Workers, func(w core.Worker) bool { return w.Name == name })
	if i < 0 {
		return ""
	}
	return s.Workers[i].Instance
}

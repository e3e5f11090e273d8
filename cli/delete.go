package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (c *command) delete() *cobra.Command {
	f := &clientFlags{}
	cmd := &cobra.Command{
		Use:   "delete RUN",
		Short: "Delete a finished run of a cluster",
		Long: "Delete has the coordinator forget a run that is over, and removes the run's folder with its record, its log\n" +
			"and the checkpoints that are in it. Checkpoints that the workers' --store has elsewhere stay there; the\n" +
			"command says where. A run that is not over is refused: weft stop ends it. Deleting cannot be undone.",
		Example: "  weft delete ppo-CartPole-v1-seed1\n  weft delete ppo-CartPole-v1-seed1 --cluster 10.0.0.1:7700 --certs certs",
		Args:    oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := f.client()
			if err != nil {
				return err
			}
			c.started = true
			left, err := client.Delete(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			fmt.Fprintf(c.out, "run %s is deleted\n", args[0])
			if left != "" {
				fmt.Fprintln(c.out, left)
			}
			return nil
		},
	}
	f.flags(cmd)
	return cmd
}

func (c *command) compact() *cobra.Command {
	f := &clientFlags{}
	cmd := &cobra.Command{
		Use:   "compact",
		Short: "Free disk space of a coordinator's embedded etcd",
		Long: "Compact has a coordinator's embedded etcd drop the history of its runs and give the disk space back. Runs go on\n" +
			"meanwhile. An existing etcd (weft coordinator --etcd) is compacted with etcdctl.",
		Example: "  weft compact\n  weft compact --cluster 10.0.0.1:7700 --certs certs",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := f.client()
			if err != nil {
				return err
			}
			c.started = true
			x, err := client.Compact(cmd.Context())
			if err == nil {
				fmt.Fprintf(c.out, "%.1f MB became %.1f MB\n", float64(x.Before)/1e6, float64(x.After)/1e6)
			}
			return err
		},
	}
	f.flags(cmd)
	return cmd
}

package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/plain"
	"github.com/weft-rl/weft/internal/run/protocol"
)

func (c *command) audit() *cobra.Command {
	f := &clientFlags{}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "audit [RUN]",
		Short: "Show the audit log of a cluster",
		Long: "Audit shows who asked the coordinator for what, when and from where, refused wishes too: of one RUN or of all, the\n" +
			"oldest first, at most 10,000. It takes the role to submit.",
		Example: "  weft audit\n  weft audit ppo-CartPole-v1-seed1 --cluster 10.0.0.1:7700 --certs certs --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := f.client()
			if err != nil {
				return err
			}
			c.started = true
			all, err := client.Audit(cmd.Context(), strings.Join(args, ""))
			if err != nil {
				return err
			}
			return showAudit(c.out, all, asJSON)
		},
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line and nothing else")
	return cmd
}

func showAudit(out io.Writer, all []protocol.Deed, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(out)
		for _, d := range all {
			if err := e.Encode(d); err != nil {
				return err
			}
		}
		return nil
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "TIME\tWHO\tFROM\tWHAT\tOF\tOUTCOME\n")
	for _, d := range all {
		outcome := "done"
		if d.Refused != "" {
			outcome = "refused: " + d.Refused
		}
		what := strings.TrimSpace(d.What + " " + d.How)
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", d.Time.Format(time.RFC3339), plain.Text(cmp.Or(d.Who, "-")), d.From, what,
			plain.Text(cmp.Or(d.Run, d.Worker, "-")), plain.Text(outcome))
	}
	return t.Flush()
}

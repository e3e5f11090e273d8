package cli

import (
	"encoding/json"
	"os"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/module"
	"github.com/weft-rl/weft/policy"
)

// groupingsOf returns how a binary that was built for an author's policies is asked what
// they do: it reads a graph and writes the groupings.
func (c *command) groupingsOf() *cobra.Command {
	return &cobra.Command{
		Use: module.GroupingsCommand, Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.set.Fit(); err != nil {
				return err
			}
			g, err := fdg.ReadJSON(os.Stdin)
			if err != nil {
				return err
			}
			return json.NewEncoder(c.out).Encode(policy.Groupings(g, c.set.AllPolicies()))
		},
	}
}

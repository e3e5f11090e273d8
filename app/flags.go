package app

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-rl/weft/internal/config"
)

// kindValue is a text flag that shows the kind of its setting in help. What is
// wrong with its value is reported with everything else, not by the flag parser
// one at a time.
type kindValue struct {
	pflag.Value
	kind string
}

func (v *kindValue) Type() string { return v.kind }

// helpSettings prints the settings of the algorithm that help was asked for.
func (c *command) helpSettings(cmd *cobra.Command) {
	for _, name := range cmd.Flags().Args() {
		if a, err := c.set.algorithm(name); err == nil {
			fmt.Fprintf(c.out, "\nSettings of %s (--set key=value):\n", a.Name)
			p := a.Config()
			if err := config.Defaults(p); err != nil {
				continue
			}
			if fields, err := config.Fields(p); err == nil {
				_ = config.Table(c.out, fields)
			}
		}
	}
}

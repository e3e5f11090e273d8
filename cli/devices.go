package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/device"
)

func (c *command) devices() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "Show what can compute here",
		Long: "Devices looks for everything that --device can name: whether it can be used on this machine by this\n" +
			"binary, and if not, what is missing.",
		Example: "  weft devices\n  weft devices --json\n  weft train ppo --device cpu",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			all := device.List()
			if asJSON {
				return encodeDevices(c.out, all)
			}
			return showDevices(c.out, all)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line and nothing else")
	return cmd
}

func encodeDevices(w io.Writer, all []device.Info) error {
	enc := json.NewEncoder(w)
	for _, d := range all {
		if err := enc.Encode(d); err != nil {
			return err
		}
	}
	return nil
}

func showDevices(w io.Writer, all []device.Info) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, d := range all {
		usable, rest := "yes", d.What
		if !d.Usable {
			usable, rest = "no", d.Why
		}
		if d.Plugin != "" {
			rest += " by " + d.Plugin
		}
		if d.Pinned {
			rest += ", transfers page-locked"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", d.Name, usable, d.Doc, rest)
	}
	return t.Flush()
}

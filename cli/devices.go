package cli

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/device"
)

func (c *command) devices() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "List the devices of this machine",
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
	var rows [][]string
	for _, d := range all {
		usable, rest := "yes", d.What
		if !d.Usable {
			usable, rest = "no", d.Why
		}
		text := d.Doc
		if rest != "" {
			text += ": " + rest
		}
		if d.Plugin != "" {
			text += " by " + d.Plugin
		}
		if d.Pinned {
			text += ", transfers page-locked"
		}
		rows = append(rows, []string{d.Name, usable, text})
	}
	return config.Columns(w, rows)
}

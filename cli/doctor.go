package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/doctor"
	"github.com/weft-rl/weft/internal/request"
)

func (c *command) doctor() *cobra.Command {
	asJSON, python := false, ""
	cmd := &cobra.Command{
		Use:   "doctor [NAME...]",
		Short: "Say what this machine has for Weft and what is missing",
		Long: "Doctor looks at this machine for what Weft needs and for what it can use: Go, Python and its packages,\n" +
			"libraries, devices, ports, disk, memory and limits. Every line says what was found and, if something is to be\n" +
			"done, what. Something missing is in the way of nothing but what needs it.\n\n" +
			"The exit code is 1 if something is wrong. With NAMEs it looks at these alone, and the exit code is 1 unless\n" +
			"all of them are there, which is for scripts.",
		Example: "  weft doctor\n  weft doctor --json\n  weft doctor mujoco gymnasium --python venv/bin/python",
		RunE: func(cmd *cobra.Command, args []string) error {
			all := c.checks(python)
			checks, unknown := doctor.Pick(all, args)
			if unknown != "" {
				return request.Unknown("check", unknown, doctor.Names(all), "weft doctor")
			}
			c.started = true
			return c.diagnose(cmd.Context(), checks, len(args) > 0, asJSON)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return doctor.Names(c.checks("")), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line and nothing else")
	cmd.Flags().StringVar(&python, "python", "", "Python `interpreter` to look at; default: that of WEFT_PYTHON, or python3")
	return cmd
}

// usualPorts are where commands listen if they are told nothing else.
var usualPorts = []doctor.Port{{Command: "weft coordinator", Address: defaultCluster}, {Command: "weft ui", Address: defaultUI}, {Command: "weft serve", Address: defaultServe}}

// checks returns what doctor looks at.
func (c *command) checks(python string) []doctor.Check {
	weft := doctor.Check{Name: "weft", Look: func(context.Context) doctor.Finding {
		return doctor.Finding{State: doctor.OK, What: thisBuild().String()}
	}}
	return slices.Concat(
		[]doctor.Check{weft, doctor.CPU(), doctor.Memory(memory()), doctor.Disk("."), doctor.Files(), doctor.Shared(), doctor.Ports(usualPorts), doctor.Go(), doctor.Films()},
		doctor.Python(python, c.set.Schemes), doctor.Libraries(c.set.Environments, python), doctor.Devices(sync.OnceValue(device.List)))
}

// diagnose runs checks and says what they found. If all are needed, what is missing is a failure.
func (c *command) diagnose(ctx context.Context, checks []doctor.Check, needed, asJSON bool) error {
	var all []doctor.Finding
	enc := json.NewEncoder(c.out)
	for _, x := range checks {
		found := doctor.Look(ctx, []doctor.Check{x})
		all = append(all, found...)
		if asJSON {
			if err := enc.Encode(found[0]); err != nil {
				return err
			}
		}
	}
	wrong, missing := doctor.Count(all, doctor.Wrong), doctor.Count(all, doctor.Missing)
	if !asJSON {
		if err := config.Columns(c.out, doctor.Rows(all)); err != nil {
			return err
		}
		if !needed {
			fmt.Fprintf(c.out, "\n%s\n", diagnosis(wrong, missing))
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if wrong > 0 || needed && missing > 0 {
		return exitStatus(exitFailed)
	}
	return nil
}

// diagnosis sums findings up.
func diagnosis(wrong, missing int) string {
	switch {
	case wrong > 0:
		return fmt.Sprintf("Mend what is wrong first: %d of these.", wrong)
	case missing > 0:
		return fmt.Sprintf("Weft works here. What needs one of the %d that are missing does not.", missing)
	}
	return "Weft works here, and nothing is missing."
}

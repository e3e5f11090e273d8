package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/request"
)

// kindValue is a text flag that shows the kind of its setting in help. What is
// wrong with its value is reported with everything else, not by the flag parser
// one at a time.
type kindValue struct {
	pflag.Value
	kind string
}

func (v *kindValue) Type() string { return v.kind }

// noSuchCommand returns the error of a command that does not exist.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, x := range cmd.Commands() {
		if x.IsAvailableCommand() {
			names = append(names, x.Name())
		}
	}
	return request.Unknown("command", args[0], names, "weft --help")
}

// noSuchFlag adds to the error of a flag that does not exist the one that was
// probably meant.
func noSuchFlag(cmd *cobra.Command, err error) error {
	name, ok := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !ok {
		return fmt.Errorf("%w (%s --help shows the flags)", err, cmd.CommandPath())
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near, ok := config.Nearest(name, names); ok {
		return fmt.Errorf("unknown flag --%s, did you mean --%s? (%s --help shows all)", name, near, cmd.CommandPath())
	}
	if c, ok := cmd.Annotations[settingsHint]; ok {
		return fmt.Errorf("unknown flag --%s (%s --help shows the flags; %s)", name, cmd.CommandPath(), c)
	}
	return fmt.Errorf("unknown flag --%s (%s --help shows all)", name, cmd.CommandPath())
}

// settingsHint annotates a command with how to set what is no flag.
const settingsHint = "settings"

// helpSettings prints the settings of the algorithm that help was asked for.
func (c *command) helpSettings(name string) error {
	a, err := c.set.Algorithm(name)
	if err != nil && request.IsPath(name) {
		err = fmt.Errorf("weft list algorithms %s shows its settings", name)
	}
	if err != nil {
		return err
	}
	fields, err := fieldsOf(a.Config())
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "\nSettings of %s (--set key=value):\n", a.Name)
	return config.Table(c.out, fields)
}

// configUsage is the help of --config.
const configUsage = "`file` of settings (YAML), as every run folder holds one; may be repeated, and a later one overrides; flags override it"

const deploymentUsage = "`file` (YAML) that says how the loop is distributed: policy, workers, placement and so on; flags override it"

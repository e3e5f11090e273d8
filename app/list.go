package app

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/rl"
)

func (c *command) list() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:       "list algorithms|envs|policies [NAME]",
		Short:     "Show what there is",
		Long:      "List shows the algorithms, environments or policies that this binary knows; with a NAME, one of them in full.",
		Example:   "  weft list algorithms\n  weft list algorithms ppo\n  weft list envs --json",
		Args:      cobra.RangeArgs(1, 2),
		ValidArgs: []string{"algorithms", "envs", "policies"},
		RunE: func(_ *cobra.Command, args []string) error {
			items, err := c.items(args)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(c.out).Encode(items)
			}
			return show(c.out, items, len(args) == 2)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array and nothing else")
	return cmd
}

// item is one thing that is listed.
type item struct {
	Name     string         `json:"name"`
	Doc      string         `json:"doc"`
	Settings []config.Field `json:"settings,omitempty"`
	Presets  []algo.Preset  `json:"presets,omitempty"`
	Spec     *envItem       `json:"spec,omitempty"`
}

type envItem struct {
	Observation string `json:"observation"`
	Action      string `json:"action"`
	Limit       int    `json:"limit"`
	Graph       bool   `json:"graph"`
	Exact       bool   `json:"exact"`
	Masked      bool   `json:"masked"`
}

func (c *command) items(args []string) (out []item, err error) {
	var all []item
	switch args[0] {
	case "algorithms":
		all, err = c.algorithms()
	case "envs":
		all, err = c.environments()
	case "policies":
		all = []item{{Name: "plain", Doc: "the loop as it stands: the reference for every other policy"}}
	default:
		return nil, unknown("list", args[0], []string{"algorithms", "envs", "policies"}, "weft list --help")
	}
	if err != nil || len(args) == 1 {
		return all, err
	}
	var names []string
	for _, x := range all {
		if x.Name == args[1] {
			return []item{x}, nil
		}
		names = append(names, x.Name)
	}
	return nil, unknown(strings.TrimSuffix(args[0], "s"), args[1], names, "weft list "+args[0])
}

func (c *command) algorithms() (out []item, err error) {
	for _, a := range c.set.Algorithms {
		fields, err := fieldsOf(a.Config())
		if err != nil {
			return nil, fmt.Errorf("algorithm %s: %w", a.Name, err)
		}
		out = append(out, item{Name: a.Name, Doc: a.Doc, Settings: fields, Presets: a.Presets})
	}
	return out, nil
}

func fieldsOf(p any) ([]config.Field, error) {
	if err := config.Defaults(p); err != nil {
		return nil, err
	}
	return config.Fields(p)
}

func (c *command) environments() (out []item, err error) {
	d, err := device.Open(device.Default)
	if err != nil {
		return nil, err
	}
	for _, e := range c.set.Environments {
		x := item{Name: e.ID, Doc: e.Doc}
		var options any
		if e.Options != nil {
			options = e.Options()
			if x.Settings, err = fieldsOf(options); err != nil {
				return nil, fmt.Errorf("environment %s: %w", e.ID, err)
			}
		}
		b, err := env.Open(rl.NewScope(d, 0), e, 1, options)
		if err != nil {
			return nil, err
		}
		s := b.Spec()
		x.Spec = &envItem{s.Obs.String(), s.Action.String(), s.Limit, s.Graph, s.Exact, s.Masked}
		out = append(out, x)
	}
	return out, nil
}

func show(w io.Writer, items []item, full bool) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, x := range items {
		if x.Spec != nil {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", x.Name, x.Spec.Observation, x.Spec.Action, x.Doc)
		} else {
			fmt.Fprintf(t, "%s\t%s\n", x.Name, x.Doc)
		}
	}
	if err := t.Flush(); err != nil || !full {
		return err
	}
	return detail(w, items[0])
}

func detail(w io.Writer, x item) error {
	if len(x.Settings) > 0 {
		fmt.Fprintln(w, "\nSettings:")
		if err := config.Table(w, x.Settings); err != nil {
			return err
		}
	}
	if len(x.Presets) > 0 {
		fmt.Fprintln(w, "\nPresets:")
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, p := range x.Presets {
			fmt.Fprintf(t, "  %s\t%s\t%d steps\t%s\n", p.Name, p.Env, p.Steps, p.Doc)
			if len(p.Set) > 0 {
				fmt.Fprintf(t, "  \t\t\t%s\n", strings.Join(p.Set, " "))
			}
		}
		return t.Flush()
	}
	return nil
}

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/request"
)

func (c *command) config() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show, compare and describe settings of runs",
		Long: "Config shows the settings that a run would have and where each comes from, compares those of two runs or\n" +
			"files, and describes run files for editors.\n\n" +
			"Settings come from these places, and a later one overrides: the defaults; the preset; the files of --config in\n" +
			"their order, each behind the files that its key extends names; --deployment; flags; --set.",
		Example: "  weft config show ppo --env Pendulum-v1\n  weft config diff runs/a runs/b\n  weft config schema > weft.schema.json",
		Args:    noSuchCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.configShow(), c.configDiff(), c.configSchema())
	return cmd
}

func (c *command) configShow() *cobra.Command {
	f := &trainFlags{values: map[string]*string{}}
	changed := false
	cmd := &cobra.Command{
		Use:   "show [ALGO|RUN]",
		Short: "Show the settings a run would have, and where each comes from",
		Long: "Show takes what weft train takes and prints every setting with its value and its source: the default, the\n" +
			"preset, the line of a file, or a flag. With the folder of a run it shows that run's. Nothing is started.",
		Example: "  weft config show ppo\n  weft config show ppo --env Pendulum-v1 --set gamma=.95 --changed\n" +
			"  weft config show --config base.yaml --config large.yaml\n  weft config show runs/ppo-CartPole-v1-seed1 --json",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := f.layersOf(cmd, args)
			if paths := c.foreign(l); len(paths) > 0 && err == nil {
				return c.runBuilt(cmd.Context(), paths, "")
			}
			all, wrong := c.origins(l)
			if err := errors.Join(err, wrong); err != nil {
				return err
			}
			if changed {
				all = slices.DeleteFunc(all, func(x request.Setting) bool { return !x.Changed() })
			}
			return c.showSettings(all, f.json)
		},
		Annotations: map[string]string{settingsHint: "a setting of the algorithm is given with --set key=value"},
	}
	c.settingFlags(cmd, f, nil)
	f.layerFlags(cmd)
	cmd.Flags().BoolVar(&changed, "changed", false, "show only settings that are not at their default")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object a line and nothing else")
	return cmd
}

// layersOf returns what the command line asks for, where the argument may be the folder of a run.
func (f *trainFlags) layersOf(cmd *cobra.Command, args []string) (request.Layers, error) {
	if len(args) == 0 || !request.Taken(args[0]) {
		return f.layers(cmd, args)
	}
	f.files = append([]string{filepath.Join(args[0], request.ConfigFile)}, f.files...)
	return f.layers(cmd, nil)
}

// origins resolves layers and returns the settings with their sources.
func (c *command) origins(l request.Layers) ([]request.Setting, error) {
	r, err := c.set.Resolve(l)
	if err != nil {
		return nil, err
	}
	return r.Origins(l)
}

// showSettings prints settings and where they come from.
func (c *command) showSettings(all []request.Setting, asJSON bool) error {
	rows := [][]string{{"SETTING", "VALUE", "FROM"}}
	enc := json.NewEncoder(c.out)
	for _, x := range all {
		if !asJSON {
			rows = append(rows, []string{x.Key, visible(x.Value), x.Source})
		} else if err := enc.Encode(x); err != nil {
			return err
		}
	}
	if asJSON {
		return nil
	}
	return config.ColumnsWithin(c.out, rows, 30, 24)
}

// visible returns a value that can be seen.
func visible(value string) string {
	if value == "" {
		return `""`
	}
	return value
}

func (c *command) configDiff() *cobra.Command {
	asJSON, code := false, false
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Show in which settings two runs or files differ",
		Long: "Diff compares the settings of two runs, by their folders, or of two run files, with the defaults and presets\n" +
			"that they leave open filled in.",
		Example: "  weft config diff runs/ppo-CartPole-v1-seed1 runs/ppo-CartPole-v1-seed2\n  weft config diff base.yaml runs/best --json",
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			a, err := c.settingsOf(args[0])
			b, wrong := c.settingsOf(args[1])
			if err := errors.Join(err, wrong); err != nil {
				return err
			}
			c.started = true
			n, err := c.showDifferences(args, a, b, asJSON)
			if err == nil && n > 0 && code {
				err = exitStatus(exitFailed)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line and nothing else")
	cmd.Flags().BoolVar(&code, "exit-code", false, "end with exit code 1 if they differ")
	return cmd
}

// settingsOf returns the settings of a run's folder or of a file, by key. Of a run that needs an
// author's packages they are those that its file has.
func (c *command) settingsOf(path string) (map[string]string, error) {
	var l request.Layers
	var err error
	info, there := os.Stat(path)
	if there == nil && !info.IsDir() {
		l.File, err = request.ReadFiles([]string{path})
	} else {
		l.File, err = request.RunConfig(path)
	}
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	if len(c.foreign(l)) > 0 {
		for _, a := range l.File {
			out[a.Key] = a.Value
		}
		return out, nil
	}
	all, err := c.origins(l)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, x := range all {
		out[x.Key] = x.Value
	}
	return out, nil
}

// difference is a setting in which two runs differ; nil is that one has no such setting.
type difference struct {
	Key string  `json:"key"`
	A   *string `json:"a"`
	B   *string `json:"b"`
}

// differences compares settings by key, in the order of their names.
func differences(a, b map[string]string) (out []difference) {
	keys := slices.Sorted(maps.Keys(a))
	for key := range b {
		if _, both := a[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	get := func(m map[string]string, key string) *string {
		if v, ok := m[key]; ok {
			return &v
		}
		return nil
	}
	for _, key := range keys {
		x, y := get(a, key), get(b, key)
		if x == nil || y == nil || *x != *y {
			out = append(out, difference{key, x, y})
		}
	}
	return out
}

// showDifferences prints in which settings two runs differ, and returns in how many.
func (c *command) showDifferences(names []string, a, b map[string]string, asJSON bool) (int, error) {
	all := differences(a, b)
	if asJSON {
		enc := json.NewEncoder(c.out)
		for _, d := range all {
			if err := enc.Encode(d); err != nil {
				return 0, err
			}
		}
		return len(all), nil
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(c.out, "no setting differs")
		return 0, err
	}
	cell := func(v *string) string {
		if v == nil {
			return "-"
		}
		return visible(*v)
	}
	rows := [][]string{{"SETTING", strings.TrimSuffix(names[0], "/"), strings.TrimSuffix(names[1], "/")}}
	for _, d := range all {
		rows = append(rows, []string{d.Key, cell(d.A), cell(d.B)})
	}
	return len(all), config.ColumnsWithin(c.out, rows, 28, 24)
}

func (c *command) configSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Write the JSON Schema of run files, for editors",
		Long: "Schema writes the JSON Schema (draft 2020-12) of the files that --config reads, with the settings of all\n" +
			"algorithms of this program. An editor with a YAML language server completes and checks a file by it that begins\n" +
			"with the line: # yaml-language-server: $schema=weft.schema.json",
		Example: "  weft config schema > weft.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			schema, err := c.set.JSONSchema()
			if err != nil {
				return err
			}
			enc := json.NewEncoder(c.out)
			enc.SetIndent("", "  ")
			enc.SetEscapeHTML(false)
			return enc.Encode(schema)
		},
	}
}

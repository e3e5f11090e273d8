package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/wrap"
	"github.com/weft-rl/weft/internal/dataset"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/rl"
)

func (c *command) data() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "Describe, check and make data sets",
		Long: "Data describes, checks and makes data sets, which algorithms learn from with --data. A data set is a\n" +
			"Parquet file, which pandas, polars and DuckDB open as it is. weft record and weft train --record make one\n" +
			"of a run.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := noSuchCommand(cmd, args); err != nil {
				return err
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(c.dataInfo(), c.dataShow(), c.dataCheck(), c.dataMerge(), c.dataSplit(), c.dataImport(), c.dataExport())
	return cmd
}

// oneSet takes the name of a data set.
func oneSet(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes one data set, not %d", cmd.CommandPath(), len(args))
	}
	return nil
}

func (c *command) dataInfo() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "info SET", Short: "Describe a data set", Args: oneSet,
		Long:    "Info describes a data set by what is in its metadata, without reading its rows.",
		Example: "  weft data info expert.parquet\n  weft data info expert.parquet --json",
		RunE: func(_ *cobra.Command, args []string) error {
			return c.withSet(args[0], func(s data.Source) error {
				if asJSON {
					return json.NewEncoder(c.out).Encode(s.Meta())
				}
				c.describe(args[0], s.Meta())
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the metadata as one JSON object")
	return cmd
}

// withSet opens a data set, and closes it again.
func (c *command) withSet(name string, do func(data.Source) error) error {
	s, err := data.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.Close())
}

// describe prints a set's description.
func (c *command) describe(name string, m data.Meta) {
	line := func(what, format string, args ...any) {
		fmt.Fprintf(c.out, "%-13s %s\n", what, fmt.Sprintf(format, args...))
	}
	line("data set", "%s", name)
	if m.Env != "" {
		line("environment", "%s", m.Env)
	}
	line("episodes", "%d of %s steps in all, the longest of %d", m.Episodes, metrics.Count(m.Steps), m.Longest)
	line("returns", "%s", spread(m.Returns))
	if b := m.Bounds; b != nil {
		line("score", "%.1f, where a random policy has 0 (return %g) and an expert 100 (%g)", b.Score(m.Returns.Mean), b.Random, b.Expert)
	}
	line("observations", "%s", m.Obs)
	line("actions", "%s", m.Action)
	for _, x := range m.Extra {
		line("extra column", "%s %s", x.Name, x.Shape)
	}
	for _, k := range slices.Sorted(maps.Keys(m.About)) {
		line(k, "%s", m.About[k])
	}
	line("checksum", "%s", m.Checksum)
}

func (c *command) dataShow() *cobra.Command {
	return &cobra.Command{
		Use: "show SET", Short: "Draw histograms of returns and lengths", Args: oneSet,
		Long:    "Show draws histograms of the returns and the lengths of a data set's episodes.",
		Example: "  weft data show expert.parquet",
		RunE: func(_ *cobra.Command, args []string) error {
			return c.withSet(args[0], func(s data.Source) error {
				returns, lengths, err := dataset.Histograms(s, 10)
				if err != nil {
					return fmt.Errorf("data set %s: %w", args[0], err)
				}
				c.histogram("return", returns)
				c.histogram("length", lengths)
				return nil
			})
		},
	}
}

// histogram draws counts as bars.
func (c *command) histogram(what string, h dataset.Histogram) {
	fmt.Fprintf(c.out, "%s\n", what)
	most, width := slices.Max(h.Counts), (h.Max-h.Min)/float64(len(h.Counts))
	for i, n := range h.Counts {
		bar := strings.Repeat("#", (n*50+most-1)/most)
		fmt.Fprintf(c.out, "%12.1f %6d %s\n", h.Min+float64(i)*width, n, bar)
	}
}

func (c *command) dataCheck() *cobra.Command {
	return &cobra.Command{
		Use: "check SET...", Short: "Read all of data sets, and say what is wrong", Args: cobra.MinimumNArgs(1),
		Long: "Check reads every row of data sets: numbers are finite and in their spaces, episodes end once, and the\n" +
			"checksum is that of the metadata. It exits with 1 if any is wrong.",
		Example: "  weft data check expert.parquet",
		RunE: func(_ *cobra.Command, args []string) error {
			c.works()
			var errs []error
			for _, name := range args {
				m, err := dataset.Check(name)
				if err != nil {
					errs = append(errs, err)
					continue
				}
				fmt.Fprintf(c.out, "%s: %d episodes, %s steps, checksum %.12s: good\n", name, m.Episodes, metrics.Count(m.Steps), m.Checksum)
			}
			return errors.Join(errs...)
		},
	}
}

func (c *command) dataMerge() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "merge SET SET...", Short: "Make one data set of several", Args: cobra.MinimumNArgs(2),
		Long:    "Merge writes the episodes of several data sets into one, in their order. Their spaces must be the same.",
		Example: "  weft data merge medium.parquet expert.parquet --out medium-expert.parquet",
		RunE: func(_ *cobra.Command, args []string) error {
			if out == "" {
				return errors.New("--out is needed: it names the file of the data set")
			}
			m, err := dataset.Merge(out, args...)
			return c.made(out, m, err)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`file` of the data set")
	return cmd
}

// made says what a data set that was made is.
func (c *command) made(name string, m data.Meta, err error) error {
	if err == nil {
		fmt.Fprintf(c.out, "%s: %d episodes, %s steps, return %s\n", name, m.Episodes, metrics.Count(m.Steps), spread(m.Returns))
	}
	return err
}

func (c *command) dataSplit() *cobra.Command {
	var first, second string
	var share float64
	var seed uint64
	cmd := &cobra.Command{
		Use: "split SET", Short: "Make two data sets of one", Args: oneSet,
		Long:    "Split writes a share of a data set's episodes into one file and the others into another, chosen at random.",
		Example: "  weft data split expert.parquet --share 0.9 --out train.parquet --rest test.parquet",
		RunE: func(_ *cobra.Command, args []string) error {
			if first == "" || second == "" {
				return errors.New("--out and --rest are needed: they name the files of the two data sets")
			}
			a, b, err := dataset.Split(args[0], first, second, share, seed)
			if err != nil {
				return err
			}
			return errors.Join(c.made(first, a, nil), c.made(second, b, nil))
		},
	}
	cmd.Flags().StringVar(&first, "out", "", "`file` of the share")
	cmd.Flags().StringVar(&second, "rest", "", "`file` of the other episodes")
	cmd.Flags().Float64Var(&share, "share", 0.9, "share of the episodes, between 0 and 1")
	cmd.Flags().Uint64Var(&seed, "seed", 1, "seed of the choice")
	return cmd
}

func (c *command) dataImport() *cobra.Command {
	var out, id, python string
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Make a data set of another program's file", Args: oneSet,
		Long: "Import makes a data set of a NumPy archive (.npz) with D4RL's names (observations, next_observations,\n" +
			"actions, rewards, terminals, timeouts), of a CSV file with the columns episode, obs_0, ..., action_0, ...,\n" +
			"reward, terminated, truncated and a row with an empty reward for the final observation of each episode, of\n" +
			"episodes that --wrap record=FILE wrote (.jsonl), or, through Python, of an HDF5 file with D4RL's names or\n" +
			"a data set of Minari. With --env the numbers must lie in that environment's spaces; without, spaces are\n" +
			"Minari's, or found from the numbers.",
		Example: "  weft data import steps.csv --out steps.parquet\n" +
			"  weft data import hopper.npz --env Hopper-v5 --out hopper.parquet\n" +
			"  weft data import minari:mujoco/hopper/medium-v0 --python .venv/bin/python --out hopper.parquet",
		RunE: func(_ *cobra.Command, args []string) error {
			if out == "" {
				return errors.New("--out is needed: it names the file of the data set")
			}
			from := dataset.Source{Path: args[0], Python: python}
			if id != "" {
				spec, err := c.specNamed(id, python)
				if err != nil {
					return err
				}
				from.Env, from.Obs, from.Action = spec.ID, spec.Obs, spec.Action
			}
			m, err := dataset.Import(out, from)
			return c.made(out, m, err)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`file` of the data set")
	cmd.Flags().StringVar(&id, "env", "", "environment that the episodes are of, by `id`")
	cmd.Flags().StringVar(&python, "python", "", "Python `interpreter` that has h5py or minari")
	return cmd
}

func (c *command) dataExport() *cobra.Command {
	var out, python string
	cmd := &cobra.Command{
		Use: "export SET", Short: "Write a data set for other programs", Args: oneSet,
		Long: "Export writes a data set as a NumPy archive (.npz) with D4RL's names (observations, next_observations,\n" +
			"actions, rewards, terminals, timeouts), or, through Python, as a data set of Minari. weft data import makes\n" +
			"the same data set of either again, with the same checksum. pandas, polars and DuckDB open a data set as it is.",
		Example: "  weft data export expert.parquet --out expert.npz\n" +
			"  weft data export expert.parquet --python .venv/bin/python --out minari:pendulum/expert-v0",
		RunE: func(_ *cobra.Command, args []string) error {
			if out == "" {
				return errors.New("--out is needed: it names an archive, FILE.npz, or a data set of Minari, minari:NAME")
			}
			m, err := dataset.Export(args[0], out, python)
			return c.made(out, m, err)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`file` that ends in .npz, or minari:NAME")
	cmd.Flags().StringVar(&python, "python", "", "Python `interpreter` that has minari")
	return cmd
}

// specNamed returns the spec of the environment of an ID.
func (c *command) specNamed(id, python string) (spec env.Spec, err error) {
	name, set, err := request.Options(id)
	if err != nil {
		return spec, err
	}
	r := &request.Request{}
	r.Python = python
	if r.Found.Env, err = c.set.Environment(name); err == nil {
		err = r.SetEnv(set)
	}
	if err != nil {
		return spec, fmt.Errorf("--env: %w", err)
	}
	return specOf(r)
}

// specOf opens the environment of a request once, to see its spaces.
func specOf(r *request.Request) (spec env.Spec, err error) {
	d, err := device.Open(device.Default)
	if err != nil {
		return spec, err
	}
	s := rl.NewScope(d, 1)
	b, err := env.Open(s, wrap.Entry(r.Found.Env, r.Found.Wrap.Silent(), ""), 1, r.Found.EnvOptions)
	if err == nil {
		spec = b.Spec()
	}
	return spec, errors.Join(err, s.Close())
}

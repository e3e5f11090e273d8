package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/cost"
	"github.com/weft-rl/weft/plan"
)

// simulateSettings are the flags of train that decide about what is simulated.
var simulateSettings = []string{"env", "wrap", "preset", "device", "no-fuse", "seed", "python"}

func (c *command) simulate() *cobra.Command {
	f := &trainFlags{values: map[string]*string{}}
	cluster, svg := "", ""
	cmd := &cobra.Command{
		Use:   "simulate ALGO --cluster FILE",
		Short: "Predict runs on machines that are not here",
		Long: "Simulate records the programs of all policies in this process for a few iterations, and predicts by simulation\n" +
			"what they would do on more and more workers of a cluster: the time of an iteration, steps a second, use of the\n" +
			"machines, price of a million steps, and, where machines fail, the part of the time that a run gets on and the\n" +
			"interval between checkpoints that makes it largest. Asynchronous plans and gpu-only are not predicted.\n" +
			"Clusters that come with Weft: " + strings.Join(cost.Examples(), ", ") + ".",
		Example: "  weft simulate ppo --set envs=64 --cluster laptop\n" +
			"  weft simulate ppo --set envs=1024 --cluster gpus --svg gpus.svg\n" +
			"  weft simulate a2c --set envs=512 --cluster mine.yaml --json",
		Args:        cobra.MaximumNArgs(1),
		Annotations: map[string]string{settingsHint: "a setting of the algorithm is given with --set key=value"},
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.runSimulate(cmd, f, args, cluster, svg)
		},
	}
	c.settingFlags(cmd, f, simulateSettings)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.set, "set", nil, "a setting of the algorithm, `key=value`; may be repeated")
	flags.StringArrayVar(&f.files, "config", nil, configUsage)
	flags.StringVar(&cluster, "cluster", "", "`file` (YAML) that describes machines, network and prices, or the name of a cluster that comes with Weft")
	flags.StringVar(&svg, "svg", "", "`file` to draw the curves into")
	flags.BoolVar(&f.json, "json", false, "write the points as JSON")
	return cmd
}

func (c *command) runSimulate(cmd *cobra.Command, f *trainFlags, args []string, cluster, svg string) error {
	l, malformed := f.layers(cmd, args)
	if paths := c.foreign(l); len(paths) > 0 {
		if malformed != nil {
			return malformed
		}
		return c.runBuilt(cmd.Context(), paths, auto)
	}
	l = with(l, config.Assignment{Key: "steps", Value: fmt.Sprint(endless)}, config.Assignment{Key: "policy", Value: "plain"}, config.Assignment{Key: "workers", Value: "1"})
	r, wrong := c.set.Resolve(l)
	on, missing := describe(cluster)
	if err := errors.Join(malformed, wrong, missing); err != nil {
		return err
	}
	job, err := r.Job()
	if err != nil {
		return err
	}
	job.EvalEpisodes = 0
	problem, err := r.Facts(job)
	if err != nil {
		return err
	}
	c.started = true
	s, err := cost.NewSweep(cmd.Context(), cost.Question{Job: job, On: problem, Policies: c.set.AllPolicies(), Devices: []string{r.Device, plan.CPU}}, on)
	if err != nil {
		return err
	}
	if svg != "" {
		file, err := os.Create(svg)
		if err != nil {
			return err
		}
		if err = errors.Join(s.WriteSVG(file, fmt.Sprintf("%s on %s", r.Title(), cluster)), file.Close()); err != nil {
			return err
		}
	}
	if f.json {
		return json.NewEncoder(c.out).Encode(s)
	}
	return s.Print(c.out)
}

// describe reads the cluster that was named.
func describe(name string) (*cost.Cluster, error) {
	if name == "" {
		return nil, fmt.Errorf("--cluster is needed: a file, or one of %s", strings.Join(cost.Examples(), ", "))
	}
	return cost.ReadCluster(name)
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/export"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/run/durable"
	"github.com/weft-rl/weft/internal/run/runner"
)

// exportFlags are the flags of export.
type exportFlags struct {
	weightFlags
	format, out string
	set         changes
}

// exportFormats are the formats with the ends of their files' names.
var exportFormats = []string{"onnx", "safetensors"}

func (c *command) export() *cobra.Command {
	var f exportFlags
	set := &trainFlags{values: map[string]*string{}}
	cmd := &cobra.Command{
		Use:   "export RUN",
		Short: "Write a run's policy for other programs",
		Long: "Export writes the greedy policy of a run into a file. An ONNX model has all of it inside: the normaliser of\n" +
			"observations, the network and the bounds of actions; memory of a recurrent policy is an input and an output.\n" +
			"It takes any number of rows. Format safetensors writes the weights, and beside them the architecture as JSON.",
		Example: "  weft export runs/ppo-CartPole-v1-seed1\n" +
			"  weft export runs/ppo-CartPole-v1-seed1 --newest --out policy.onnx\n" +
			"  weft export runs/ppo-CartPole-v1-seed1 --format safetensors",
		Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.runExport(cmd.Context(), args[0], set.changed(cmd), f)
		},
	}
	cmd.Flags().StringVar(&f.format, "format", "onnx", "`format` of the file: "+strings.Join(exportFormats, " or "))
	cmd.Flags().StringVar(&f.out, "out", "", "`file` to write; default: the run's name with the format's ending, in this folder")
	f.weightFlags.flags(cmd, "export")
	f.set.flag(cmd)
	c.settingFlags(cmd, set, []string{"python"})
	return cmd
}

func (c *command) runExport(ctx context.Context, dir string, flags []config.Assignment, f exportFlags) error {
	if !slices.Contains(exportFormats, f.format) {
		return request.Unknown("--format", f.format, exportFormats, "weft export --help")
	}
	if err := errors.Join(f.check(), checkFile("--out", f.out)); err != nil {
		return err
	}
	r, job, err := c.savedJob(ctx, dir, append(flags, onCPU), f.set)
	if r == nil || err != nil {
		return err
	}
	c.started = true
	w := c.watcher(r, dir, false)
	job.Watch = w
	p, what, step, err := runner.LoadPlayer(ctx, job, f.which())
	if err != nil {
		return err
	}
	about := export.About{Algorithm: r.Found.Algorithm.Name, Env: r.Env, Wrappers: r.Found.Wrap.Changing(), Step: step, Weights: what}
	files, err := f.write(p, about, dir)
	if err = errors.Join(exportable(err, r, dir), p.Close()); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "wrote %s: %s\n", strings.Join(files, " and "), about)
	return nil
}

// exportable adds to the error of a policy that cannot be exported what to do. Of an agent that
// searches, the network can be.
func exportable(err error, r *request.Request, dir string) error {
	if !errors.As(err, new(export.Unwritable)) {
		return err
	}
	fields, unknown := config.Fields(r.Found.Config)
	for _, f := range fields {
		if unknown == nil && f.Key == "act_by" && f.Value == "search" {
			return fmt.Errorf("the agent acts by a search, which no exported file can hold: weft export %s --set act_by=network exports its network, and weft serve %s answers with the search (%w)", dir, dir, err)
		}
	}
	return fmt.Errorf("the policy cannot be exported; weft serve %s answers with it: %w", dir, err)
}

// onCPU has the agent of a run on the CPU, wherever it was trained.
var onCPU = config.Assignment{Key: "device", Value: "cpu", Source: "export"}

// write writes the policy and returns the names of the files.
func (f exportFlags) write(p *runner.Player, about export.About, dir string) ([]string, error) {
	name := f.out
	if name == "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		name = filepath.Base(abs) + "." + f.format
	}
	if f.format == "onnx" {
		model, err := export.ONNX(p, about)
		if err != nil {
			return nil, err
		}
		return []string{name}, durable.Replace(name, model)
	}
	file, text, err := export.Weights(p, about)
	if err != nil {
		return nil, err
	}
	beside := strings.TrimSuffix(name, filepath.Ext(name)) + ".json"
	return []string{name, beside}, errors.Join(checkpoint.Write(name, file), durable.Replace(beside, text))
}

package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/compile/analyze"
	"github.com/weft-rl/weft/internal/compile/project"
)

func (c *command) generate() *cobra.Command {
	check := false
	cmd := &cobra.Command{
		Use:   "generate PKG...",
		Short: "Generate the programs of a training loop",
		Long: "Generate reads the training loops of packages and writes, beside each, one Go program for every group of\n" +
			"fragments that a policy forms: gen_*.go, checked in with the algorithm. A policy that a loop cannot be taken\n" +
			"apart for is a note. With --check nothing is written, and the exit code is 1 if a file is not up to date.",
		Example: "  weft generate ppo\n  weft generate ./my/algo\n  weft generate --check ./...",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.runGenerate(cmd.Context(), args, check)
		},
	}
	cmd.Flags().BoolVar(&check, "check", check, "list the files that are out of date, and write nothing")
	return cmd
}

func (c *command) runGenerate(ctx context.Context, args []string, check bool) error {
	results, err := c.project(ctx, args)
	if err != nil {
		return err
	}
	failed, loops := false, 0
	for _, r := range results {
		if r.Graph == nil && len(r.Findings) == 0 {
			continue
		}
		loops++
		if r.Graph == nil {
			if err := report(c.err, []analyze.Result{{Package: r.Package, Findings: r.Findings}}, true); err != nil {
				failed = true
			}
			continue
		}
		refused(c.err, r)
		stale, err := r.Stale()
		if err != nil {
			return err
		}
		for _, name := range stale {
			file := filepath.Join(r.Dir, name)
			fmt.Fprintln(c.out, nearby(file))
			if check {
				failed = true
			} else if err := replace(file, r.Files[name]); err != nil {
				return err
			}
		}
	}
	if loops == 0 {
		return fmt.Errorf("no function in %v is marked //weft:train", args)
	}
	if failed {
		return exitStatus(exitFailed)
	}
	return nil
}

// refused says why there are no programs for some groupings.
func refused(w io.Writer, r project.Result) {
	for _, x := range r.Refused {
		for _, p := range x.Problems {
			p.Pos.Filename = nearby(p.Pos.Filename)
			fmt.Fprintf(w, "%s: note: no programs for %s: %s\n", p.Pos, x.Grouping, p.Message)
		}
	}
}

// replace writes a generated file, or removes one that is no longer generated.
func replace(file string, text []byte) error {
	if text == nil {
		return os.Remove(file)
	}
	return os.WriteFile(file, text, 0o644)
}

// project takes the loops of the packages that the arguments name apart.
func (c *command) project(ctx context.Context, args []string) (out []project.Result, err error) {
	c.started = true
	for _, a := range args {
		dir, pattern, err := c.source(a)
		if err != nil {
			c.started = false
			return nil, err
		}
		results, err := c.maker().Project(ctx, dir, pattern)
		if err != nil {
			return nil, err
		}
		out = append(out, results...)
	}
	return slices.Clip(out), nil
}

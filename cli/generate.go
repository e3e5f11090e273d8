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
	"github.com/weft-rl/weft/internal/run/durable"
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
	var files []generated
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
			files = append(files, generated{filepath.Join(r.Dir, name), r.Files[name]})
		}
	}
	if loops == 0 {
		return fmt.Errorf("no function in %v is marked //weft:train", args)
	}
	if !check {
		if err := replace(files); err != nil {
			return err
		}
	}
	for _, f := range files { // last: whoever reads this may close the pipe
		fmt.Fprintln(c.out, nearby(f.name))
	}
	if failed || check && len(files) > 0 {
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

// generated is a file to write, or without text to remove.
type generated struct {
	name string
	text []byte
}

// replace writes generated files, each in one piece, and removes those that are no longer
// generated.
func replace(files []generated) error {
	for _, f := range files {
		var err error
		if f.text == nil {
			err = os.Remove(f.name)
		} else {
			err = durable.Replace(f.name, f.text)
		}
		if err != nil {
			return err
		}
	}
	return nil
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

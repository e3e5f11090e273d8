package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/compile/analyze"
	"github.com/weft-rl/weft/internal/request"
)

func (c *command) check() *cobra.Command {
	var quiet bool
	cmd := &cobra.Command{
		Use:   "check PKG...",
		Short: "Report the statements of a training loop that Weft cannot compile",
		Long: "Check reads the training loops of packages, built-in algorithms by name or any by path, and prints what it\n" +
			"cannot read in them, or what would not mean the same when a loop is distributed, with what to write instead.\n" +
			"Notes are about loops that are accepted, and about policies that cannot take one apart. The exit code is 1 if\n" +
			"there is anything but notes.",
		Example: "  weft check ppo\n  weft check ./my/algo\n  weft check ./...",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			results, err := c.project(cmd.Context(), args)
			if err != nil {
				return err
			}
			var read []analyze.Result
			for _, r := range results {
				read = append(read, analyze.Result{Package: r.Package, Findings: r.Findings})
				if !quiet {
					refused(c.out, r)
				}
			}
			return report(c.out, read, quiet)
		},
	}
	cmd.Flags().BoolVar(&quiet, "quiet", false, "omit notes")
	return cmd
}

// report prints findings; some of them are a failure.
func report(w io.Writer, results []analyze.Result, quiet bool) error {
	bad := false
	for _, r := range results {
		for _, f := range r.Findings {
			bad = bad || !f.Note
			if f.Note && quiet {
				continue
			}
			f.Pos.Filename = nearby(f.Pos.Filename)
			fmt.Fprintln(w, f)
		}
	}
	if bad {
		return exitStatus(exitFailed)
	}
	return nil
}

// nearby returns a path as one would write it here, if that is shorter.
func nearby(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && len(rel) < len(path) {
		return rel
	}
	return path
}

// analyze reads the packages that the arguments name.
func (c *command) analyze(ctx context.Context, args []string) (out []analyze.Result, err error) {
	c.started = true
	for _, a := range args {
		dir, pattern, err := c.source(a)
		if err != nil {
			c.started = false
			return nil, err
		}
		results, err := analyze.Analyze(ctx, dir, pattern)
		if err != nil {
			return nil, err
		}
		out = append(out, results...)
	}
	return out, nil
}

// source returns where a package's source is, and what the go command calls it there.
// A folder is looked at from inside, so that it may be in a module of its own.
func (c *command) source(name string) (dir, pattern string, err error) {
	if info, err := os.Stat(name); request.IsPath(name) && err == nil && info.IsDir() {
		return name, ".", nil
	}
	if request.IsPath(name) || strings.ContainsAny(name, "./") {
		return ".", name, nil
	}
	a, err := c.set.Algorithm(name)
	if err != nil {
		return "", "", err
	}
	t := reflect.TypeOf(a.Config())
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.PkgPath() == "" {
		return "", "", fmt.Errorf("algorithm %s does not say which package it is in: give its path", name)
	}
	return ".", t.PkgPath(), nil
}

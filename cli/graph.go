package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/analyze"
	"github.com/weft-rl/weft/internal/draw/graph"
	"github.com/weft-rl/weft/internal/request"
)

// formats are how a graph can be written.
var formats = map[string]func(*fdg.Graph, io.Writer) error{
	"text":     (*fdg.Graph).Print,
	"json":     (*fdg.Graph).WriteJSON,
	"dot":      func(g *fdg.Graph, w io.Writer) error { return graph.DOT(w, g) },
	"svg":      func(g *fdg.Graph, w io.Writer) error { return graph.SVG(w, g) },
	"overview": func(g *fdg.Graph, w io.Writer) error { return graph.Overview(w, g) },
}

func (c *command) graph() *cobra.Command {
	names := append(slices.Sorted(maps.Keys(formats)), treeFormat)
	format := "text"
	cmd := &cobra.Command{
		Use:   "graph ALGO",
		Short: "Show a training loop's dataflow graph",
		Long: "Graph reads the training loop of an algorithm, built-in by name or any by the path of its package, and writes its\n" +
			"fragmented dataflow graph: operations, loops, dependences, and what crosses between fragments, how often. With\n" +
			"--format tree it writes the loop as the compiler reads it: functions read through, one operation a line.",
		Example: "  weft graph ppo\n  weft graph ./my/algo --format json\n  weft graph ppo --format dot | dot -Tpdf > ppo.pdf\n  weft graph ./my/algo --format tree",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if format == treeFormat {
				return c.writeTree(cmd.Context(), args[0])
			}
			write, ok := formats[format]
			if !ok {
				return request.Unknown("format", format, names, "weft graph --help")
			}
			results, err := c.analyze(cmd.Context(), args)
			if g := c.builtin(args[0]); err != nil && g != nil {
				return write(g, c.out)
			}
			if err != nil {
				return err
			}
			if len(results) != 1 || len(results[0].Findings) == 0 && results[0].Graph == nil {
				return fmt.Errorf("%s is not one package with a function marked //weft:train", args[0])
			}
			if results[0].Graph == nil {
				return report(c.err, results, true)
			}
			return write(results[0].Graph, c.out)
		},
	}
	cmd.Flags().StringVar(&format, "format", format, "how to write it: "+strings.Join(names, ", "))
	return cmd
}

const treeFormat = "tree"

// writeTree writes the loop of a package as the compiler reads it.
func (c *command) writeTree(ctx context.Context, name string) error {
	dir, pattern, err := c.source(name)
	if err != nil {
		return err
	}
	c.started = true
	all, err := analyze.Sources(ctx, dir, nil, pattern)
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.Source == nil {
			return report(c.err, []analyze.Result{s.Result}, true)
		}
		if _, err := io.WriteString(c.out, s.Source.Tree.Print()); err != nil {
			return err
		}
	}
	return nil
}

// builtin returns the graph that this program carries of one of its own algorithms,
// for where their source is not to be had; nil for anything else.
func (c *command) builtin(name string) *fdg.Graph {
	_, path, err := c.source(name)
	set, ok := edge.Programs(path)
	if err != nil || !ok {
		return nil
	}
	g, err := fdg.Unpack(set.Graph)
	if err != nil {
		return nil
	}
	return g
}

package cli

import (
	"context"
	endian "encoding/binary"
	"fmt"
	"math"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/draw/chart"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/league"
)

func (c *command) league() *cobra.Command {
	var svg string
	cmd := &cobra.Command{
		Use:   "league RUN",
		Short: "Show the payoff matrix of a run's league",
		Long: "League shows the frozen policies of a run in its newest checkpoint: what those of the first side earned on average\n" +
			"against those of the second, and the chance with which each side plays them.",
		Example: "  weft league runs/psro-mpe-simple_tag-v3-seed1\n" +
			"  weft league runs/psro-mpe-simple_tag-v3-seed1 --svg payoff.svg",
		Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error { return c.runLeague(cmd.Context(), args[0], svg) },
	}
	cmd.Flags().StringVar(&svg, "svg", "", "also draw the matrix into a `file`")
	return cmd
}

func (c *command) runLeague(ctx context.Context, dir, svg string) error {
	c.started = true
	f, step, skipped, err := runner.NewestOrBegin(ctx, dir, false)
	if err != nil {
		return err
	}
	for _, x := range skipped {
		fmt.Fprintf(c.err, "passed over: %v\n", x)
	}
	s, err := standings(f)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	fmt.Fprintf(c.out, "step %d: results of the first side, by its policies and the second's\n\n", step)
	writeStandings(c, s)
	if svg == "" {
		return nil
	}
	m := chart.Matrix{
		Title: fmt.Sprintf("Payoff matrix, step %d", step), Rows: "first side", Cols: "second side: number (chance)",
		RowNames: entrants(s.Sides[0]), ColNames: entrants(s.Sides[1]), Cells: s.Payoff,
	}
	if err := os.WriteFile(svg, []byte(m.SVG()), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "\nwrote %s\n", svg)
	return nil
}

// writeStandings prints a matrix with the policies and their chances beside it.
func writeStandings(c *command, s league.Standings) {
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\t%s\t\n", strings.Join(entrants(s.Sides[1]), "\t"))
	names := entrants(s.Sides[0])
	for i, row := range s.Payoff {
		fmt.Fprintf(w, "%s\t", names[i])
		for j, x := range row {
			if s.Games[i][j] == 0 {
				fmt.Fprint(w, "-\t")
				continue
			}
			fmt.Fprintf(w, "%.3f\t", x)
		}
		fmt.Fprintln(w)
	}
	w.Flush()
}

// entrants returns policies as "number (chance)".
func entrants(list []league.Entrant) (out []string) {
	for _, e := range list {
		out = append(out, fmt.Sprintf("%d (%.2f)", e.Born, math.Abs(e.Chance)))
	}
	return out
}

// standings reads a league out of a checkpoint.
func standings(f checkpoint.File) (league.Standings, error) {
	const end = " chances/games"
	for _, a := range f.Arrays {
		name, ok := strings.CutSuffix(a.Name, end)
		if !ok {
			continue
		}
		of := func(path string) []float64 { return numbers(f, name+path) }
		return league.Saved{
			Born: of("/born"), Games: of("/games"), Sums: of("/sums"),
			Mix: [2][]float64{of(" chances/mix_0"), of(" chances/mix_1")},
		}.Standings()
	}
	return league.Standings{}, fmt.Errorf("the run has no league: psro keeps one")
}

// numbers returns an array's, or nil if there is none of numbers.
func numbers(f checkpoint.File, name string) (out []float64) {
	a, _ := f.Array(name)
	for i, b := 0, a.Data; i < len(b); {
		switch a.DType {
		case "F32":
			out, i = append(out, float64(math.Float32frombits(endian.LittleEndian.Uint32(b[i:])))), i+4
		case "F64":
			out, i = append(out, math.Float64frombits(endian.LittleEndian.Uint64(b[i:]))), i+8
		case "I64":
			out, i = append(out, float64(int64(endian.LittleEndian.Uint64(b[i:])))), i+8
		default:
			return nil
		}
	}
	return out
}

package cli

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/data/parquet"
	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/study"
	"github.com/weft-rl/weft/internal/tracker"
)

// tables are the formats that metrics writes.
var tables = map[string]func(io.Writer, *study.Run) error{"csv": writeTable, "jsonl": writeLines, "parquet": writeColumns}

// metricsFlags are the flags of metrics.
type metricsFlags struct {
	format, out, python string
	trackers            []string
}

func (c *command) metrics() *cobra.Command {
	f := &metricsFlags{}
	names := slices.Sorted(maps.Keys(tables))
	cmd := &cobra.Command{
		Use:   "metrics RUN",
		Short: "Write a run's metrics as a table",
		Long: "Metrics writes the whole record of a run, with the parts of it that were closed, as one table: a row an\n" +
			"iteration or evaluation, a column a metric. A cell is empty where a row has no such value.\n\n" +
			"With --log it sends the record to experiment trackers instead, through their own Python packages; RUN may be a\n" +
			"folder of several runs then.",
		Example: "  weft metrics runs/ppo-CartPole-v1-seed1 > cartpole.csv\n  weft metrics runs/ppo-CartPole-v1-seed1 --out cartpole.parquet\n" +
			"  weft metrics runs/ppo-CartPole-v1-seed1 --format jsonl\n  weft metrics runs/ppo-CartPole-v1-seeds1-5 --log wandb",
		Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(f.trackers) > 0 {
				return c.runSend(cmd, args, f)
			}
			if kind := strings.TrimPrefix(filepath.Ext(f.out), "."); !cmd.Flags().Changed("format") && tables[kind] != nil {
				f.format = kind
			}
			return c.runMetrics(args[0], f, names)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "csv", "`format` of the table: "+strings.Join(names, ", ")+"; by default the one that the name of --out ends in")
	flags.StringVar(&f.out, "out", "", "`file` to write; default: standard output")
	flags.StringSliceVar(&f.trackers, "log", nil, "experiment `trackers` to send the record to: "+strings.Join(tracker.Names, ", "))
	flags.StringVar(&f.python, "python", "", "Python `interpreter` with the packages of --log; default: that of WEFT_PYTHON, or python3")
	return cmd
}

func (c *command) runMetrics(dir string, f *metricsFlags, names []string) error {
	write, ok := tables[f.format]
	if !ok {
		return request.Unknown("--format", f.format, names, "weft metrics --help")
	}
	if f.format == "parquet" && f.out == "" {
		return errors.New("--format: parquet is for files: name one with --out")
	}
	if err := checkFile("--out", f.out); err != nil {
		return err
	}
	dir = request.RunFolder(dir)
	if !request.Taken(dir) {
		return request.NoRun(dir)
	}
	runs, err := study.Find([]string{dir})
	if err != nil {
		return err
	}
	c.started = true
	if f.out == "" {
		return write(c.out, runs[0])
	}
	return writeTo(f.out, func(w io.Writer) error { return write(w, runs[0]) })
}

// runSend sends the records of runs to trackers.
func (c *command) runSend(cmd *cobra.Command, args []string, f *metricsFlags) error {
	errs := unknownTrackers(f.trackers, "weft metrics --help")
	for _, name := range []string{"format", "out"} {
		if cmd.Flags().Changed(name) {
			errs = append(errs, fmt.Errorf("--%s and --log: give one of them", name))
		}
	}
	runs, unread := study.Find(args)
	if err := errors.Join(append(errs, unread)...); err != nil {
		return err
	}
	c.started = true
	return c.sendRecords(cmd.Context(), runs, f.trackers, f.python)
}

// writeTo writes a file.
func writeTo(path string, write func(io.Writer) error) (err error) {
	f, err := os.Create(filepath.Clean(path))
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	return write(f)
}

// writeTable writes a run's record as CSV.
func writeTable(out io.Writer, r *study.Run) error {
	names := r.Names()
	w := csv.NewWriter(out)
	err := w.Write(append([]string{"step", "iter", "seconds"}, names...))
	for _, row := range r.Rows {
		if err != nil {
			break
		}
		err = w.Write(tableRow(row, names))
	}
	w.Flush()
	if err == nil {
		err = w.Error()
	}
	return err
}

// tableRow returns a row of the record with a cell for each metric.
func tableRow(row metrics.Row, names []string) []string {
	cells := make([]string, 3+len(names))
	cells[0], cells[1], cells[2] = strconv.FormatInt(row.Step, 10), strconv.FormatInt(row.Iter, 10), exact(row.Seconds)
	for _, v := range row.Values {
		if i, ok := slices.BinarySearch(names, v.Name); ok && !math.IsNaN(v.X) {
			cells[3+i] = exact(v.X)
		}
	}
	return cells
}

// writeLines writes a run's record as JSON lines, as its folder has them, in one piece.
func writeLines(out io.Writer, r *study.Run) error {
	w := bufio.NewWriter(out)
	var line []byte
	for _, row := range r.Rows {
		var err error
		if line, err = row.AppendJSON(line[:0]); err == nil {
			_, err = w.Write(line)
		}
		if err != nil {
			return err
		}
	}
	return w.Flush()
}

// writeColumns writes a run's record as a Parquet file.
func writeColumns(out io.Writer, r *study.Run) error {
	names := r.Names()
	steps, iters, seconds := make([]int64, len(r.Rows)), make([]int64, len(r.Rows)), make([]float64, len(r.Rows))
	columns := []parquet.Column{{Name: "step", Ints: steps}, {Name: "iter", Ints: iters}, {Name: "seconds", Floats: seconds}}
	for _, name := range names {
		column := parquet.Column{Name: name, Floats: make([]float64, len(r.Rows))}
		for i := range column.Floats {
			column.Floats[i] = math.NaN()
		}
		columns = append(columns, column)
	}
	for i, row := range r.Rows {
		steps[i], iters[i], seconds[i] = row.Step, row.Iter, row.Seconds
		for _, v := range row.Values {
			if k, ok := slices.BinarySearch(names, v.Name); ok {
				columns[3+k].Floats[i] = v.X
			}
		}
	}
	return parquet.WriteTable(out, columns)
}

package cli

import (
	"bufio"
	"encoding/csv"
	"errors"
	"io"
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
)

// tables are the formats that metrics writes.
var tables = map[string]func(io.Writer, *study.Run) error{"csv": writeTable, "jsonl": writeLines, "parquet": writeColumns}

func (c *command) metrics() *cobra.Command {
	format, out := "csv", ""
	names := []string{"csv", "jsonl", "parquet"}
	cmd := &cobra.Command{
		Use:   "metrics RUN",
		Short: "Write a run's metrics as a table",
		Long: "Metrics writes the whole record of a run, with the parts of it that were closed, as one table: a row an\n" +
			"iteration or evaluation, a column a metric. A cell is empty where a row has no such value.",
		Example: "  weft metrics runs/ppo-CartPole-v1-seed1 > cartpole.csv\n  weft metrics runs/ppo-CartPole-v1-seed1 --format jsonl --out cartpole.jsonl\n  weft metrics runs/ppo-CartPole-v1-seed1 --format parquet --out cartpole.parquet",
		Args:    oneRun,
		RunE: func(_ *cobra.Command, args []string) error {
			write, ok := tables[format]
			if !ok {
				return request.Unknown("--format", format, names, "weft metrics --help")
			}
			if format == "parquet" && out == "" {
				return errors.New("--format: parquet is for files: name one with --out")
			}
			args[0] = request.RunFolder(args[0])
			if !request.Taken(args[0]) {
				return request.NoRun(args[0])
			}
			runs, err := study.Find(args)
			if err != nil {
				return err
			}
			c.started = true
			if out == "" {
				return write(c.out, runs[0])
			}
			return writeTo(out, func(w io.Writer) error { return write(w, runs[0]) })
		},
	}
	cmd.Flags().StringVar(&format, "format", format, "`format` of the table: "+strings.Join(names, ", "))
	cmd.Flags().StringVar(&out, "out", "", "`file` to write; default: standard output")
	return cmd
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

package cli

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-rl/weft/data/parquet"
	"github.com/weft-rl/weft/internal/draw/chart"
	"github.com/weft-rl/weft/internal/stat"
)

// files writes the drawing and the tables that were asked for.
func (x *compared) files(svg, table, columns string) error {
	var errs []error
	if svg != "" {
		errs = append(errs, writeFigure(svg, x.figure()))
	}
	if table != "" || columns != "" {
		rows, err := x.table()
		if err != nil {
			return err
		}
		if table != "" {
			errs = append(errs, writeCSV(table, rows))
		}
		if columns != "" {
			errs = append(errs, writeTo(columns, func(w io.Writer) error { return parquet.WriteTable(w, asColumns(rows)) }))
		}
	}
	return errors.Join(errs...)
}

// checkFile reports why a flag's file cannot be written, before anything is computed for it. kinds
// lists the ends that its name may have, any if it is empty; a name without an end may be a device.
func checkFile(flag, path string, kinds ...string) error {
	if path == "" {
		return nil
	}
	name, kind := filepath.Base(path), filepath.Ext(path)
	if len(kinds) > 0 && kind != "" && !slices.Contains(kinds, kind) {
		return fmt.Errorf("%s: %s: it is written as %s: name a file that ends so, such as %s", flag, path, strings.Join(kinds, " or "), strings.TrimSuffix(name, kind)+kinds[0])
	}
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: there is no folder %s for %s: make it first, or name another", flag, filepath.Dir(path), name)
	} else if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}

// writeFigure draws a figure into a file.
func writeFigure(path string, f chart.Figure) error {
	var b bytes.Buffer
	if err := f.SVG(&b); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// figure returns a comparison as a figure: aggregates, the profile, improvements.
func (x *compared) figure() chart.Figure {
	f := chart.Figure{Title: x.subject()}
	var top []chart.Panel
	for _, p := range []struct {
		title string
		all   []stat.Estimate
	}{{"interquartile mean", x.IQM}, {"mean", x.Mean}, {"median of tasks", x.Median}, {"optimality gap", x.Gap}} {
		if p.all != nil && (p.title != "median of tasks" || len(x.grouping.Tasks) > 1) {
			top = append(top, chart.Intervals{Title: p.title, Rows: x.rows(p.all), Names: len(top) == 0})
		}
	}
	f.Rows = [][]chart.Panel{top}
	zero, one, half := 0., 1., .5
	profile := chart.Lines{Title: "performance profile", XLabel: "score τ", YLabel: "part of runs above τ", YLow: &zero, YHigh: &one}
	for i, g := range x.Groups {
		f.Legend = append(f.Legend, g.Name)
		s := chart.Series{X: x.Thresholds, Style: i, Steps: true}
		for _, e := range x.Profiles[i] {
			s.Y, s.Low, s.High = append(s.Y, e.Value), append(s.Low, e.Low), append(s.High, e.High)
		}
		profile.Series = append(profile.Series, s)
	}
	second := []chart.Panel{profile}
	if len(x.Pairs) > 0 {
		p := chart.Intervals{Title: "probability of improvement", Names: true, At: &half, Low: &zero, High: &one}
		for _, pair := range x.Pairs {
			e := pair.Improvement
			p.Rows = append(p.Rows, chart.Row{Name: x.Groups[pair.First].Name + " > " + x.Groups[pair.Second].Name, Value: e.Value, Low: e.Low, High: e.High, Style: pair.First})
		}
		second = append(second, p)
	}
	f.Rows = append(f.Rows, second)
	if text := x.scale(); text != "" {
		f.Notes = append(f.Notes, text)
	}
	f.Notes = append(f.Notes, fmt.Sprintf("Bars and bands: %g %% intervals, stratified bootstrap over seeds, %d samples.", 100*x.bootstrap.Level, x.bootstrap.Resamples))
	return f
}

// rows returns the estimates of groups as rows of a panel.
func (x *compared) rows(all []stat.Estimate) (out []chart.Row) {
	for i, e := range all {
		out = append(out, chart.Row{Name: x.Groups[i].Name, Value: e.Value, Low: e.Low, High: e.High, Style: i})
	}
	return out
}

// table returns the scores of all runs as they were recorded, and all statistics, under a row with
// the names of the columns.
func (x *compared) table() (rows [][]string, err error) {
	rows = [][]string{{"statistic", "group", "over", "task", "seed", "threshold", "value", "low", "high"}}
	for _, g := range x.grouping.Groups {
		for _, task := range x.grouping.Tasks {
			for _, r := range g.Tasks[task] {
				score, err := r.Score(x.metric, x.at)
				if err != nil {
					return nil, err
				}
				rows = append(rows, []string{"score", g.Name, "", task, r.Settings["seed"], "", exact(score), "", ""})
			}
		}
	}
	for _, s := range []struct {
		name string
		all  []stat.Estimate
	}{{"iqm", x.IQM}, {"mean", x.Mean}, {"median", x.Median}, {"optimality_gap", x.Gap}} {
		for i, e := range s.all {
			rows = append(rows, []string{s.name, x.Groups[i].Name, "", "", "", "", exact(e.Value), exact(e.Low), exact(e.High)})
		}
	}
	for i, g := range x.Groups {
		for j, e := range x.Profiles[i] {
			rows = append(rows, []string{"profile", g.Name, "", "", "", exact(x.Thresholds[j]), exact(e.Value), exact(e.Low), exact(e.High)})
		}
	}
	for _, p := range x.Pairs {
		e := p.Improvement
		rows = append(rows, []string{"probability_of_improvement", x.Groups[p.First].Name, x.Groups[p.Second].Name, "", "", "", exact(e.Value), exact(e.Low), exact(e.High)})
	}
	return rows, nil
}

// asColumns returns a table as columns: texts up to the seed, and then numbers, of which an empty
// one is NaN.
func asColumns(rows [][]string) (out []parquet.Column) {
	for i, name := range rows[0] {
		c := parquet.Column{Name: name}
		for _, row := range rows[1:] {
			if i <= slices.Index(rows[0], "seed") {
				c.Texts = append(c.Texts, row[i])
				continue
			}
			x, err := strconv.ParseFloat(row[i], 64)
			if err != nil {
				x = math.NaN()
			}
			c.Floats = append(c.Floats, x)
		}
		out = append(out, c)
	}
	return out
}

// writeCSV writes rows into a file.
func writeCSV(path string, rows [][]string) error {
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// exact writes a number that reads back as the same.
func exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

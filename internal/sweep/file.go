package sweep

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/weft-rl/weft/internal/config"
)

// Settings of a sweep's file stand beside those of the run and the space.
type Settings struct {
	Search string `default:"tpe" oneof:"grid random tpe" doc:"how trials are proposed: all combinations, at random, or by what earlier trials have shown"`
	Trials int    `default:"0" unit:"trials" range:"[0,)" doc:"trials in all; 0 is 20, or all combinations of a grid"`
	Seed   uint64 `default:"1" doc:"seed of the proposals"`
	Metric string `default:"eval/return" doc:"metric that trials are judged by, as weft metrics names it"`
	Goal   string `default:"max" oneof:"max min" doc:"whether large or small values of the metric are good"`
	Seeds  int    `default:"1" unit:"runs" range:"[1,)" doc:"runs of a trial, with seeds in a row; its score is their mean"`
	Window int    `default:"4" unit:"trials" range:"[1,)" doc:"how far behind the newest trial the trials are that tpe learns from: so many can be trained at once"`
	Prune  struct {
		First  int64 `default:"0" unit:"steps" range:"[0,)" doc:"steps at which trials are judged first; 0 trains all of them to their end"`
		Factor int   `default:"3" range:"[2,)" doc:"one of so many trials goes on, and rungs are so many times as far apart"`
	} `doc:"stopping trials early that fall behind"`
}

// File is a sweep as it is written down.
type File struct {
	Settings
	Run   []config.Assignment // settings of the runs
	space []config.Assignment
	rest  []config.Assignment
}

// Read reads a sweep's file.
func Read(path string) (*File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parse(data, path)
}

func parse(data []byte, path string) (*File, error) {
	all, err := config.ParseYAML(data, path)
	f := &File{}
	for _, a := range all {
		if key, ok := strings.CutPrefix(a.Key, "run."); ok {
			a.Key = key
			f.Run = append(f.Run, a)
		} else if key, ok := strings.CutPrefix(a.Key, "space."); ok {
			a.Key = key
			f.space = append(f.space, a)
		} else {
			f.rest = append(f.rest, a)
		}
	}
	err = errors.Join(err, config.Defaults(&f.Settings), config.Set(&f.Settings, f.rest))
	if len(f.space) == 0 {
		err = errors.Join(err, fmt.Errorf("%s: space is empty: name the settings to vary, as in space: {set.learning_rate: [1e-4, 1e-3]}", path))
	}
	return f, err
}

// Text returns the file with all that it says in one place.
func (f *File) Text() []byte {
	var b strings.Builder
	write := func(prefix string, all []config.Assignment) {
		for _, a := range all {
			fmt.Fprintf(&b, "%s%s: %s\n", prefix, a.Key, yamlValue(a))
		}
	}
	write("", f.rest)
	write("run.", f.Run)
	write("space.", f.space)
	return []byte(b.String())
}

// yamlValue writes a value so that it is read as the same text.
func yamlValue(a config.Assignment) string {
	if !a.List {
		return quoted(a.Value)
	}
	items, _ := config.Items(a.Value) // it was written from items
	for i, x := range items {
		items[i] = quoted(x)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// quoted returns a text between single quotes, as YAML has it.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// SetTrials changes the number of trials.
func (f *File) SetTrials(n int) {
	f.Trials = n
	for i, a := range f.rest {
		if a.Key == "trials" {
			f.rest[i].Value = fmt.Sprint(n)
			return
		}
	}
	f.rest = append(f.rest, config.Assignment{Key: "trials", Value: fmt.Sprint(n), Source: "--trials"})
}

// Dims returns the space. Kinds are those of all settings, by key.
func (f *File) Dims(kinds map[string]string) ([]Dim, error) { return parseDims(f.space, kinds) }

// Plan returns the plan of the sweep over a space, of runs with so many steps.
func (f *File) Plan(dims []Dim, steps int64) (p Plan, err error) {
	p = Plan{Trials: f.Trials, Seed: f.Settings.Seed, Window: f.Window, Factor: f.Prune.Factor, Minimum: f.Goal == "min"}
	if p.Trials == 0 {
		p.Trials = usualTrials
	}
	for r := f.Prune.First; r > 0 && r < steps; r *= int64(f.Prune.Factor) {
		p.Rungs = append(p.Rungs, r)
	}
	if f.Prune.First > 0 && len(p.Rungs) == 0 {
		err = fmt.Errorf("prune.first: %d steps are not before the %d steps of a trial's end", f.Prune.First, steps)
	}
	switch f.Search {
	case "grid":
		g, wrong := newGrid(dims)
		err = errors.Join(err, wrong)
		p.Search = g
		if n := g.Size(); f.Trials == 0 || f.Trials > n {
			p.Trials = n
		}
	case "random":
		p.Search = Random(dims)
	default:
		p.Search = TPE(dims)
	}
	return p, err
}

const usualTrials = 20

// newGrid makes choices of ranges.
func newGrid(dims []Dim) (g Grid, err error) {
	for _, d := range dims {
		if len(d.Choices) == 0 {
			if d.Points < 2 {
				err = errors.Join(err, fmt.Errorf("%s: %s: a grid needs values: list them, or give the range points: 5", d.Source, d.Key))
			}
			var values []string
			for i := range d.Points {
				values = append(values, d.At(float64(i)/float64(d.Points-1)))
			}
			d.Choices = values
		}
		g = append(g, d)
	}
	return g, err
}

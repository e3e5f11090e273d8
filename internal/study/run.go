// Package study reads the records of runs from their folders, to be compared and
// drawn: which runs there are, how they group, and how a metric went in each.
package study

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/request"
)

// Run is the record of a run.
type Run struct {
	Dir      string
	Label    string            // the name that the user gave its group; may be empty
	Settings map[string]string // settings by their keys in config.yaml, such as "env" and "set.gamma"
	Rows     []metrics.Row
}

// Task returns what the run was trained on: the environment, with its wrappers.
func (r *Run) Task() string {
	if wrap := r.Settings["wrap"]; wrap != "" {
		return r.Settings["env"] + " " + wrap
	}
	return r.Settings["env"]
}

// Algorithm returns the name of the run's algorithm, of one that is a path its last element.
func (r *Run) Algorithm() string { return filepath.Base(r.Settings["algorithm"]) }

// Steps returns the steps that the run has recorded.
func (r *Run) Steps() int64 {
	if len(r.Rows) == 0 {
		return 0
	}
	return r.Rows[len(r.Rows)-1].Step
}

// Point is a metric's value in a run.
type Point struct {
	Step    int64
	Seconds float64
	X       float64
}

// Curve returns the values of a metric, in order.
func (r *Run) Curve(metric string) (out []Point) {
	for _, row := range r.Rows {
		for _, v := range row.Values {
			if v.Name == metric {
				out = append(out, Point{row.Step, row.Seconds, v.X})
			}
		}
	}
	return out
}

// Names returns the metrics that the run has recorded, sorted.
func (r *Run) Names() []string {
	seen := map[string]bool{}
	var out []string
	for _, row := range r.Rows {
		for _, v := range row.Values {
			if !seen[v.Name] {
				seen[v.Name] = true
				out = append(out, v.Name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// Find reads the runs of some arguments, each a folder or LABEL=FOLDER. A folder
// is a run's own, or has runs somewhere below it, as one of several seeds has.
// The error names everything that cannot be read.
func Find(args []string) (runs []*Run, err error) {
	var errs []error
	seen := map[string]string{} // where a folder was found first
	for _, arg := range args {
		label, folder := split(arg)
		dirs, err := below(folder)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, dir := range dirs {
			r, err := read(dir)
			if err == nil && seen[resolved(dir)] != "" {
				err = fmt.Errorf("%s is named twice: leave it out of %s or of %s", dir, seen[resolved(dir)], arg)
			}
			if err != nil {
				errs = append(errs, err)
				continue
			}
			seen[resolved(dir)] = arg
			r.Label = label
			runs = append(runs, r)
		}
	}
	return runs, errors.Join(errs...)
}

// split takes LABEL=FOLDER apart. A folder that is there under the whole name is meant by it.
func split(arg string) (label, folder string) {
	label, folder, ok := strings.Cut(arg, "=")
	if _, err := os.Stat(arg); err == nil || !ok || label == "" {
		return "", arg
	}
	return label, folder
}

// resolved returns the path of a folder with all links followed.
func resolved(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	if path, err := filepath.EvalSymlinks(abs); err == nil {
		return path
	}
	return abs
}

// deepest is how many folders below an argument are looked at for runs.
const deepest = 4

// below returns the folders of the runs in a folder, ordered by name, seeds by number.
func below(folder string) ([]string, error) {
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no folder %s", folder)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s is a file: name the folder of a run", folder)
	}
	dirs, err := walk(folder, deepest)
	if err == nil && len(dirs) == 0 {
		err = fmt.Errorf("there is no run in %s: no folder in it has a %s", folder, request.ConfigFile)
	}
	return dirs, err
}

func walk(dir string, depth int) (out []string, err error) {
	if request.Taken(dir) {
		return []string{dir}, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil || depth == 0 {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { // seed2 before seed10
		return cmp.Or(cmp.Compare(len(stem(a.Name())), len(stem(b.Name()))), cmp.Compare(stem(a.Name()), stem(b.Name())),
			cmp.Compare(len(a.Name()), len(b.Name())), cmp.Compare(a.Name(), b.Name()))
	})
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if info, err := os.Stat(path); err != nil || !info.IsDir() { // a link to a folder is one
			continue
		}
		more, err := walk(path, depth-1)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// stem returns a name without the digits at its end.
func stem(name string) string { return strings.TrimRight(name, "0123456789") }

// metricsFile is where a run's record is.
const metricsFile = "metrics.jsonl"

// read reads the run in a folder.
func read(dir string) (*Run, error) {
	file, err := request.RunConfig(dir)
	if err != nil {
		return nil, err
	}
	r := &Run{Dir: dir, Settings: map[string]string{}}
	for _, a := range file {
		r.Settings[a.Key] = a.Value
	}
	r.Rows, err = metrics.ReadJSONL(filepath.Join(dir, metricsFile))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(r.Rows) == 0 {
		return nil, fmt.Errorf("%s has recorded nothing yet: weft resume %s has it begin", dir, dir)
	}
	return r, err
}

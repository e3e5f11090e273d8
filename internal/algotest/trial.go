package algotest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/config"
)

// Trial lists the small runs by which the tests that go over all algorithms run one of them. An
// algorithm brings its own, in testdata/NAME.yaml beside its package, so that a new algorithm
// changes no table of a test.
type Trial struct {
	// Short is a run of a few seconds under every policy. Its 11 environments make shards unequal;
	// of an algorithm that steps none, its batches of 11 rows.
	Short `yaml:",inline"`
	// Whole are the names of the graph functions that need all rows of a batch.
	Whole []string
	// Shared is true if several learners draw from one replay or data set, which plain loops that
	// meet only at gradients cannot imitate. The algorithm's own tests say what they compute.
	Shared bool
	// Alone is true if the loop has one learner: policies with several refuse it.
	Alone bool
	// More are runs in further environments, under every policy that accepts them.
	More []Short
	Ways Ways
}

// Short is a run of a few seconds.
type Short struct {
	Env   string
	Steps int64
	Set   Settings
}

// Ways are runs of a few iterations that together execute every branch of a loop.
type Ways struct {
	Env  string
	Set  Settings   // settings of every run
	Each []Settings // settings of one run each
	// Unfused is true if no part of the generated programs runs as one graph.
	Unfused bool
}

// Settings are assignments key=value, separated by spaces.
type Settings string

// List returns the assignments one by one.
func (s Settings) List() []string { return strings.Fields(string(s)) }

// Settings returns the assignments of one of the runs, with a number of environments, if it has
// any.
func (w Ways) Settings(one Settings, envs int) []string {
	set := slices.Concat(w.Set.List(), one.List())
	if w.Env == "" {
		return set
	}
	return append([]string{fmt.Sprint("envs=", envs)}, set...)
}

// Folder returns the name of the package that an algorithm is in.
func Folder(a algo.Algorithm) string {
	return path.Base(reflect.TypeOf(a.Config()).Elem().PkgPath())
}

// TrialOf reads an algorithm's trial. The working directory is a folder of this module.
func TrialOf(a algo.Algorithm) (Trial, error) {
	var x Trial
	root, err := moduleRoot()
	if err != nil {
		return x, err
	}
	name := filepath.Join("algo", Folder(a), "testdata", a.Name+".yaml")
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return x, fmt.Errorf("tests go over all algorithms and need small settings for each: write %s as algo/ppo/testdata/ppo.yaml: %w", name, err)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&x); err != nil {
		return x, fmt.Errorf("%s: %w", name, err)
	}
	if (x.Env == "" || x.Ways.Env == "") && !a.Offline || x.Steps < 1 || len(x.Ways.Each) == 0 {
		return x, fmt.Errorf("%s: env, steps, ways.env and ways.each are all needed", name)
	}
	return x, nil
}

// moduleRoot returns the nearest folder above the working directory that holds a go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", errors.New("no go.mod above the working directory")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// Environment returns the environment of a set that has an ID; none for none.
func Environment(s app.Set, id string) (env.Entry, error) {
	if id == "" {
		return env.Entry{}, nil
	}
	i := slices.IndexFunc(s.Environments, func(e env.Entry) bool { return e.ID == id })
	if i < 0 {
		return env.Entry{}, fmt.Errorf("unknown environment %q", id)
	}
	return s.Environments[i], nil
}

// Configure returns an algorithm's default settings, with some assignments key=value made.
func Configure(a algo.Algorithm, set []string) (any, error) {
	c := a.Config()
	if err := errors.Join(config.Check(c), config.Defaults(c)); err != nil {
		return nil, err
	}
	var list []config.Assignment
	for _, x := range set {
		one, err := config.ParseSet(x, "test")
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return c, config.Set(c, list)
}

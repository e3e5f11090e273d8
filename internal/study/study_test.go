package study

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// record writes the folder of a run with some settings, as "key: value" lines, and returns at some
// steps.
func record(t *testing.T, dir, settings string, returns ...float64) string {
	t.Helper()
	var rows strings.Builder
	for i, x := range returns {
		fmt.Fprintf(&rows, `{"step":%d,"iter":%d,"seconds":%d,"loss":1,"episode/return_mean":%g}`+"\n", 10*(i+1), i+1, i, x)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"config.yaml": settings, "metrics.jsonl": rows.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func settings(algorithm, env string, seed int, set string) string {
	return fmt.Sprintf("algorithm: %s\nenv: %s\nwrap: \"\"\nsteps: 20\nseed: %d\nset:\n  gamma: 0.9\n%s", algorithm, env, seed, set)
}

func names(g Grouping) (out []string) {
	for _, x := range g.Groups {
		out = append(out, x.Name)
	}
	return out
}

// TestFind: runs are found in folders of folders, seeds by number, a link beside what it links to
// once.
func TestFind(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, seed := range []int{10, 1, 2} {
		record(t, fmt.Sprintf("runs/a/seed%d", seed), settings("ppo", "X", seed, ""), 1, 2)
	}
	record(t, "runs/b", settings("ppo", "Y", 1, ""), 1, 2)
	runs, err := Find([]string{"runs/a", "name=runs/b"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range runs {
		got = append(got, r.Label+" "+filepath.ToSlash(r.Dir))
	}
	if want := []string{" runs/a/seed1", " runs/a/seed2", " runs/a/seed10", "name runs/b"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if r := runs[0]; r.Steps() != 20 || r.Settings["set.gamma"] != "0.9" || !slices.Equal(r.Curve("loss"), []Point{{10, 0, 1}, {20, 1, 1}}) {
		t.Errorf("%+v", r)
	}
	if err := os.Symlink("b", "runs/c"); err != nil {
		t.Fatal(err)
	}
	record(t, "empty", settings("ppo", "X", 1, ""))
	if err := os.Mkdir("nothing", 0o755); err != nil {
		t.Fatal(err)
	}
	for arg, want := range map[string]string{
		"runs":              "runs/c is named twice",
		"gone":              "there is no folder gone",
		"empty":             "empty has recorded nothing yet: weft resume empty",
		"nothing":           "there is no run in nothing",
		"empty/config.yaml": "is a file: name the folder of a run",
	} {
		if _, err := Find([]string{arg}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", arg, err, want)
		}
	}
}

// TestBy: runs are grouped by what makes them contenders.
func TestBy(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, seed := range []int{1, 2} {
		for _, algorithm := range []string{"ppo", "a2c"} {
			for _, env := range []string{"X", "Y"} {
				record(t, fmt.Sprintf("two/%s-%s-%d", algorithm, env, seed), settings(algorithm, env, seed, fmt.Sprintf("  envs: %d\n", len(algorithm+env))), 1, 2)
			}
		}
		for _, rate := range []string{"1e-3", "1e-4"} {
			record(t, fmt.Sprintf("rates/%s-%d", rate, seed), settings("ppo", "X", seed, "  rate: "+rate+"\n"), 1, 2)
		}
	}
	for _, c := range []struct {
		args, by, want []string
		wrong          string
	}{
		{[]string{"two"}, nil, []string{"a2c", "ppo"}, ""},
		{[]string{"rates"}, nil, []string{"rate=1e-3", "rate=1e-4"}, ""},
		{[]string{"rates"}, []string{"rate", "algorithm"}, []string{"rate=1e-3 ppo", "rate=1e-4 ppo"}, ""},
		{[]string{"high=rates/1e-3-1", "low=rates/1e-4-1"}, nil, []string{"high", "low"}, ""},
		{[]string{"rates", "two/a2c-X-1"}, nil, []string{"ppo rate=1e-3", "ppo rate=1e-4", "a2c"}, ""},
		{[]string{"rates"}, []string{"algorithm"}, nil, "differ in rate: group the runs with --by rate"},
		{[]string{"rates"}, []string{"gama"}, nil, `no setting "gama", did you mean "gamma"?`},
	} {
		runs, err := Find(c.args)
		if err != nil {
			t.Fatal(err)
		}
		g, err := By(runs, c.by)
		switch {
		case c.wrong != "":
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%q by %q: %v, want %q", c.args, c.by, err, c.wrong)
			}
		case err != nil || !slices.Equal(names(g), c.want):
			t.Errorf("%q by %q: %q, %v, want %q", c.args, c.by, names(g), err, c.want)
		}
	}
}

// TestScore takes the last value, or the newest at a step, of runs that have come so far.
func TestScore(t *testing.T) {
	t.Chdir(t.TempDir())
	done := record(t, "done", settings("ppo", "X", 1, ""), 1, 2)
	half := record(t, "half", settings("ppo", "X", 2, ""), 7)
	runs, err := Find([]string{done, half})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		run   *Run
		at    int64
		want  float64
		wrong string
	}{
		{runs[0], 0, 2, ""}, {runs[0], 19, 1, ""}, {runs[1], 10, 7, ""},
		{runs[1], 0, 0, "half has done 10 of 20 steps: let it finish (weft resume half)"},
		{runs[1], 11, 0, "--at: half has done 10 steps, not 11"},
		{runs[0], 9, 0, "no episode/return_mean up to step 9"},
	} {
		got, err := c.run.Score("episode/return_mean", c.at)
		if c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) || c.wrong == "" && (err != nil || got != c.want) {
			t.Errorf("%s at %d: %v, %v, want %v %q", c.run.Dir, c.at, got, err, c.want, c.wrong)
		}
	}
	for asked, want := range map[string]string{"": "", "loss": "", "los": `done has no metric "los", did you mean "loss"?`, "eval/return": "it has episode/return_mean, loss"} {
		_, err := Metric(runs, asked)
		if fmt.Sprint(err) != "<nil>" && want == "" || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", asked, err, want)
		}
	}
}

package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// record writes the folder of a run that was evaluated at steps 50 and 100, and settings of which
// rate is the algorithm's.
func record(t *testing.T, dir, algorithm, env string, seed int, rate string, returns ...float64) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for i, x := range returns {
		fmt.Fprintf(&rows, `{"step":%d,"iter":%d,"seconds":%d,"eval/return":%g}`+"\n", 50*(i+1), i+1, i+1, x)
	}
	for name, text := range map[string]string{
		"config.yaml":   fmt.Sprintf("algorithm: %s\nenv: %s\nsteps: 100\nseed: %d\nset:\n  rate: %s\n", algorithm, env, seed, rate),
		"metrics.jsonl": rows.String(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// recorded makes runs of two algorithms, five seeds each, in a new folder.
func recorded(t *testing.T, envs ...string) {
	t.Chdir(t.TempDir())
	for _, env := range envs {
		for seed := 1; seed <= 5; seed++ {
			for i, algorithm := range []string{"good", "poor"} {
				record(t, fmt.Sprintf("runs/%s-%s/seed%d", algorithm, env, seed), algorithm, env, seed, "1", 10, float64(480-200*i+seed))
			}
		}
	}
}

// TestCompare: two algorithms of which one is better, on one task.
func TestCompare(t *testing.T) {
	recorded(t, "CartPole-v1")
	o := do(t, 0, "compare", "runs", "--svg", "c.svg", "--csv", "c.csv")
	contains(t, o.out, "eval/return at the end of 10 runs on CartPole-v1", "interquartile mean", "good    483.0     481.3 to 484.7", "poor    283.0",
		"good over poor    1.000     1.000 to 1.000", "performance profile", "A run of good scores more than one of poor with probability 1.00 (1.00 to 1.00):\ngood is better.",
		"95 % of such sets of seeds")
	for line := range strings.Lines(o.out) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if again := do(t, 0, "compare", "runs"); again.out != o.out {
		t.Errorf("the second time it says\n%s", again.out)
	}
	contains(t, read(t, "c.svg"), "<svg", "interquartile mean", "probability of improvement", "good &gt; poor")
	contains(t, read(t, "c.csv"), "statistic,group,over,task,seed,threshold,value,low,high\nscore,good,,CartPole-v1,1,,481,,\n",
		"\niqm,poor,,,,,283,", "\nprobability_of_improvement,good,poor,,,,1,1,1\n", "\nprofile,good,,,,281,1,1,1\n")
	contains(t, do(t, 0, "compare", "runs", "--at", "60").out, "eval/return at step 60", "good    10.00", "do not tell them apart")
	e := last(t, do(t, 0, "compare", "runs", "--json", "--bar", "281"))
	first := e["groups"].([]any)[0].(map[string]any)
	if e["event"] != "comparison" || first["group"] != "good" || first["iqm"].(map[string]any)["value"] != 483. || first["verdict"] != "reached" {
		t.Errorf("%v", e)
	}
}

// TestCompareTasks: scores of several tasks are scaled, by themselves or as one says.
func TestCompareTasks(t *testing.T) {
	recorded(t, "A", "B")
	contains(t, do(t, 0, "compare", "runs").out, "of 20 runs on A, B", "0 is the lowest and 1 the highest score of these\nruns", "median of tasks", "optimality gap (from 1;")
	o := do(t, 0, "compare", "runs", "--range", "A=0:966", "--range", "B=0:483")
	contains(t, o.out, "parts of the ranges given", "good   0.7500", "A run of good")
	contains(t, do(t, 2, "compare", "runs", "--range", "A=5:1", "--range", "C=0:1").errors, `"A=5:1" is not of the form TASK=LOW:HIGH`)
	contains(t, do(t, 2, "compare", "runs", "--range", "C=0:1").errors, `no runs of "C": the tasks are A, B`)
}

// TestBar: a bar is reached by the whole interval, and the exit code says so.
func TestBar(t *testing.T) {
	recorded(t, "CartPole-v1")
	contains(t, do(t, 0, "compare", "runs/good-CartPole-v1", "--bar", "475").out, "good has reached 475: its interquartile mean is at least 481.3.", "optimality gap (from 475")
	contains(t, do(t, 1, "compare", "runs", "--bar", "475").out, "good has reached 475", "poor has missed 475: its interquartile mean is at most 284.7.")
	contains(t, do(t, 1, "compare", "runs/good-CartPole-v1", "--bar", "483").out, "Whether good has reached 483 is undecided")
	contains(t, do(t, 2, "compare", "runs", "--bar", "high").errors, `--bar: "high" is not a number`)
}

// TestCompareRefuses: one sentence says what is wrong and what to do.
func TestCompareRefuses(t *testing.T) {
	recorded(t, "A")
	record(t, "one", "lonely", "A", 1, "1", 3, 4)
	record(t, "other", "good", "B", 1, "1", 3, 4)
	record(t, "half", "good", "A", 9, "1", 3)
	record(t, "rates/1", "good", "A", 1, "1", 3, 4)
	record(t, "rates/2", "good", "A", 1, "2", 3, 4)
	for _, c := range []struct{ args, want string }{
		{"", "name the folders of runs"},
		{"gone", "there is no folder gone"},
		{"runs one", "lonely has one run of A, one, from which nothing follows for others: train more seeds"},
		{"runs other", "poor has no run of B, and good has: compare groups on the same tasks"},
		{"runs half", "half has done 50 of 100 steps: let it finish (weft resume half), or compare all runs at a step that they have done, as with --at 50"},
		{"runs --metric eval/retrun", `has no metric "eval/retrun", did you mean "eval/return"?`},
		{"rates --by algorithm", "rates/1 and rates/2 are both seed 1 of good on A and differ in rate"},
		{"runs --level 95", "--level: 95 is not between 0 and 1"},
		{"runs --resamples 0", "--resamples: 0"},
		{"runs runs", "is named twice"},
	} {
		o := do(t, 2, append([]string{"compare"}, strings.Fields(c.args)...)...)
		contains(t, o.errors, c.want)
	}
}

package cli_test

import (
	"os"
	"strings"
	"testing"

	"github.com/weft-rl/weft"
)

// TestData: what a run did is recorded, described, taken apart, put together and learnt from; what
// is recorded of a training run does not depend on who steps its environments.
func TestData(t *testing.T) {
	t.Chdir(t.TempDir())
	do(t, 0, tiny("--out", "run", "--record", "seen")...)
	do(t, 0, tiny("--out", "again", "--record", "too", "--policy", "single-learner-coarse", "--workers", "2")...)
	sum := func(set string) string {
		t.Helper()
		o := do(t, 0, "data", "info", set)
		return o.out[strings.Index(o.out, "checksum"):]
	}
	if sum("seen") != sum("too") {
		t.Error("two workers were recorded otherwise than one")
	}
	contains(t, do(t, 0, "record", "run", "--steps", "200", "--out", "greedy").out, "13 episodes")
	do(t, 0, "record", "run", "--steps", "200", "--out", "same")
	do(t, 0, "record", "run", "--steps", "200", "--sample", "--out", "sampled")
	if sum("greedy") != sum("same") || sum("greedy") == sum("sampled") {
		t.Error("a recording does not repeat, or exploration changes nothing")
	}
	contains(t, do(t, 0, "record", "run", "--episodes", "5", "--out", "few").out, "recorded 80 steps in 5 episodes")
	contains(t, do(t, 0, "data", "merge", "greedy", "sampled", "--out", "both").out, "26 episodes")
	do(t, 0, "data", "split", "both", "--share", "0.5", "--out", "a", "--rest", "b")
	contains(t, do(t, 0, "data", "check", "a", "b", "both").out, "both: 26 episodes")
	contains(t, do(t, 0, "data", "show", "both").out, "length\n")
	contains(t, do(t, 0, "data", "info", "both", "--json").out, `"episodes":26`)
	do(t, 0, "train", "bc", "--data", "both", "--steps", "5", "--out", "pupil")
	do(t, 0, "resume", "pupil", "--steps", "8")
	do(t, 0, "eval", "pupil", "--env", "Identity-v0", "--episodes", "2")
	if err := os.Remove("both"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename("greedy", "both"); err != nil {
		t.Fatal(err)
	}
	contains(t, do(t, 2, "resume", "pupil", "--steps", "10").errors, "give it the set that it began with")
}

// TestDataMistakes: wrong uses are refused in a sentence, and leave nothing.
func TestDataMistakes(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("text", []byte("no data"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"data nonsense", `unknown command "nonsense"`},
		{"data info", "weft data info takes one data set, not 0"},
		{"data info nowhere", "data set nowhere: no such file or directory"},
		{"data check text", "data set text: it is no data set: weft data import makes one"},
		{"data import text", "--out is needed"},
		{"data import text --out set", `text: files ending in "" are not imported`},
		{"data merge text text --out set", "data set text: it is no data set"},
		{"data split text", "--out and --rest are needed"},
		{"record text --steps 0", "--steps: 0 is not a number of steps"},
		{"record text --episodes -1", "--episodes: -1 is not a number of episodes"},
		{"train bc --data text", "bc: data set "},
		{"train bc --data debug:identity --record set", "--record: bc steps no environment, so there is nothing to record"},
		{"train bc --data debug:identity --eval-every 5", "--eval-every: there is no environment to evaluate in: name one with --env"},
		{"train bc --data debug:identity --env Pendulum-v1", "bc cannot be evaluated in Pendulum-v1: observations of the data set are Box(0..1, [4])"},
		{"train ppo --data debug:identity", `--data: unknown setting "data"`},
		{"train ppo --record set --seeds 2", "--record: a run of one seed in this process is recorded"},
	} {
		o := run(t.Context(), weft.Builtin(), strings.Fields(c.args)...)
		if o.code == 0 || !strings.Contains(o.errors, c.want) {
			t.Errorf("weft %s: exit code %d, %s\nwant %s", c.args, o.code, o.errors, c.want)
		}
	}
	left, err := os.ReadDir(".")
	if err != nil || len(left) != 1 {
		t.Errorf("%v is left, %v", left, err)
	}
}

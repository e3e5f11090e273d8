package cli_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// notes returns the texts of an output's notes.
func notes(t *testing.T, o outcome) (out []string) {
	t.Helper()
	for _, e := range events(t, o.out) {
		if e["event"] == "note" {
			out = append(out, e["text"].(string))
		}
	}
	return out
}

// A finished run says so, in both outputs, and ends as it ended.
func TestResumeFinished(t *testing.T) {
	t.Chdir(t.TempDir())
	want := last(t, do(t, 0, tiny("--json", "--out", "mine")...))
	before := read(t, "mine", "metrics.jsonl")
	o := do(t, 0, "resume", "mine", "--json")
	contains(t, strings.Join(notes(t, o), "\n"), "mine is finished", "weft resume mine --steps N")
	got := last(t, o)
	for _, k := range []string{"event", "steps", "episodes", "return_mean", "weights_sha256", "state_sha256", "out"} {
		if got[k] != want[k] {
			t.Errorf("%s is %v, want %v", k, got[k], want[k])
		}
	}
	if read(t, "mine", "metrics.jsonl") != before {
		t.Error("the metrics have changed")
	}
	contains(t, do(t, 0, "resume", "mine").out, "mine is finished", "256 steps")
}

// More steps than planned change what schedules do, which is said.
func TestResumeFurther(t *testing.T) {
	t.Chdir(t.TempDir())
	do(t, 0, tiny("--out", "mine")...)
	o := do(t, 0, "resume", "mine", "--steps", "512", "--json")
	contains(t, strings.Join(notes(t, o), "\n"), "from 256 to 512 steps", "learning rate", "from 100 % to 50 %")
	if e := last(t, o); e["steps"] != 512. {
		t.Errorf("%v", e)
	}
	contains(t, read(t, "mine", "config.yaml"), "steps: 512")
	contains(t, do(t, 0, "resume", "mine").out, "mine is finished")
	contains(t, do(t, 2, "resume", "mine", "--steps", "128").errors, "--steps: 128 is less than the 512 steps that mine has done")
	contains(t, do(t, 2, "resume", "mine", "--steps", "lots").errors, "--steps: steps: ")
	contains(t, read(t, "mine", "config.yaml"), "steps: 512")
}

// A damaged checkpoint is passed over in a sentence.
func TestResumeTorn(t *testing.T) {
	t.Chdir(t.TempDir())
	want := last(t, do(t, 0, tiny("--json", "--out", "whole")...))
	interrupt(t, `"iteration"`, 3, tiny("--json", "--out", "mine", "--checkpoint-steps", "64")...)
	torn := filepath.Join("mine", "checkpoints", "step-000000000192.safetensors")
	if err := os.Truncate(torn, 1000); err != nil {
		t.Fatal(err)
	}
	o := do(t, 0, "resume", "mine", "--json")
	contains(t, strings.Join(notes(t, o), "\n"), "passed over", filepath.Base(torn), "torn")
	if begin := events(t, o.out)[1]; begin["event"] != "begin" || begin["steps"] != 128. {
		t.Errorf("%v", begin)
	}
	if got := last(t, o); got["weights_sha256"] != want["weights_sha256"] || got["state_sha256"] != want["state_sha256"] {
		t.Errorf("%v, want %v", got, want)
	}
}

// A configuration that was changed by hand is read like any other.
func TestResumeWrongConfig(t *testing.T) {
	t.Chdir(t.TempDir())
	do(t, 0, tiny("--out", "mine")...)
	file := filepath.Join("mine", "config.yaml")
	text := strings.Replace(read(t, file), "gamma: 0.99", "gama: 2", 1)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	contains(t, do(t, 2, "resume", "mine").errors, file, `unknown setting "gama", did you mean "gamma"?`)
}

func TestEval(t *testing.T) {
	t.Chdir(t.TempDir())
	do(t, 0, tiny("--out", "mine", "--eval-every", "64")...)
	for _, c := range []struct {
		args []string
		n    float64
		text string
	}{
		{nil, 100, "greedy evaluation over 100 episodes: return "},
		{[]string{"--episodes", "7"}, 7, "greedy evaluation over 7 episodes: return "},
		{[]string{"--episodes", "7", "--best"}, 7, "greedy evaluation over 7 episodes: return "},
		{[]string{"--episodes", "7", "--sample"}, 7, "evaluation over 7 episodes: return "},
	} {
		args := append([]string{"eval", "mine"}, c.args...)
		contains(t, do(t, 0, args...).out, c.text)
		e := last(t, do(t, 0, append(args, "--json")...))
		if e["event"] != "eval" || e["episodes"] != c.n || e["greedy"] != !strings.Contains(fmt.Sprint(c.args), "--sample") {
			t.Errorf("%q: %v", c.args, e)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if o := run(ctx, weft.Builtin(), "eval", "mine"); o.code != 130 || o.errors != "weft: interrupted\n" {
		t.Errorf("interrupted: %+v", o)
	}
	if err := os.RemoveAll(filepath.Join("mine", "checkpoints")); err != nil {
		t.Fatal(err)
	}
	o := do(t, 1, "eval", "mine", "--json")
	contains(t, o.errors, "mine has no checkpoint yet")
	if e := last(t, o); e["event"] != "error" {
		t.Errorf("%v", e)
	}
}

// Another run's weights are where a run starts from.
func TestFrom(t *testing.T) {
	t.Chdir(t.TempDir())
	do(t, 0, tiny("--out", "first")...)
	o := do(t, 0, tiny("--from", "first", "--out", "second", "--json")...)
	contains(t, strings.Join(notes(t, o), "\n"), "first", "of its step 256")
	dir, err := filepath.Abs("first")
	if err != nil {
		t.Fatal(err)
	}
	contains(t, read(t, "second", "config.yaml"), fmt.Sprintf("from: %q", dir))
	o = do(t, 2, tiny("--from", "first", "--out", "third", "--env", "Memory-v0")...)
	contains(t, o.errors, "first", "another network")
	absent(t, "third")
}

// A run whose environment cannot save its state says so at its beginning, and is
// refused when it is to be resumed.
func TestNotExact(t *testing.T) {
	t.Chdir(t.TempDir())
	set := weft.Builtin()
	set.Environments = append(set.Environments, env.Entry{ID: "Forgetful-v0", New: func(s *rl.Scope, n int, _ any) (env.Batch, error) {
		spec := env.Spec{ID: "Forgetful-v0", Obs: rl.Discrete{N: 2}, Action: rl.Discrete{N: 2}, Limit: 8}
		return env.Hosts(s, n, spec, func(int) (env.Host, error) { return forgetful{}, nil })
	}})
	o := run(t.Context(), set, tiny("--env", "Forgetful-v0", "--out", "mine", "--json")...)
	if o.code != 0 {
		t.Fatalf("exit code %d: %s", o.code, o.errors)
	}
	contains(t, strings.Join(notes(t, o), "\n"), "Forgetful-v0 cannot save its state")
	o = run(t.Context(), set, "resume", "mine", "--json")
	if o.code != 2 || o.out != "" {
		t.Errorf("exit code %d, output %q", o.code, o.out)
	}
	contains(t, o.errors, "cannot save its state", "--from")
}

type forgetful struct{}

func (forgetful) Reset(rl.Key, env.Row) {}

func (forgetful) Step(rl.Key, env.Row, env.Row) (reward float64, terminated, truncated bool) {
	return 1, false, false
}

// A run whose checkpoints are gone or damaged is not begun anew behind its user's back: that takes
// a flag, and what there was of it is kept.
func TestResumeWithoutCheckpoint(t *testing.T) {
	for name, lose := range map[string]func(path string) error{
		"gone": os.Remove, "torn": func(path string) error { return os.Truncate(path, 10) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			want := last(t, do(t, 0, tiny("--json", "--out", "whole")...))
			interrupt(t, `"iteration"`, 3, tiny("--json", "--out", "mine", "--checkpoint-steps", "64")...)
			files, err := filepath.Glob("mine/checkpoints/*")
			if err != nil || len(files) == 0 {
				t.Fatalf("%v, %v", files, err)
			}
			for _, path := range files {
				if err := lose(path); err != nil {
					t.Fatal(err)
				}
			}
			record := read(t, "mine", "metrics.jsonl")
			for _, how := range [][]string{nil, {"--json"}, {"--processes", "1"}} {
				o := do(t, 2, append([]string{"resume", "mine"}, how...)...)
				contains(t, o.errors, "no good checkpoint", "3 lines", "weft resume mine --or-begin")
			}
			if read(t, "mine", "metrics.jsonl") != record {
				t.Fatal("the record has changed")
			}
			o := do(t, 0, "resume", "mine", "--or-begin", "--json")
			contains(t, strings.Join(notes(t, o), "\n"), "begins at step 0", filepath.Join("mine", "replaced-1"))
			if got := last(t, o); got["weights_sha256"] != want["weights_sha256"] || got["state_sha256"] != want["state_sha256"] {
				t.Errorf("%v, want %v", got, want)
			}
			if read(t, "mine", "replaced-1", "metrics.jsonl") != record {
				t.Error("the old record was not kept")
			}
			if n := strings.Count(read(t, "mine", "metrics.jsonl"), "\n"); n != 5 { // with the evaluation
				t.Errorf("the new record has %d lines", n)
			}
			// There is something to go on from now, which the flag does not change.
			contains(t, do(t, 0, "resume", "mine", "--or-begin").out, "mine is finished")
		})
	}
}

// A run that failed before its first checkpoint leaves its folder to the next attempt.
func TestFailedFirst(t *testing.T) {
	t.Chdir(t.TempDir())
	set := weft.Builtin()
	fails := 20
	set.Environments = append(set.Environments, env.Entry{ID: "Failing-v0", New: func(s *rl.Scope, n int, _ any) (env.Batch, error) {
		spec := env.Spec{ID: "Failing-v0", Obs: rl.Discrete{N: 2}, Action: rl.Discrete{N: 2}, Limit: 8}
		return env.Hosts(s, n, spec, func(int) (env.Host, error) { return &failing{left: fails}, nil })
	}})
	train := tiny("--env", "Failing-v0", "--out", "mine", "--json")
	if o := run(t.Context(), set, append(train, "--keep", "5")...); o.code != 1 {
		t.Fatalf("%+v", o)
	}
	record := read(t, "mine", "metrics.jsonl")
	o := run(t.Context(), set, "resume", "mine")
	if o.code != 2 {
		t.Fatalf("%+v", o)
	}
	contains(t, o.errors, "no good checkpoint", "1 line:", "--or-begin")
	fails = 1000 // as if it were mended
	if o = run(t.Context(), set, train...); o.code != 0 {
		t.Fatalf("%+v", o)
	}
	contains(t, strings.Join(notes(t, o), "\n"), "what mine held before is in "+filepath.Join("mine", "replaced-1"))
	if read(t, "mine", "replaced-1", "metrics.jsonl") != record {
		t.Error("the old record was not kept")
	}
	contains(t, read(t, "mine", "replaced-1", "config.yaml"), "keep: 5")
	contains(t, read(t, "mine", "config.yaml"), "keep: 3")
	if o = run(t.Context(), set, train...); o.code != 2 {
		t.Fatalf("%+v", o)
	}
	contains(t, o.errors, "already holds a run")
}

// failing is an environment that breaks after some steps.
type failing struct {
	forgetful
	left int
}

func (f *failing) Step(rl.Key, env.Row, env.Row) (reward float64, terminated, truncated bool) {
	if f.left--; f.left < 0 {
		return math.NaN(), false, false
	}
	return 1, false, false
}

// What goes on after the training is said: an evaluation may take long.
func TestLastEvaluationIsSaid(t *testing.T) {
	t.Chdir(t.TempDir())
	o := do(t, 0, tiny("--out", "mine")...)
	done, says, end := strings.Index(o.out, "done  256 steps"), strings.Index(o.out, "evaluating the final policy greedily over 4 episodes (--eval-episodes)"), strings.Index(o.out, "step 256: greedy evaluation over 4 episodes")
	if done < 0 || says < done || end < says {
		t.Errorf("%s", o.out)
	}
	contains(t, do(t, 0, "eval", "mine", "--episodes", "3").out, "evaluating the best weights, of step 256, over 3 episodes", "greedy evaluation over 3 episodes")
	contains(t, do(t, 0, "eval", "mine", "--episodes", "3", "--newest").out, "evaluating the newest weights, of step 256")
	contains(t, do(t, 2, "eval", "mine", "--best", "--newest").errors, "--best and --newest: choose one")
}

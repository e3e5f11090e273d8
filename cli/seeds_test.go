package cli_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/rl"
)

// byEvent returns the events of one kind.
func byEvent(t *testing.T, o outcome, kind string) []event {
	t.Helper()
	return slices.DeleteFunc(events(t, o.out), func(e event) bool { return e["event"] != kind })
}

// Every seed is the run that it would be alone.
func TestSeeds(t *testing.T) {
	t.Chdir(t.TempDir())
	o := do(t, 0, tiny("--seeds", "3", "--seed", "4", "--out", "several", "--json")...)
	seeds := byEvent(t, o, "seed")
	if len(seeds) != 3 {
		t.Fatalf("%d seeds", len(seeds))
	}
	slices.SortFunc(seeds, func(a, b event) int { return int(a["seed"].(float64) - b["seed"].(float64)) })
	sum := 0.
	for i, e := range seeds {
		alone := last(t, do(t, 0, "train", "--config", filepath.Join("several", "seed"+string('4'+rune(i)), "config.yaml"), "--json"))
		if e["seed"] != alone["seed"] || e["weights_sha256"] != alone["weights_sha256"] || e["state_sha256"] != alone["state_sha256"] {
			t.Errorf("seed %v differs from its run alone", e["seed"])
		}
		sum += e["return_mean"].(float64)
	}
	if got := keys(t, lastLine(o.out)); !slices.Equal(got, doneFields) {
		t.Errorf("fields %q", got)
	}
	done, stats := last(t, o), byEvent(t, o, "seeds")[0]
	if done["steps"] != 768. || done["seed"] != 4. || done["out"] != "several" || abs(done["return_mean"].(float64)-sum/3) > 1e-9 {
		t.Errorf("%v", done)
	}
	interval := stats["return_interval"].([]any)
	if lo, hi := interval[0].(float64), interval[1].(float64); !(lo <= sum/3 && sum/3 <= hi) || stats["seeds"] != 3. || stats["return_iqm"] == nil {
		t.Errorf("%v", stats)
	}
	contains(t, do(t, 0, tiny("--seeds", "2")...).out, "2 seeds: mean return", "interquartile mean", "95 % interval", "seed 1: ", "seed 2: ")
}

func abs(x float64) float64 { return max(x, -x) }

// fragile returns what fails with seed 2.
func fragile(t *testing.T) app.Set {
	a := ppo.Algorithm
	a.New = func(s *rl.Scope, make algo.MakeEnv, config any) (rl.Trainer, error) {
		if s.Key("") == rl.NewScope(s.Device(), 2).Key("") {
			return nil, errors.New("an unlucky seed")
		}
		return ppo.Algorithm.New(s, make, config)
	}
	set := weft.Builtin()
	set.Algorithms = []algo.Algorithm{a}
	return set
}

// A seed that fails does not stop the others.
func TestFailingSeed(t *testing.T) {
	t.Chdir(t.TempDir())
	o := run(t.Context(), fragile(t), tiny("--seeds", "3", "--json")...)
	if o.code != 1 {
		t.Errorf("exit code %d", o.code)
	}
	if n := len(byEvent(t, o, "seed")); n != 2 {
		t.Errorf("%d seeds ended well", n)
	}
	if failed := byEvent(t, o, "seed_error"); len(failed) != 1 || failed[0]["seed"] != 2. {
		t.Errorf("%v", failed)
	}
	if stats := byEvent(t, o, "seeds"); len(stats) != 1 || stats[0]["seeds"] != 2. {
		t.Errorf("%v", stats)
	}
	if e := last(t, o); e["event"] != "error" || !strings.Contains(e["error"].(string), "1 of 3 seeds failed") {
		t.Errorf("%v", e)
	}
	o = run(t.Context(), fragile(t), tiny("--seeds", "3")...)
	contains(t, o.out, "seed 2 failed: ", "an unlucky seed", "2 seeds: mean return")
	contains(t, o.errors, "1 of 3 seeds failed", "an unlucky seed")
}

// Interrupted seeds go on together: those that were under way, those that had not begun, and those
// that were done, to the bits of seeds that were never interrupted.
func TestInterruptedSeeds(t *testing.T) {
	t.Chdir(t.TempDir())
	want := last(t, do(t, 0, tiny("--seeds", "5", "--seed", "8", "--out", "whole", "--json")...))
	o := interrupt(t, `"event":"seed"`, 1, tiny("--seeds", "5", "--seed", "8", "--out", "several", "--json")...)
	if e := last(t, o); e["event"] != "interrupted" {
		t.Errorf("%v", e)
	}
	first := byEvent(t, o, "seed")[0]
	contains(t, do(t, 0, "resume", first["out"].(string)).out, "is finished")
	contains(t, do(t, 2, tiny("--seeds", "5", "--seed", "8", "--out", "several")...).errors, "already holds a run", "weft resume several goes on with all seeds")
	contains(t, do(t, 2, "resume", "several", "--processes", "2").errors, "--processes", "name one of them")
	o = do(t, 0, "resume", "several", "--json")
	got := last(t, o)
	for _, k := range []string{"event", "seed", "steps", "episodes", "return_mean", "weights_sha256", "state_sha256"} {
		if got[k] != want[k] {
			t.Errorf("%s is %v, want %v", k, got[k], want[k])
		}
	}
	if n := len(byEvent(t, o, "seed")); n != 5 {
		t.Errorf("%d seeds ended", n)
	}
	contains(t, do(t, 0, "resume", "several").out, "5 seeds: mean return", "seed 12: 256 steps")
	contains(t, do(t, 0, "resume", "several", "--steps", "512").out, "seed 10: 512 steps", "from 256 to 512 steps")
}

// Seeds that were killed before their first checkpoint begin again with one command, which their
// errors name; the others go on.
func TestSeedsWithoutCheckpoint(t *testing.T) {
	t.Chdir(t.TempDir())
	want := last(t, do(t, 0, tiny("--seeds", "3", "--out", "several", "--json")...))
	for _, seed := range []string{"seed1", "seed3"} {
		if err := os.RemoveAll(filepath.Join("several", seed, "checkpoints")); err != nil {
			t.Fatal(err)
		}
	}
	contains(t, do(t, 1, "resume", "several").errors, "2 of 3 seeds failed", "weft resume several --or-begin begins it again")
	got := last(t, do(t, 0, "resume", "several", "--or-begin", "--json"))
	for _, k := range []string{"event", "steps", "episodes", "return_mean", "weights_sha256", "state_sha256"} {
		if got[k] != want[k] {
			t.Errorf("%s is %v, want %v", k, got[k], want[k])
		}
	}
}

// The speed of several seeds is that of the clock.
func TestSeedsSpeed(t *testing.T) {
	t.Chdir(t.TempDir())
	began := time.Now()
	o := do(t, 0, tiny("--seeds", "6", "--eval-episodes", "0", "--json")...)
	elapsed := time.Since(began).Seconds()
	sum := 0.
	for _, e := range byEvent(t, o, "seed") {
		sum += e["seconds"].(float64)
	}
	e := last(t, o)
	seconds, speed := e["seconds"].(float64), e["steps_per_second"].(float64)
	if at := float64(runtime.GOMAXPROCS(0)); seconds*at < sum || seconds > elapsed {
		t.Errorf("%v s, where the seeds took %v, %v at a time, and the clock says %v", seconds, sum, at, elapsed)
	}
	if abs(speed*seconds-6*256) > 1 {
		t.Errorf("%v steps a second for %v s", speed, seconds)
	}
}

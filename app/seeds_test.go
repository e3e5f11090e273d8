package app_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/rl"
)

// byEvent are the events of one kind.
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

// fragile is what fails with seed 2.
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

// Interrupted seeds are saved, and can be resumed one by one.
func TestInterruptedSeeds(t *testing.T) {
	t.Chdir(t.TempDir())
	o := interrupt(t, `"event":"seed"`, 1, tiny("--seeds", "5", "--out", "several", "--json")...)
	if e := last(t, o); e["event"] != "interrupted" {
		t.Errorf("%v", e)
	}
	first := byEvent(t, o, "seed")[0]
	contains(t, do(t, 0, "resume", first["out"].(string)).out, "is finished")
}

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLeague: a run's payoff matrix is shown and drawn; a run without a league is told apart.
func TestLeague(t *testing.T) {
	dir := t.TempDir()
	run, svg := filepath.Join(dir, "league"), filepath.Join(dir, "payoff.svg")
	do(t, 0, "train", "psro", "--env", "board/KuhnPoker-v0?opponent=none", "--steps", "640", "--eval-episodes", "0", "--out", run,
		"--set", "envs=8", "--set", "horizon=8", "--set", "response=1", "--set", "arena=2", "--set", "policies=3", "--set", "hidden=8")
	o := do(t, 0, "league", run, "--svg", svg)
	if lines := strings.Split(o.out, "\n"); len(lines) < 6 || !strings.HasPrefix(lines[0], "step 640: ") || strings.Count(o.out, "2 (") != 2 {
		t.Errorf("the league is\n%s", o.out)
	}
	if drawn, err := os.ReadFile(svg); err != nil || strings.Count(string(drawn), "<rect") < 9 {
		t.Errorf("the drawing is %.80q: %v", drawn, err)
	}
	do(t, 0, tiny("--out", filepath.Join(dir, "other"))...)
	if o = do(t, 1, "league", filepath.Join(dir, "other")); !strings.Contains(o.errors, "the run has no league") {
		t.Errorf("a run without a league: %s", o.errors)
	}
}

package cli_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestPlay: tests have no input, so a person leaves at the first question; the policy has moved by
// then, and one that searches has said why.
func TestPlay(t *testing.T) {
	dir := t.TempDir()
	searching, network := filepath.Join(dir, "search"), filepath.Join(dir, "network")
	do(t, 0, "train", "alphazero", "--env", "board/TicTacToe-v0", "--steps", "144", "--eval-episodes", "0", "--out", searching,
		"--set", "envs=4", "--set", "simulations=4", "--set", "hidden=8", "--set", "learning_starts=72", "--set", "batch=8")
	do(t, 0, "train", "mappo", "--env", "board/ConnectFour-v0?opponent=none", "--steps", "64", "--eval-episodes", "0", "--out", network,
		"--set", "envs=4", "--set", "horizon=16", "--set", "hidden=8")
	o := do(t, 0, "play", searching, "--second")
	for _, part := range []string{"you are O", "X plays ", " (expects ", "your move: \nbye\n"} {
		if !strings.Contains(o.out, part) {
			t.Errorf("%q is not in\n%s", part, o.out)
		}
	}
	if o = do(t, 0, "play", network, "--second"); !strings.Contains(o.out, "X plays ") || strings.Contains(o.out, "expects") {
		t.Errorf("a policy without a search says\n%s", o.out)
	}
	do(t, 0, tiny("--out", filepath.Join(dir, "other"))...)
	if o = do(t, 1, "play", filepath.Join(dir, "other")); !strings.Contains(o.errors, "Identity-v0 is no game that a person can play") {
		t.Errorf("a run without a game: %s", o.errors)
	}
}

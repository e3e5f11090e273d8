package cli_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestPlay: runs on games play against persons and each other. Tests have no input, so a person
// leaves at the first question; the policy has moved by then, and one that searches has said why.
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
	// A policy is level with itself: pairs begin alike, with the sides exchanged.
	o = do(t, 0, "eval", searching, "--against", searching, "--episodes", "20")
	if !strings.Contains(o.out, "20 games of tic-tac-toe against "+searching) || !strings.Contains(o.out, "Elo +0 (95 % interval +0 to +0)") {
		t.Errorf("a match of a policy with itself:\n%s", o.out)
	}
	if o = do(t, 1, "eval", searching, "--against", network); !strings.Contains(o.errors, "plays connect four") {
		t.Errorf("a match of different games: %s", o.errors)
	}
	do(t, 2, "eval", searching, "--against", searching, "--episodes", "3")
	do(t, 0, tiny("--out", filepath.Join(dir, "other"))...)
	if o = do(t, 1, "play", filepath.Join(dir, "other")); !strings.Contains(o.errors, "Identity-v0 is no game for two players") {
		t.Errorf("a run without a game: %s", o.errors)
	}
}

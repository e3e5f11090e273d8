package cli_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSetForOneCommand: eval and export change settings of the algorithm for themselves. What a
// loop logs by step is a rate among the metrics.
func TestSetForOneCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	do(t, 0, "train", "alphazero", "--env", "board/TicTacToe-v0", "--steps", "100", "--out", "games", "--eval-episodes", "5",
		"--set", "envs=4", "--set", "hidden=8", "--set", "simulations=3", "--set", "learning_starts=36", "--set", "batch=4", "--set", "moves=3")
	text, err := os.ReadFile(filepath.Join("games", "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	contains(t, string(text), `"run/simulations_per_second":`)

	search := last(t, do(t, 0, "eval", "games", "--json"))
	network := last(t, do(t, 0, "eval", "games", "--json", "--set", "act_by=network"))
	again := last(t, do(t, 0, "eval", "games", "--json"))
	if search["return_mean"] == network["return_mean"] || search["return_mean"] != again["return_mean"] {
		t.Errorf("return %v by search, %v by the network, %v by search again", search["return_mean"], network["return_mean"], again["return_mean"])
	}
	do(t, 0, "export", "games", "--set", "act_by=network")
	for _, format := range []string{"onnx", "safetensors"} {
		o := do(t, 1, "export", "games", "--format", format, "--out", "search."+format)
		contains(t, o.errors, "the agent acts by a search", "weft export games --set act_by=network exports its network", "weft serve games answers with the search")
		absent(t, "search."+format)
	}
	contains(t, do(t, 2, "eval", "games", "--set", "act_by").errors, "--set")
	contains(t, do(t, 2, "eval", "games", "--set", "act_by=luck").errors, "act_by")
}

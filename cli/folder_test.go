package cli_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/rl"
)

func broke(*rl.Scope, int, any) (env.Batch, error) { return nil, errors.New("no licence") }

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The configuration that a run leaves makes the same run again.
func TestConfigReproduces(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, more := range [][]string{nil, {"--env", "Memory-v0?delay=3", "--set", "memory=8", "--set", "normalize_obs=true"}} {
		first := last(t, do(t, 0, append(tiny("--json", "--seed", "5"), more...)...))
		file := filepath.Join(first["out"].(string), "config.yaml")
		second := last(t, do(t, 0, "train", "--config", file, "--json"))
		if second["weights_sha256"] != first["weights_sha256"] || second["state_sha256"] != first["state_sha256"] {
			t.Errorf("%v\n%v", first, second)
		}
		if second["out"] == first["out"] {
			t.Error("both are in one folder")
		}
		if read(t, second["out"].(string), "config.yaml") != read(t, file) {
			t.Error("the configurations differ")
		}
	}
}

// A folder that holds something of a run is not written to.
func TestOccupied(t *testing.T) {
	t.Chdir(t.TempDir())
	do(t, 0, tiny("--out", "mine")...)
	before := read(t, "mine", "metrics.jsonl")
	contains(t, do(t, 2, tiny("--out", "mine")...).errors, "--out: mine already holds a run: weft resume mine")
	if read(t, "mine", "metrics.jsonl") != before {
		t.Error("the metrics have changed")
	}
	if err := os.Remove(filepath.Join("mine", "config.yaml")); err != nil {
		t.Fatal(err)
	}
	contains(t, do(t, 2, tiny("--out", "mine")...).errors, "mine already holds checkpoints")
	if err := os.MkdirAll("empty", 0o755); err != nil {
		t.Fatal(err)
	}
	do(t, 0, tiny("--out", "empty")...)
	do(t, 0, tiny("--seeds", "2", "--out", "several")...)
	contains(t, do(t, 2, tiny("--seeds", "3", "--out", "several")...).errors, "already holds a run")
	contains(t, do(t, 2, "eval", "several").errors, "several seeds", filepath.Join("several", "seed1"))
}

// Runs without a folder of their own never meet.
func TestNewFolders(t *testing.T) {
	t.Chdir(t.TempDir())
	for range 2 {
		do(t, 0, tiny()...)
		do(t, 0, tiny("--seeds", "2")...)
	}
	entries, err := os.ReadDir("runs")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := "ppo-Identity-v0-seed1 ppo-Identity-v0-seed1-2 ppo-Identity-v0-seeds1-2 ppo-Identity-v0-seeds1-2-2"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Only one process works on a run.
func TestLocked(t *testing.T) {
	t.Chdir(t.TempDir())
	interrupt(t, `"iteration"`, 1, tiny("--json", "--out", "mine")...)
	release, err := checkpoint.Lock("mine")
	if err != nil {
		t.Fatal(err)
	}
	contains(t, do(t, 2, "resume", "mine").errors, "in use")
	do(t, 0, "eval", "mine", "--episodes", "1")
	release()
	do(t, 0, "resume", "mine")
}

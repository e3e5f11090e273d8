package part

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSetAside: what a run has left is moved and not removed, as often as it begins again; what is
// not the run's stays.
func TestSetAside(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a [run]")
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if to, err := SetAside(dir); to != "" || err != nil {
		t.Errorf("of nothing: %q, %v", to, err)
	}
	put("config.yaml", "steps: 1")
	put("metrics.jsonl", "")
	if to, err := SetAside(dir); to != "" || err != nil {
		t.Errorf("of a run that has not begun: %q, %v", to, err)
	}
	for _, n := range []string{"replaced-1", "replaced-2"} {
		put("metrics.jsonl", n+"\n")
		put("checkpoints/step-000000000064.safetensors", n)
		put("step-000000000064.epoch-1.0123456789abcdef.safetensors", n)
		put("episodes.jsonl", n)
		put("mine.txt", "mine")
		traces, err := ReadTraces(dir)
		if err != nil || len(traces.Checkpoints) != 2 || traces.Lines != 1 {
			t.Errorf("%+v, %v", traces, err)
		}
		to, err := SetAside(dir, "episodes.jsonl")
		if err != nil || to != filepath.Join(dir, n) {
			t.Fatalf("%s, %v", to, err)
		}
		for _, name := range []string{"metrics.jsonl", "checkpoints/step-000000000064.safetensors", "step-000000000064.epoch-1.0123456789abcdef.safetensors", "episodes.jsonl"} {
			if text, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(text[:len(n)]) != n {
				t.Errorf("%s is %q, %v", name, text, err)
			}
		}
	}
	var left []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"config.yaml", "mine.txt", "replaced-1", "replaced-2"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("%q are left, want %q; %v", left, want, err)
	}
	if traces, err := ReadTraces(dir); err != nil || !traces.None() {
		t.Errorf("%+v, %v", traces, err)
	}
}

package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWeights: whoever takes weights from a run takes the best unless told otherwise, and the
// newest where no good ones were evaluated.
func TestWeights(t *testing.T) {
	j := identity(t)
	train(t, j)
	dir, err := openKept(t.Context(), j.Dir, 3)
	if err != nil {
		t.Fatal(err)
	}
	take := func(which Weights, what string, step int64, note string) {
		t.Helper()
		w := &spy{}
		got, err := takeWeights(t.Context(), j.Dir, which, w)
		if err != nil || got.what != what || got.step != step || !strings.Contains(strings.Join(w.notes, "\n"), note) {
			t.Errorf("%d: the %s, %q, %v", which, got, w.notes, err)
		}
	}
	take(PreferBest, "newest", 512, "")
	take(NewestAlone, "newest", 512, "")
	f, _, _, err := dir.Latest()
	if err == nil {
		err = dir.SaveBest(7, 64, f)
	}
	if err != nil {
		t.Fatal(err)
	}
	take(PreferBest, "best", 64, "")
	take(OnlyBest, "best", 64, "")
	take(NewestAlone, "newest", 512, "")
	from := identity(t)
	from.From, from.Steps = j.Dir, 64
	w := &spy{}
	from.Watch = w
	train(t, from)
	if e, err := EvaluateRun(t.Context(), j, PreferBest, true, 1); err != nil || e.Steps != 64 || !strings.Contains(w.notes[0], "from the best weights of "+j.Dir+", of its step 64") {
		t.Errorf("%+v, %v, %q", e, err, w.notes)
	}
	p, what, step, err := LoadPlayer(t.Context(), j, PreferBest)
	if err != nil || what != "best" || step != 64 {
		t.Errorf("%s of step %d, %v", what, step, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := os.Truncate(filepath.Join(checkpoints(j.Dir), "best.safetensors"), 100); err != nil {
		t.Fatal(err)
	}
	take(PreferBest, "newest", 512, "passed over: the best weights")
	if _, err := takeWeights(t.Context(), j.Dir, OnlyBest, &spy{}); err == nil || !strings.Contains(err.Error(), "best.safetensors") {
		t.Errorf("damaged: %v", err)
	}
}

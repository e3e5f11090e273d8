package runner

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// interrupted returns a run with three checkpoints, stopped before its end.
func interrupted(t *testing.T) Job {
	t.Helper()
	j := identity(t)
	j.CheckpointSteps = 64
	trainUntil(t, j, func(r Report) bool { return r.Iter == 5 })
	return j
}

// newest returns the file of the newest checkpoint.
func newest(t *testing.T, j Job) string {
	names := files(t, j)
	return filepath.Join(checkpoints(j.Dir), names[len(names)-1])
}

// Whatever happens to the newest checkpoints, the run goes on from the newest
// good one, says so, and ends in the same bits.
func TestDamagedCheckpoints(t *testing.T) {
	want := train(t, identity(t))
	foreign := append(binary.LittleEndian.AppendUint64(nil, 2), "{}"...) // a safetensors file of nothing
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, j Job)
		from   int64 // where the run goes on
		notes  []string
	}{
		{"torn", func(t *testing.T, j Job) { truncate(t, newest(t, j)) }, 256, []string{"step-000000000320.safetensors"}},
		{"empty", func(t *testing.T, j Job) { replace(t, newest(t, j), nil) }, 256, []string{"step-000000000320.safetensors"}},
		{"foreign", func(t *testing.T, j Job) { replace(t, newest(t, j), foreign) }, 256, []string{"step-000000000320.safetensors"}},
		{"two", func(t *testing.T, j Job) {
			truncate(t, newest(t, j))
			truncate(t, filepath.Join(checkpoints(j.Dir), "step-000000000256.safetensors"))
		}, 192, []string{"step-000000000320.safetensors", "step-000000000256.safetensors"}},
		{"gone", func(t *testing.T, j Job) {
			if err := os.RemoveAll(checkpoints(j.Dir)); err != nil {
				t.Fatal(err)
			}
		}, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := interrupted(t)
			c.damage(t, j)
			w := &spy{}
			j = again(j)
			j.Watch, j.OrBegin = w, true
			s, err := Prepare(j)
			if err != nil {
				t.Fatal(err)
			}
			if s.Done() != c.from {
				t.Errorf("goes on from step %d, want %d", s.Done(), c.from)
			}
			if len(w.notes) != len(c.notes) {
				t.Fatalf("notes %q, want one with each of %q", w.notes, c.notes)
			}
			for i, text := range c.notes {
				if !strings.Contains(w.notes[i], text) {
					t.Errorf("note %q does not name %q", w.notes[i], text)
				}
			}
			r, err := s.Train(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			sameBits(t, r, want)
		})
	}
}

func truncate(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, info.Size()/2)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func replace(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// A checkpoint of other settings is refused with what does not fit.
func TestOtherSettings(t *testing.T) {
	j := interrupted(t)
	other := identity(t, "hidden=8")
	other.Dir, other.Resume = j.Dir, true
	if _, err := Prepare(other); err == nil || !strings.Contains(err.Error(), "checkpoint of step 320") || !strings.Contains(err.Error(), "shape") {
		t.Errorf("error %v", err)
	}
}

// An environment that cannot save its state trains, and says what that means.
func TestNotExact(t *testing.T) {
	j := small(t, forgetful, 256, "normalize_obs=true")
	j.CheckpointSteps = 64
	w := &spy{}
	j.Watch = w
	want := train(t, j)
	if len(w.notes) != 1 || !strings.Contains(w.notes[0], "cannot be resumed") {
		t.Errorf("notes %q", w.notes)
	}
	if _, err := Prepare(again(j)); !errors.Is(err, ErrNotExact) {
		t.Errorf("resumed with %v", err)
	}
	if e, err := EvaluateRun(t.Context(), j, NewestAlone, true, 8); err != nil || e.Episodes != 8 || e.Steps != 256 {
		t.Errorf("%+v, %v", e, err)
	}
	next := small(t, forgetful, 64, "normalize_obs=true")
	next.From, next.Steps = j.Dir, 0
	if got := train(t, next); got.WeightsSHA256 != want.WeightsSHA256 {
		t.Error("the new run did not start from the weights")
	}
}

// Such a run goes on with new episodes if it is allowed to, counters and all, and
// says so.
func TestRestartEpisodes(t *testing.T) {
	whole := small(t, forgetful, 256)
	want := train(t, whole)
	j := small(t, forgetful, 256)
	trainUntil(t, j, func(r Report) bool { return r.Iter == 2 })
	j = again(j)
	j.RestartEpisodes = true
	w := &spy{}
	j.Watch = w
	s, err := Prepare(j)
	if err != nil {
		t.Fatal(err)
	}
	if s.Done() != 128 || len(w.notes) != 1 || !strings.Contains(w.notes[0], "begin new episodes at step 128") {
		t.Errorf("from step %d, notes %q", s.Done(), w.notes)
	}
	got, err := s.Train(t.Context())
	if err != nil || got.Steps != 256 || got.Iter != want.Iter {
		t.Errorf("%+v, %v", got, err)
	}
	if got.WeightsSHA256 == want.WeightsSHA256 {
		t.Error("new episodes gave the same weights: they were not new")
	}
}

// From takes weights and statistics over and nothing else.
func TestFrom(t *testing.T) {
	first := identity(t, "normalize_obs=true")
	want := train(t, first)

	j := identity(t, "normalize_obs=true")
	j.From, j.Seed, j.Steps, j.EvalEpisodes = first.Dir, 7, 0, 16
	got := train(t, j)
	if got.WeightsSHA256 != want.WeightsSHA256 || got.Steps != 0 || got.Episodes != 0 {
		t.Errorf("%d steps, weights %.8s, want %.8s at step 0", got.Steps, got.WeightsSHA256, want.WeightsSHA256)
	}
	first.Seed = 7 // for the same episodes
	e, err := EvaluateRun(t.Context(), first, NewestAlone, true, 16)
	if e.Steps = 0; err != nil || !reflect.DeepEqual(e, *got.Evaluation) {
		t.Errorf("evaluation %+v, %v, want %+v", *got.Evaluation, err, e)
	}

	j = identity(t, "hidden=8")
	j.From = first.Dir
	if _, err := Prepare(j); err == nil || !strings.Contains(err.Error(), "another network") || !strings.Contains(err.Error(), first.Dir) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(j.Dir); err == nil {
		t.Error("a run that cannot start left a folder")
	}
}

// A run from another's weights that has lost its checkpoints begins with those
// weights again.
func TestFromThenGone(t *testing.T) {
	first := identity(t)
	train(t, first)
	start := func() Job {
		j := identity(t)
		j.From, j.Seed = first.Dir, 7
		return j
	}
	want := train(t, start())
	j := start()
	trainUntil(t, j, func(r Report) bool { return r.Iter == 2 })
	if err := os.RemoveAll(checkpoints(j.Dir)); err != nil {
		t.Fatal(err)
	}
	j = again(j)
	if _, err := Prepare(j); !errors.As(err, new(NoCheckpoint)) {
		t.Errorf("it begins again without being asked to: %v", err)
	}
	j.OrBegin = true
	sameBits(t, train(t, j), want)
}

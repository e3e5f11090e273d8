package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/store"
)

// file returns a checkpoint that says who wrote it, and whether it was evaluated.
func file(who string, evaluated int64) checkpoint.File {
	return checkpoint.File{Meta: map[string]string{"who": who, "evaluated": fmt.Sprint(evaluated)}}
}

// committed puts a checkpoint into a run's store, as a cluster would.
func committed(t *testing.T, run, place string, step, evaluated int64) part.Manifest {
	t.Helper()
	o, err := checkpoint.Encode(step, file("cluster", evaluated))
	if err != nil {
		t.Fatal(err)
	}
	m := part.Manifest{Epoch: 1, Step: step, Object: "object", Size: o.Size(), SHA256: o.SHA256(), Evaluated: evaluated == step, Place: place}
	if err := store.Folder(place).Under(filepath.Base(run)).Put(t.Context(), m.Object, o.Reader(), o.Size()); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(run, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := (part.Committed{Epoch: 1, Shards: 2, Last: &m}).Write(run); err != nil {
		t.Fatal(err)
	}
	return m
}

// Of what single processes wrote and what a cluster committed, the one with more steps
// counts, and of the same step the one that was evaluated.
func TestKept(t *testing.T) {
	for _, c := range []struct {
		local, evaluated     int64 // -1: there is none
		cluster, evaluatedBy int64
		want                 string
	}{
		{-1, -1, 64, -1, "cluster"}, {32, -1, 64, -1, "cluster"}, {96, -1, 64, -1, "local"}, {64, -1, 64, -1, "local"},
		{64, -1, 64, 64, "cluster"}, {64, 64, 64, 64, "local"}, {96, -1, -1, -1, "local"},
	} {
		run := filepath.Join(t.TempDir(), "run")
		for _, place := range []string{filepath.Dir(run), t.TempDir()} { // beside it, and elsewhere
			k, err := openKept(t.Context(), run, 3)
			if err == nil && c.local >= 0 {
				err = k.Save(c.local, file("local", c.evaluated))
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.cluster >= 0 {
				committed(t, run, place, c.cluster, c.evaluatedBy)
			}
			f, step, _, err := Newest(t.Context(), run)
			if err != nil || f.Meta["who"] != c.want || step != max(c.local, c.cluster) {
				t.Errorf("%+v: %v of step %d, %v", c, f.Meta, step, err)
			}
		}
	}
}

// A committed checkpoint that is not what was committed is an error, also where there is
// an older one.
func TestKeptDamaged(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"gone": os.Remove, "torn": func(path string) error { return os.Truncate(path, 10) },
	} {
		run := filepath.Join(t.TempDir(), "run")
		k, err := openKept(t.Context(), run, 3)
		if err == nil {
			err = k.Save(32, file("local", -1))
		}
		m := committed(t, run, filepath.Dir(run), 64, -1)
		if err = errors.Join(err, damage(filepath.Join(run, m.Object))); err != nil {
			t.Fatal(err)
		}
		if f, _, _, err := Newest(t.Context(), run); err == nil || !strings.Contains(err.Error(), "object") {
			t.Errorf("%s: %v, %v", name, f.Meta, err)
		}
	}
}

// Where committed.json is missing, the newest good object of the run's folder counts which the
// record reaches: one that it does not reach was never committed.
func TestKeptUncommitted(t *testing.T) {
	run := filepath.Join(t.TempDir(), "run")
	put := func(epoch, step int64) string {
		t.Helper()
		o, err := checkpoint.Encode(step, file("cluster", -1))
		if err != nil {
			t.Fatal(err)
		}
		name := ObjectName(epoch, step, o.SHA256())
		if err := store.Folder(run).Put(t.Context(), name, o.Reader(), o.Size()); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(run, name)
	}
	put(1, 32)
	put(2, 64)
	last, beyond := put(3, 96), put(3, 128)
	record := filepath.Join(run, recordFile)
	if err := os.WriteFile(record, []byte(`{"step":32,"iter":1,"seconds":0}`+"\n"+`{"step":96,"iter":3,"seconds":0}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	newest := func(want int64, skips int) {
		t.Helper()
		f, step, skipped, err := Newest(t.Context(), run)
		if err != nil || step != want || f.Meta["who"] != "cluster" || len(skipped) != skips {
			t.Errorf("step %d, %v, passed over %v, %v", step, f.Meta, skipped, err)
		}
	}
	newest(96, 0)
	if err := os.Truncate(last, 100); err != nil {
		t.Fatal(err)
	}
	newest(64, 1)
	c, err := Committed(t.Context(), run, "")
	if err != nil || c.Step() != 64 || c.Epoch != 3 || c.Note == "" {
		t.Errorf("%+v, %v", c, err)
	}
	if err := errors.Join(os.Remove(record), os.Remove(last)); err != nil {
		t.Fatal(err)
	}
	newest(128, 0)
	if _, err := os.Stat(beyond); err != nil {
		t.Error(err)
	}
}

// The best of both is the best, and what is no better does not take its place.
func TestKeptBest(t *testing.T) {
	run := filepath.Join(t.TempDir(), "run")
	if _, _, _, err := Best(t.Context(), run); !errors.Is(err, checkpoint.ErrNone) {
		t.Errorf("of nothing: %v", err)
	}
	committed(t, run, filepath.Dir(run), 64, -1)
	o, err := checkpoint.EncodeBest(5, 64, file("cluster", -1))
	if err == nil {
		err = store.Folder(run).Put(t.Context(), BestName(1), o.Reader(), o.Size())
	}
	if err != nil {
		t.Fatal(err)
	}
	k, err := openKept(t.Context(), run, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		score, want float64
		who         string
	}{{4, 5, "cluster"}, {5, 5, "cluster"}, {6, 6, "local"}, {5.5, 6, "local"}} {
		if err := k.SaveBest(x.score, 96, file("local", -1)); err != nil {
			t.Fatal(err)
		}
		if f, score, _, err := Best(t.Context(), run); err != nil || score != x.want || f.Meta["who"] != x.who {
			t.Errorf("after %v: %v of %v, %v", x.score, score, f.Meta, err)
		}
	}
}

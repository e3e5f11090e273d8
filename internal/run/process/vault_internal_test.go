package process

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/part/parttest"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/internal/run/store"
)

// TestBestOfEpochs: what a process of an epoch that is over still writes does not take the place of
// a better one, and an epoch that has a better one does away with those before it.
func TestBestOfEpochs(t *testing.T) {
	s := store.Folder(t.TempDir()).Under("r")
	at := func(epoch int64) *vault {
		return &vault{ctx: t.Context(), store: s, a: part.Assignment{Epoch: epoch}, keep: 1, patience: time.Minute, to: parttest.NewDesk(1)}
	}
	save := func(v *vault, score, want float64, names ...string) {
		t.Helper()
		if err := v.SaveBest(score, int64(score), checkpoint.File{Meta: map[string]string{"score": fmt.Sprint(score)}}); err != nil {
			t.Fatal(err)
		}
		f, got, step, err := runner.FetchBest(t.Context(), s)
		if err != nil || got != want || step != int64(want) || f.Meta["score"] != fmt.Sprint(want) {
			t.Errorf("after %v: %v of step %d, want %v; %v", score, got, step, want, err)
		}
		objects, err := s.List(t.Context())
		if slices.Sort(objects); err != nil || !slices.Equal(objects, names) {
			t.Errorf("after %v: %v, want %v; %v", score, objects, names, err)
		}
	}
	first, second := at(1), at(2)
	save(first, 3, 3, "best.epoch-1.safetensors")
	save(second, 2, 3, "best.epoch-1.safetensors")
	save(second, 5, 5, "best.epoch-2.safetensors")
	save(first, 4, 5, "best.epoch-1.safetensors", "best.epoch-2.safetensors") // it stood still meanwhile
	save(at(3), 6, 6, "best.epoch-3.safetensors")
	if err := s.Delete(t.Context(), "best.epoch-3.safetensors"); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := runner.FetchBest(t.Context(), s); err == nil {
		t.Error("there is one where there is none")
	}
	if err := s.Put(t.Context(), runner.BestName(3), strings.NewReader("?"), 1); err != nil {
		t.Fatal(err)
	}
	save(at(4), 1, 1, "best.epoch-3.safetensors", "best.epoch-4.safetensors") // it may be better
}

// TestSuperseded: a commit does away with checkpoints that it supersedes, and with none that has
// more steps, whatever that is doing in the store.
func TestSuperseded(t *testing.T) {
	s := store.Folder(t.TempDir()).Under("r")
	for _, name := range []string{runner.ObjectName(1, 32, "a"), runner.ObjectName(1, 640, "b")} {
		if err := s.Put(t.Context(), name, strings.NewReader("?"), 1); err != nil {
			t.Fatal(err)
		}
	}
	desk := parttest.NewDesk(1)
	v := &vault{ctx: t.Context(), store: s, a: part.Assignment{Epoch: 2}, keep: 1, patience: time.Minute, to: desk, lines: newRecord(t.Context(), desk)}
	steps := func(want ...int64) {
		t.Helper()
		names, err := s.List(t.Context())
		var got []int64
		for _, name := range names {
			_, step, _ := runner.ParseObject(name)
			got = append(got, step)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("checkpoints of steps %v, want %v; %v", got, want, err)
		}
	}
	for _, x := range []struct {
		step int64
		want []int64
	}{{64, []int64{64, 640}}, {128, []int64{128, 640}}, {1024, []int64{1024}}} {
		if err := v.Save(x.step, checkpoint.File{Meta: map[string]string{"recorded": "0"}}); err != nil {
			t.Fatal(err)
		}
		steps(x.want...)
	}
	if err := v.lines.Close(); err != nil {
		t.Error(err)
	}
}

package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-rl/weft/algo/dqn"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/wrap"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/rl"
)

const glimmers = 600 // numbers of an observation

// glimmer is an environment with large observations and short episodes.
type glimmer struct{ at, age int }

func (h *glimmer) Reset(k rl.Key, obs env.Row) {
	h.at, h.age = k.IntN(0, 0, 1000), 0
	h.show(obs)
}

func (h *glimmer) Step(k rl.Key, _, obs env.Row) (float64, bool, bool) {
	h.at, h.age = h.at+1+k.IntN(0, 0, 3), h.age+1
	h.show(obs)
	return float64(h.at % 7), h.age > 5 && k.IntN(0, 1, 9) == 0, h.age == 20
}

func (h *glimmer) show(obs env.Row) {
	x := obs.Float32("")
	for i := range x {
		x[i] = float32((h.at*31+i*h.at)%97) / 97
	}
}

func (h *glimmer) MarshalBinary() ([]byte, error) { return fmt.Append(nil, h.at, " ", h.age), nil }

func (h *glimmer) UnmarshalBinary(b []byte) error {
	_, err := fmt.Sscan(string(b), &h.at, &h.age)
	return err
}

var glimmering = env.Entry{ID: "Glimmer", New: func(s *rl.Scope, n int, _ any) (env.Batch, error) {
	spec := env.Spec{ID: "Glimmer", Obs: rl.Box{Dims: []int{glimmers}}, Action: rl.Discrete{N: 2}}
	return env.Hosts(s, n, spec, func(int) (env.Host, error) { return &glimmer{}, nil })
}}

// replaying returns a run of DQN with a table of several megabytes, which is filled twice.
func replaying(t *testing.T, set ...string) Job {
	t.Helper()
	d, err := device.Open(device.Default)
	if err != nil {
		t.Fatal(err)
	}
	c := dqn.Algorithm.Config()
	if err := config.Defaults(c); err != nil {
		t.Fatal(err)
	}
	var layer []config.Assignment
	for _, text := range append([]string{"envs=4", "train_every=10", "batch=16", "buffer=1500", "learning_starts=400", "hidden=8", "n_step=3"}, set...) {
		a, err := config.ParseSet(text, "test")
		if err != nil {
			t.Fatal(err)
		}
		layer = slices.DeleteFunc(layer, func(x config.Assignment) bool { return x.Key == a.Key })
		layer = append(layer, a)
	}
	if err := config.Set(c, layer); err != nil {
		t.Fatal(err)
	}
	return Job{
		Algorithm: dqn.Algorithm, Config: c, Env: glimmering, Wrap: wrap.List{wrap.FrameStack(4)}, Device: d, Seed: 1, Steps: 3200,
		Dir: filepath.Join(t.TempDir(), "run"), CheckpointEvery: time.Hour,
	}
}

// A run whose table is kept in blocks is interrupted and resumed, several times, and ends in the
// same bits; its checkpoints hold what changed.
func TestResumeStores(t *testing.T) {
	whole := replaying(t)
	whole.CheckpointSteps = 400
	want := train(t, whole)
	broken := replaying(t)
	for i, at := range []int64{5, 20, 60, 79} {
		j := broken
		j.Resume = i > 0
		trainUntil(t, j, func(r Report) bool { return r.Iter == at })
	}
	sameBits(t, train(t, again(broken)), want)

	var largest, last int64
	files, err := os.ReadDir(checkpoints(whole.Dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if info, err := f.Info(); err == nil && strings.HasSuffix(f.Name(), ".blocks") {
			largest, last = max(largest, info.Size()), info.Size()
		}
	}
	if stack := int64(4 * 4 * glimmers); largest == 0 || last > 1500*stack/3 {
		t.Errorf("the newest blocks take %d bytes of a table with stacks of %d", last, stack)
	}
}

// The same run with its table on disk has the same bits, also when it was interrupted. One whose
// table would pass the limit ends before it has begun.
func TestStoresOnDisk(t *testing.T) {
	want := train(t, replaying(t))
	j := replaying(t)
	j.Storage = &rl.Storage{Dir: t.TempDir()}
	trainUntil(t, j, func(r Report) bool { return r.Iter == 30 })
	sameBits(t, train(t, again(j)), want)
	full := replaying(t)
	full.Storage = &rl.Storage{Limit: 3_000_000} // its frames alone take 3.6 MB
	_, err := Train(t.Context(), full)
	if err == nil || !strings.Contains(err.Error(), "limit of 3 MB") || !strings.Contains(err.Error(), "before the first checkpoint") {
		t.Error(err)
	}
}

// A checkpoint, and resuming from one, take little memory beside that of the table.
func TestStoresMemory(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	j := replaying(t, "buffer=10000", "learning_starts=10000", "train_every=50")
	j.Steps = 8000
	const frames = 8000 * 4 * glimmers
	before := heap()
	s, err := Prepare(j)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	runtime.KeepAlive(s)
	filled := heap() - before
	f, state, err := s.content()
	if err != nil {
		t.Fatal(err)
	}
	if more := heap() - before - filled; more > frames/10 {
		t.Errorf("a checkpoint takes %d bytes beside the %d of the run", more, filled)
	}
	runtime.KeepAlive(f)
	s.release(state)
	s = nil
	again, err := Prepare(again(j))
	if err != nil {
		t.Fatal(err)
	}
	if now := heap() - before; now > filled+filled/10 {
		t.Errorf("resumed it takes %d bytes, the run took %d", now, filled)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

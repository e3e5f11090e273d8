package mujoco

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/gobackend"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/mujoco/internal/mj"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/rl"
)

// recording is the file that testdata/record.py writes.
type recording struct {
	Mujoco       string
	Trajectories []trajectory
}

type trajectory struct {
	Env               string
	Options           map[string]any
	Qpos, Qvel, First []float64
	Steps             []struct {
		Action                []float32
		Obs                   []float64
		Reward                float64
		Parts                 map[string]float64
		Terminated, Truncated bool
	}
}

func readRecording(t *testing.T, path string) (r recording) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err == nil {
		err = json.NewDecoder(z).Decode(&r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// needLibrary skips a test where there is no MuJoCo at all.
func needLibrary(t testing.TB) *mj.Lib {
	t.Helper()
	path, err := mj.Library("", "")
	if err != nil {
		t.Skip(err)
	}
	if _, err := mj.Models("", ""); err != nil {
		t.Skip(err)
	}
	lib, err := mj.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

func newScope(t testing.TB, seed uint64) *rl.Scope {
	t.Helper()
	b, err := gobackend.New("ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	return rl.NewScope(rl.NewDevice(b), seed)
}

// make1 makes n environments of an id, unguarded, closed with the test.
func make1(t testing.TB, s *rl.Scope, id string, n int, set ...string) *Batch {
	t.Helper()
	for _, e := range All {
		if e.ID == id {
			return makeOf(t, s, e, n, set)
		}
	}
	t.Fatalf("no environment %s", id)
	return nil
}

func makeOf(t testing.TB, s *rl.Scope, e env.Entry, n int, set []string) *Batch {
	t.Helper()
	o := e.Options()
	if err := setAll(o, set); err != nil {
		t.Fatal(err)
	}
	b, err := e.New(s, n, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.(*Batch).Close() })
	return b.(*Batch)
}

// setAll sets options as texts say.
func setAll(o any, set []string) error {
	var pairs []config.Assignment
	for _, text := range set {
		a, err := config.ParseSet(text, "test")
		if err != nil {
			return err
		}
		pairs = append(pairs, a)
	}
	return config.Set(o, pairs)
}

// text returns an option of Python's as a setting.
func text(x any) string {
	if list, ok := x.([]any); ok {
		var parts []string
		for _, v := range list {
			parts = append(parts, text(v))
		}
		return strings.Join(parts, ",")
	}
	return fmt.Sprint(x)
}

// set puts an environment into a state as Gymnasium's set_state does.
func (b *Batch) set(qpos, qvel []float64) {
	b.Obs()
	all := []int32{0}
	b.must(b.sims.Reset(all))
	copy(b.rows[0].qpos, qpos)
	copy(b.rows[0].qvel, qvel)
	b.settle(all)
}

// comparison counts numbers that are not the same bits, and finds those that are
// further apart than tolerance, relative to 1 and to themselves.
type comparison struct {
	t         *testing.T
	tolerance float64
	all, off  int
	worst     float64
}

func (c *comparison) check(what string, got, want float64) {
	c.t.Helper()
	c.all++
	if math.Float64bits(got) == math.Float64bits(want) || got == 0 && want == 0 {
		return
	}
	c.off++
	d := math.Abs(got-want) / (1 + math.Abs(want))
	c.worst = max(c.worst, d)
	if !(d <= c.tolerance) {
		c.t.Errorf("%s is %v, Gymnasium has %v", what, got, want)
	}
}

func (c *comparison) checkAll(what string, got, want []float64) {
	c.t.Helper()
	if len(got) != len(want) {
		c.t.Fatalf("%s has %d numbers, Gymnasium has %d", what, len(got), len(want))
	}
	for i := range want {
		c.check(fmt.Sprintf("%s[%d]", what, i), got[i], want[i])
	}
}

func (c *comparison) replay(b *Batch, x trajectory) {
	b.set(x.Qpos, x.Qvel)
	c.checkAll("first observation", b.fresh, x.First)
	for i, step := range x.Steps {
		b.advance(step.Action)
		at := fmt.Sprintf("step %d: ", i+1)
		c.checkAll(at+"observation", b.seen, step.Obs)
		c.check(at+"reward", b.total[0], step.Reward)
		names, values := b.Parts()
		if len(names) != len(step.Parts) {
			c.t.Fatalf("reward has parts %v, Gymnasium's %v", names, step.Parts)
		}
		for j, name := range names {
			want, ok := step.Parts[name]
			if !ok {
				c.t.Fatalf("Gymnasium's reward has no part %s", name)
			}
			c.check(at+name, values[j], want)
		}
		if b.term[0] != step.Terminated || b.trunc[0] != step.Truncated {
			c.t.Fatalf("%sterminated %v, truncated %v; Gymnasium %v, %v", at, b.term[0], b.trunc[0], step.Terminated, step.Truncated)
		}
		if c.t.Failed() {
			return
		}
	}
}

func compare(t *testing.T, r recording, tolerance func(id string) float64, also ...string) {
	ends := 0
	for i, x := range r.Trajectories {
		set := slices.Clone(also)
		for k, v := range x.Options {
			set = append(set, k+"="+text(v))
		}
		t.Run(fmt.Sprintf("%s/%d", x.Env, i), func(t *testing.T) {
			c := &comparison{t: t, tolerance: tolerance(x.Env)}
			c.replay(make1(t, newScope(t, 1), x.Env, 1, set...), x)
			t.Logf("%d steps: %d of %d numbers differ, by at most %.1e", len(x.Steps), c.off, c.all, c.worst)
		})
		if x.Steps[len(x.Steps)-1].Terminated {
			ends++
		}
	}
	if ends < 5 {
		t.Errorf("only %d of %d trajectories end by termination: there is too little to compare", ends, len(r.Trajectories))
	}
}

// recorded returns what Gymnasium did with a version on another machine.
func recorded(t *testing.T, version string) recording {
	t.Helper()
	file := filepath.Join("testdata", "trajectories-"+version+".json.gz")
	if _, err := os.Stat(file); err != nil {
		t.Skipf("there is no recording of MuJoCo %s", version)
	}
	return readRecording(t, file)
}

// elsewhere returns the tolerance for a recording: libm may round differently there, and
// a simulation magnifies that.
func elsewhere(string) float64 { return 1e-9 }

// TestRecorded: what Gymnasium did on another machine.
func TestRecorded(t *testing.T) {
	compare(t, recorded(t, needLibrary(t).Version), elsewhere)
}

// lastBit are the tasks with sines, cosines and norms in what they show, where
// NumPy's last bit is not Go's.
var lastBit = map[string]bool{"InvertedDoublePendulum-v5": true, "Reacher-v5": true, "Pusher-v5": true}

// TestLive: what Gymnasium does here and now, to the last bit.
func TestLive(t *testing.T) {
	lib := needLibrary(t)
	python := os.Getenv("WEFT_PYTHON")
	if python == "" {
		python = "python3"
	}
	if err := exec.Command(python, "-c", "import gymnasium.envs.mujoco").Run(); err != nil {
		t.Skipf("%s has no gymnasium[mujoco]", python)
	}
	script, err := filepath.Abs(filepath.Join("testdata", "record.py"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsRune(python, filepath.Separator) { // it is started from elsewhere
		if python, err = filepath.Abs(python); err != nil {
			t.Fatal(err)
		}
	}
	folder := t.TempDir() // MuJoCo writes its warnings to a file where it runs
	file := filepath.Join(folder, "live.json.gz")
	cmd := exec.Command(python, script, file, "150")
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	live := readRecording(t, file)
	if live.Mujoco != lib.Version {
		t.Skipf("MuJoCo is %s, and Gymnasium uses %s", lib.Version, live.Mujoco)
	}
	compare(t, live, func(id string) float64 {
		if lastBit[id] {
			return 1e-15
		}
		return 0
	})
}

package gym

import (
	"errors"
	"hash/fnv"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// play returns everything that environments show in some steps of random actions.
func play(s *rl.Scope, b env.Batch, from, n int) (out []string) {
	obs := b.Obs()
	for i := range n {
		x := b.Step(env.Sample(s, b.Spec(), obs, rl.NewKey(9).Fold(uint64(from+i))))
		out, obs = append(out, sum(rl.Leaves(x))), x.Obs
	}
	return out
}

// sum stands for tensors: of images, there are many numbers.
func sum(all []rl.Tensor) string {
	h := fnv.New128a()
	for _, t := range all {
		if t.Ok() {
			_, _ = h.Write(bytesOf(t)) // it cannot fail
		}
	}
	return string(h.Sum(nil))
}

// The number of processes changes nothing, nor does the number of replicas that
// share the environments.
func TestWorkersSameBits(t *testing.T) {
	needs(t)
	t.Parallel()
	for _, id := range []string{"CartPole-v1", ours + "Mixed", "HalfCheetah-v5"} {
		if id == "HalfCheetah-v5" {
			needs(t, "mujoco", "imageio")
		}
		var want []string
		for _, workers := range []int{1, 3} {
			s, b := openTest(t, id, 5, with(func(o *Options) { o.Workers = workers }))
			got := play(s, b, 0, 80)
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %d workers see something else than one", id, workers)
			}
		}
	}
}

// What can be saved is found out; what cannot says why.
func TestExact(t *testing.T) {
	needs(t)
	t.Parallel()
	for _, c := range []struct {
		id, why string
		modules []string
	}{
		{"CartPole-v1", "", nil},
		{ours + "Own", "", nil},
		{ours + "Locked", "cannot pickle '_thread.lock' object", nil},
		{ours + "Forgetful", "does not go on as the original does", nil},
		{"HalfCheetah-v5", "", []string{"mujoco", "imageio"}},
	} {
		t.Run(c.id, func(t *testing.T) {
			needs(t, c.modules...)
			_, b := openTest(t, c.id, 1, with(nil))
			if spec := b.Spec(); spec.Exact != (c.why == "") || !strings.Contains(spec.Why, c.why) {
				t.Errorf("exact %v, because %q; want %q", spec.Exact, spec.Why, c.why)
			}
		})
	}
}

// MuJoCo's environments go on where they were saved.
func TestSnapshotMuJoCo(t *testing.T) {
	needs(t, "mujoco", "imageio")
	t.Parallel()
	o := with(func(o *Options) { o.Workers = 1 })
	s, b := openTest(t, "Humanoid-v5", 2, o)
	play(s, b, 0, 30)
	st := rl.NewState(s)
	s.Save(st)
	want := play(s, b, 30, 40)
	again, c := openTest(t, "Humanoid-v5", 2, o)
	if err := again.Load(st); err != nil {
		t.Fatal(err)
	}
	if got := play(again, c, 30, 40); !slices.Equal(got, want) {
		t.Error("loaded and gone on it shows something else")
	}
}

// An environment that cannot be saved goes on with new episodes, which are not
// its first ones again.
func TestRestartEpisodes(t *testing.T) {
	needs(t)
	t.Parallel()
	s, b := openTest(t, ours+"Locked", 3, with(nil))
	begin := rl.Floats(b.Obs().X.At(0))
	play(s, b, 0, 4)
	if err := rl.Catch(func() error { b.Save(rl.NewState(s)); return nil }); !errors.Is(err, env.ErrNoSnapshot) {
		t.Errorf("saving gave %v", err)
	}
	st := rl.System.Restarting(rl.NewState(s))
	s.Save(st)
	again, c := openTest(t, ours+"Locked", 3, with(nil))
	if err := again.Load(st); err != nil {
		t.Fatal(err)
	}
	next := rl.Floats(c.Obs().X.At(0))
	if next[0] != 0 || slices.Equal(next, begin) || !rl.Read[bool](c.Obs().First)[2] {
		t.Errorf("began with %v, then with %v", begin, next)
	}
	play(again, c, 4, 12)
}

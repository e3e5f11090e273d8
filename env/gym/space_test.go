package gym

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// openTest opens environments in a scope of their own.
func openTest(t testing.TB, id string, n int, o *Options) (*rl.Scope, env.Batch) {
	t.Helper()
	s := newScope(t, 1)
	b, err := env.Open(s, entry(t, id), n, o)
	if err != nil {
		t.Fatal(err)
	}
	return s, b
}

// Every space that there is arrives as the contract has it, and actions arrive as
// Gymnasium has them: the environment checks that they are in its space.
func TestSpaces(t *testing.T) {
	needs(t)
	t.Parallel()
	s, b := openTest(t, ours+"Mixed", 2, with(nil))
	spec := b.Spec()
	want := "Dict(half: Box(-1..1, [2]), image: Box(0..255, [2 3]), inner.digits: MultiDiscrete([3 5]), inner.which: Discrete(4 from -1), " +
		"on: MultiBinary(4), pair.0: Discrete(2), pair.1: Box(-Inf..+Inf, []), short: Box([2]), wide: Box(0..1.0995116e+12, [1]))"
	if spec.Obs.String() != want {
		t.Errorf("observations %s\nwant %s", spec.Obs, want)
	}
	want = "Dict(codes.0: MultiDiscrete([2 3]), codes.1: Box(0..10, []), force: Box(-2..2, [2]), keys: MultiBinary(3), move: Discrete(3 from 2))"
	if spec.Action.String() != want {
		t.Errorf("actions %s\nwant %s", spec.Action, want)
	}
	var types []string
	for _, l := range spec.Obs.Leaves() {
		types = append(types, l.Space.Shape().String())
	}
	if got := strings.Join(types, " "); got != "(Float32)[2] (Uint8)[2, 3] (Int32)[2] (Int32) (Int32)[4] (Int32) (Float32) (Int32)[2] (Int64)[1]" {
		t.Errorf("types %s", got)
	}
	out := b.Step(env.Sample(s, spec, b.Obs(), s.Key("act")))
	x := out.Obs.X
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"image", rl.Read[uint8](x.Leaf("image"))[:3], []uint8{201, 201, 201}},
		{"wide", rl.Read[int64](x.Leaf("wide")), []int64{1<<33 + 1, 1<<33 + 1}},
		{"short", rl.Read[int32](x.Leaf("short"))[:2], []int32{-2, 1}},
		{"digits", rl.Read[int32](x.Leaf("inner.digits"))[:2], []int32{1, 1}},
		{"which", rl.Read[int32](x.Leaf("inner.which")), []int32{0, 0}},
		{"pair", rl.Read[float32](x.Leaf("pair.1")), []float32{1. / 7, 1. / 7}},
		{"reward", rl.Read[float32](out.Reward), []float32{1, 1}},
	} {
		if fmt.Sprint(c.got) != fmt.Sprint(c.want) {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
}

// Spaces without a fixed size are refused by name.
func TestRefused(t *testing.T) {
	needs(t)
	t.Parallel()
	for _, space := range []string{"Text", "Graph", "Sequence", "OneOf", "nested"} {
		o := with(func(o *Options) { o.Workers = 1 })
		if err := o.SetExtra("space", space); err != nil {
			t.Fatal(err)
		}
		_, err := env.Open(newScope(t, 1), entry(t, ours+"Odd"), 1, o)
		want := fmt.Sprintf("observation space is a %s", space)
		if space == "nested" {
			want = "observation 'a.0' space is a Text"
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Traceback") {
			t.Errorf("%s: error %v, want ...%s...", space, err, want)
		}
	}
}

// An environment that resets itself does not: its final observations would be
// lost.
func TestAutoreset(t *testing.T) {
	needs(t)
	t.Parallel()
	s, b := openTest(t, ours+"again", 3, with(func(o *Options) { o.Workers = 1 }))
	if b.Spec().Limit != 8 {
		t.Errorf("limit %d", b.Spec().Limit)
	}
	for i := range 20 {
		out := b.Step(env.Sample(s, b.Spec(), b.Obs(), s.Key("act").Fold(uint64(i))))
		final, next, over := rl.Read[float32](out.Final.X.At(0)), rl.Read[float32](out.Obs.X.At(0)), rl.Read[bool](out.Over)
		for j := range over {
			if over[j] && (final[2*j] < 5 || next[2*j] != 0) || !over[j] && final[2*j] != next[2*j] {
				t.Fatalf("step %d: final %v, next %v, over %v", i, final, next, over)
			}
		}
	}
}

// The mask of an observation that nobody acts on may be missing.
func TestNoLastMask(t *testing.T) {
	needs(t)
	t.Parallel()
	s, b := openTest(t, ours+"Unmasked", 2, with(func(o *Options) { o.Workers = 1 }))
	play(s, b, 0, 30)
	if n := s.Episodes().Count(); n < 4 {
		t.Errorf("%d episodes in 30 steps of 2 environments", n)
	}
}

// Wrappers go around in order, by name and with arguments; bounds can be opened.
func TestWrappers(t *testing.T) {
	needs(t)
	t.Parallel()
	s, b := openTest(t, ours+"Base", 1, with(func(o *Options) {
		o.Bounds = "open"
		o.Wrappers = []string{ours + "Double(by=3)", "ClipReward(min_reward=-1;max_reward=2)", ours + "Double"}
	}))
	if got := b.Spec().Obs.String(); got != "Box(-Inf..+Inf, [2])" {
		t.Errorf("observations %s", got)
	}
	out := b.Step(env.Sample(s, b.Spec(), b.Obs(), s.Key("act")))
	if r := rl.Read[float32](out.Reward); !slices.Equal(r, []float32{4}) {
		t.Errorf("reward %v, want 1 times 3, at most 2, times 2", r)
	}
}

package debug_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/gobackend"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/rl"
)

func newScope(t testing.TB) *rl.Scope {
	b, err := gobackend.New("ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	return rl.NewScope(rl.NewDevice(b), 1)
}

// play returns the mean return of a policy over some episodes of n environments, and
// the mean length.
func play(t *testing.T, e env.Entry, options any, n, steps int, act func(s *rl.Scope, o rl.Obs) rl.Tree) (ret, length float64) {
	t.Helper()
	s := newScope(t)
	b, err := env.Open(s, e, n, options)
	if err != nil {
		t.Fatal(err)
	}
	for range steps {
		b.Step(act(s, b.Obs()))
	}
	ret, length, count := s.Episodes().Mean()
	if count == 0 {
		t.Fatal("no episode ended")
	}
	return ret, length
}

// choose makes discrete actions of each environment's observation.
func choose(f func(x []float32) int) func(*rl.Scope, rl.Obs) rl.Tree {
	return func(s *rl.Scope, o rl.Obs) rl.Tree {
		x := rl.Read[float32](o.X.Leaf(""))
		n := o.First.Rows()
		out := make([]int32, n)
		for i := range out {
			out[i] = int32(f(x[i*len(x)/n : (i+1)*len(x)/n]))
		}
		return rl.One(rl.FromFlat(s, out, n))
	}
}

// hot returns the position of the one in a one-hot vector.
func hot(x []float32) int { return slices.Index(x, 1) }

// last returns the highest position of a one.
func last(x []float32) int {
	i := len(x) - 1
	for x[i] == 0 {
		i--
	}
	return i
}

// Returns of policies that can be worked out by hand. A window of 100 episodes
// of 16 steps has a standard error below 0.2.
func TestReturns(t *testing.T) {
	echo := func(_ *rl.Scope, o rl.Obs) rl.Tree { return o.X }
	zero := choose(func([]float32) int { return 0 })
	two := &debug.IdentityOptions{Symbols: 2}
	for _, x := range []struct {
		name    string
		entry   env.Entry
		options any
		policy  func(*rl.Scope, rl.Obs) rl.Tree
		want    float64
		slack   float64
	}{
		{"named", debug.Identity, nil, choose(hot), 16, 0},
		{"one of four", debug.Identity, nil, zero, 4, .9},
		{"one of two", debug.Identity, two, zero, 8, 1},
		{"host named", debug.Host, nil, choose(hot), 16, 0},
		{"host one of four", debug.Host, nil, zero, 4, .9},
		{"host one of two", debug.Host, two, zero, 8, 1},
		{"repeated", debug.IdentityContinuous, nil, echo, 16, 0},
		{"the middle", debug.IdentityContinuous, nil, func(_ *rl.Scope, o rl.Obs) rl.Tree {
			return o.X.Map(rl.Zero)
		}, 16 * 2 / 3., .3},
		{"highest", debug.Masked, nil, choose(last), 16, 0},
		{"lowest", debug.Masked, &debug.MaskedOptions{Actions: 2}, choose(hot), 16 * 2 / 4., 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			ret, length := play(t, x.entry, x.options, 10, 10*debug.Length, x.policy)
			if math.Abs(ret-x.want) > x.slack || length != debug.Length {
				t.Errorf("return %v in %v steps, want %v in %d", ret, length, x.want, debug.Length)
			}
		})
	}
}

// TestTwoStep: the first agent's action chooses the game, and both agents' actions what it pays.
func TestTwoStep(t *testing.T) {
	for _, x := range []struct {
		first, second [2]int32
		want          float64
	}{
		{[2]int32{0, 1}, [2]int32{0, 1}, 7}, {[2]int32{0, 0}, [2]int32{1, 1}, 7},
		{[2]int32{1, 0}, [2]int32{0, 0}, 0}, {[2]int32{1, 0}, [2]int32{0, 1}, 1},
		{[2]int32{1, 1}, [2]int32{1, 0}, 1}, {[2]int32{1, 0}, [2]int32{1, 1}, 8},
	} {
		ret, length := play(t, debug.TwoStep, nil, 1, 4, func(s *rl.Scope, o rl.Obs) rl.Tree {
			moves := x.second
			if rl.Read[float32](o.State)[0] == 1 {
				moves = x.first
			}
			return rl.One(rl.FromFlat(s, moves[:], 1, 2))
		})
		if ret != x.want || length != 2 {
			t.Errorf("%v, then %v: return %v in %v steps, want %v in 2", x.first, x.second, ret, length, x.want)
		}
	}
}

// With memory every episode earns 1; without, no better than chance can be done,
// because from the second observation on all episodes look alike.
func TestMemory(t *testing.T) {
	for _, delay := range []int{1, 6} {
		options := &debug.MemoryOptions{Delay: delay}
		cues := make([]int, 20)
		remember := func(s *rl.Scope, o rl.Obs) rl.Tree {
			i := -1
			return choose(func(x []float32) int {
				if i++; hot(x[:2]) >= 0 {
					cues[i] = hot(x[:2])
				}
				return cues[i]
			})(s, o)
		}
		ret, length := play(t, debug.Memory, options, len(cues), 5*(delay+2), remember)
		if ret != 1 || length != float64(delay+2) {
			t.Errorf("delay %d: return %v in %v steps with memory, want 1 in %d", delay, ret, length, delay+2)
		}
		guess, _ := play(t, debug.Memory, options, len(cues), 5*(delay+2), choose(func([]float32) int { return 1 }))
		if math.Abs(guess-.5) > .2 {
			t.Errorf("delay %d: return %v by guessing, want about .5", delay, guess)
		}
	}
}

func TestMemoryForgets(t *testing.T) {
	const n, delay = 30, 6
	s := newScope(t)
	b, err := env.Open(s, debug.Memory, n, nil)
	if err != nil {
		t.Fatal(err)
	}
	first := rl.Read[float32](b.Obs().X.Leaf(""))
	if c := counts(first, 3); c["[1 0 0]"] == 0 || c["[0 1 0]"] == 0 || len(c) != 2 {
		t.Fatalf("cues shown are %v", c)
	}
	right := make([]int32, n)
	for i := range right {
		right[i] = int32(first[3*i+1])
	}
	for step := 1; step <= delay+2; step++ {
		out := b.Step(rl.One(rl.FromFlat(s, right, n)))
		seen := counts(rl.Read[float32](out.Final.X.Leaf("")), 3)
		want, reward := "[0 0 0]", float32(0)
		if step == delay+1 {
			want = "[0 0 1]"
		}
		if step == delay+2 {
			reward = 1
		}
		if seen[want] != n {
			t.Errorf("after step %d observations are %v, want %s everywhere", step, seen, want)
		}
		if r := rl.Read[float32](out.Reward); slices.Min(r) != reward || slices.Max(r) != reward {
			t.Errorf("rewards of step %d are %v, want %v", step, r, reward)
		}
		if over := rl.Read[bool](out.Terminated); slices.Contains(over, true) != (step == delay+2) {
			t.Errorf("terminated at step %d is %v", step, over)
		}
	}
}

// counts returns how often each row of width w occurs.
func counts(x []float32, w int) map[string]int {
	out := map[string]int{}
	for i := 0; i < len(x); i += w {
		out[fmt.Sprint(x[i:i+w])]++
	}
	return out
}

// Symbols are uniform, in the graph and on the host, at resets and later.
func TestUniform(t *testing.T) {
	for _, e := range []env.Entry{debug.Identity, debug.Host} {
		const n = 2000
		s := newScope(t)
		b, err := env.Open(s, e, n, nil)
		if err != nil {
			t.Fatal(err)
		}
		for step := range 3 {
			c := counts(rl.Read[float32](b.Obs().X.Leaf("")), 4)
			for symbol, k := range c {
				if math.Abs(float64(k)-n/4) > 5*math.Sqrt(n*3/16.) {
					t.Errorf("%s: step %d: symbol %s was shown %d times of %d", e.ID, step, symbol, k, n)
				}
			}
			if len(c) != 4 {
				t.Errorf("%s: step %d: symbols %v, want 4", e.ID, step, c)
			}
			b.Step(env.Sample(s, b.Spec(), b.Obs(), s.Key("act").Fold(uint64(step))))
		}
	}
}

// The defaults that entries set are those that the tags tell users.
func TestDefaults(t *testing.T) {
	for _, e := range debug.All {
		if e.Options == nil {
			continue
		}
		want := reflect.New(reflect.TypeOf(e.Options()).Elem()).Interface()
		if err := config.Defaults(want); err != nil {
			t.Fatal(err)
		}
		if got := e.Options(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: options are %+v, their tags say %+v", e.ID, got, want)
		}
	}
}

func TestWrongOptions(t *testing.T) {
	for _, x := range []struct {
		entry   env.Entry
		options any
		says    string
	}{
		{debug.Identity, &debug.IdentityOptions{Symbols: 1}, "option symbols is 1, at least 2"},
		{debug.Host, &debug.IdentityOptions{}, "option symbols is 0, at least 2"},
		{debug.Masked, &debug.MaskedOptions{Actions: -1}, "option actions is -1"},
		{debug.Memory, &debug.MemoryOptions{}, "option delay is 0, at least 1"},
		{debug.Memory, &debug.MaskedOptions{}, "options are *debug.MaskedOptions, want *debug.MemoryOptions"},
		{debug.Host, 3, "options are int, want *debug.IdentityOptions"},
		{debug.IdentityContinuous, 3, "it takes no options"},
	} {
		_, err := env.Open(newScope(t), x.entry, 2, x.options)
		if err == nil || !strings.Contains(err.Error(), x.says) || !strings.Contains(err.Error(), x.entry.ID) {
			t.Errorf("%s with %+v: %v, want ...%s...", x.entry.ID, x.options, err, x.says)
		}
	}
}

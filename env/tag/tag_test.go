package tag

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gomlx/compute/gobackend"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/envtest"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/rl"
)

func newScope(t testing.TB) *rl.Scope {
	b, err := gobackend.New("ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	return rl.NewScope(rl.NewDevice(b), 1)
}

// with returns the default options but for some.
func with(change func(o *Options)) *Options {
	o := defaults().(*Options)
	change(o)
	return o
}

// small makes a game that is soon over.
func small(o *Options) {
	o.Taggers, o.Runners, o.Size, o.Length, o.Reach = 2, 5, 6, 16, .15
	o.AccelerationLevels, o.TurnLevels = 4, 5
}

// variants are games that differ in what agents are, see and do.
var variants = []struct {
	name    string
	options *Options
}{
	{"small", with(small)},
	{"stay", with(func(o *Options) {
		small(o)
		o.Leave, o.Neighbours, o.Mates = false, 2, 3
		o.EdgePenalty, o.StepPenalty, o.StepReward = .5, .01, .02
	})},
	{"everybody", with(func(o *Options) { small(o); o.Neighbours, o.Mates = 0, 1 })},
	{"one each", with(func(o *Options) { small(o); o.Taggers, o.Runners = 1, 1 })},
	{"random", with(func(o *Options) { small(o); o.RunnerPolicy, o.Neighbours = random, 3 })},
	{"still", with(func(o *Options) { small(o); o.RunnerPolicy, o.EdgePenalty = still, 1 })},
	{"many", with(func(o *Options) { o.Taggers, o.Runners, o.Neighbours, o.Mates, o.Length = 7, 40, 6, 2, 40 })},
}

func TestConformance(t *testing.T) {
	d, err := device.Open(device.Default)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range variants[:6] {
		t.Run(x.name, func(t *testing.T) {
			envtest.Run(t, Tag, envtest.With(x.options), envtest.Steps(35), envtest.On(d))
		})
	}
	t.Run("in GoMLX's backend", func(t *testing.T) {
		envtest.Run(t, Tag, envtest.With(variants[0].options), envtest.Steps(20))
	})
}

func TestOptions(t *testing.T) {
	_, err := env.OpenGroups(newScope(t), Tag, 1, &Options{Neighbours: -1, Mates: -2, Runners: 1 << 17, RunnerPolicy: "asleep"})
	for _, want := range []string{
		"option taggers is 0", "option length is 0", "neighbours is -1", "mates is -2", "acceleration_levels is 0", "turn_levels is 0",
		"size is 0", "reach is 0", "tagger_speed is 0", "turn is 0", `runner_policy is "asleep"`, "131072 agents of a kind",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if _, err := env.OpenGroups(newScope(t), Tag, 1, &struct{}{}); err == nil || !strings.Contains(err.Error(), "want *tag.Options") {
		t.Error(err)
	}
	o := new(Options)
	if err := config.Defaults(o); err != nil || fmt.Sprint(o) != fmt.Sprint(defaults()) {
		t.Errorf("defaults by tag %+v, by value %+v (%v)", o, defaults(), err)
	}
}

// Agents begin anywhere on the plane, at rest, in one of four directions.
func TestReset(t *testing.T) {
	const n = 2000
	d := game{*with(small)}
	s := newScope(t)
	f := rl.NewFunc(s, "reset", func(c *rl.Ctx, _ rl.Tensor) rl.Tree { return d.Reset(c, n) })
	out := f.Call(s.Key("reset"), rl.Scalar(0))
	for _, name := range []string{"x", "y"} {
		least, most, sum := math.Inf(1), math.Inf(-1), 0.
		for _, v := range rl.Floats(out.Leaf(name)) {
			least, most, sum = math.Min(least, v), math.Max(most, v), sum+v
		}
		if mean := sum / (7 * n); least < 0 || most > 6 || least > .01 || most < 5.99 || math.Abs(mean-3) > .06 {
			t.Errorf("%s is drawn from %v..%v with mean %v", name, least, most, mean)
		}
	}
	var directions [4]int
	for _, v := range rl.Floats(out.Leaf("heading")) {
		k := v / quarter
		if math.Abs(k-math.Round(k)) > 1e-6 {
			t.Fatalf("direction %v", v)
		}
		directions[int(math.Round(k))]++
	}
	for k, times := range directions {
		if math.Abs(float64(times)/(7*n)-.25) > .02 {
			t.Errorf("direction %d in %d of %d", k, times, 7*n)
		}
	}
	for _, name := range []string{"speed", "push", "time"} {
		for _, v := range rl.Floats(out.Leaf(name)) {
			if v != 0 {
				t.Fatalf("%s begins as %v", name, v)
			}
		}
	}
}

// A picture has a colour for each kind in play.
func TestDraw(t *testing.T) {
	d := game{*with(func(o *Options) { small(o); o.Taggers, o.Runners = 1, 2 })}
	s := newScope(t)
	f := func(v ...float32) rl.Tensor { return rl.FromFlat(s, v, 1, len(v)) }
	zero := f(0, 0, 0)
	tree := rl.NewTree(stateNames, []rl.Tensor{
		f(1, 3, 5), f(3, 3, 3), zero, zero, zero, rl.FromFlat(s, []int32{0}, 1), rl.FromFlat(s, []bool{false, true}, 1, 2),
	})
	p := d.Draw(tree)
	at := func(x int) string { return fmt.Sprint(p.At(x*50, 150)) }
	if at(1) == at(3) || at(5) == at(3) || at(1) == at(5) || at(3) != at(2) {
		t.Errorf("tagger %s, runner out of play %s, runner %s, plane %s", at(1), at(3), at(5), at(2))
	}
}

func BenchmarkStep(b *testing.B) {
	for _, c := range []struct{ taggers, runners int }{{5, 100}, {5, 995}} {
		b.Run(fmt.Sprint(c.taggers, "+", c.runners), func(b *testing.B) {
			d, err := device.Open(device.Default)
			if err != nil {
				b.Fatal(err)
			}
			s := rl.NewScope(d, 1)
			const n = 16
			g, err := env.OpenGroups(s, Tag, n, with(func(o *Options) { o.Taggers, o.Runners = c.taggers, c.runners }))
			if err != nil {
				b.Fatal(err)
			}
			act := env.SampleGroups(s, g.Spec(), g.Obs(), s.Key("act"))
			for b.Loop() {
				g.Step(act)
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "steps/s")
		})
	}
}

package env_test

import (
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// mean and standard deviation of each position of a sampled space.
func moments(x []float64, width int) (mean, sd []float64) {
	n := float64(len(x) / width)
	mean, sd = make([]float64, width), make([]float64, width)
	for i, v := range x {
		mean[i%width] += v / n
		sd[i%width] += v * v / n
	}
	for j := range sd {
		sd[j] = math.Sqrt(math.Max(0, sd[j]-mean[j]*mean[j]))
	}
	return mean, sd
}

func TestSample(t *testing.T) {
	const n = 4000
	inf := math.Inf(1)
	u := math.Sqrt(1 / 12.) // standard deviation of a uniform number in (0,1)
	for _, x := range []struct {
		name     string
		space    rl.Space
		mean, sd []float64
	}{
		{"discrete", rl.Discrete{N: 5, Start: 2}, []float64{4}, []float64{math.Sqrt(2)}},
		{"several", rl.MultiDiscrete{N: []int{2, 3}}, []float64{.5, 1}, []float64{.5, math.Sqrt(2 / 3.)}},
		{"binary", rl.MultiBinary{N: 3}, []float64{.5, .5, .5}, []float64{.5, .5, .5}},
		{"box", rl.Box{Low: []float64{-1, 0}, High: []float64{1, 10}, Dims: []int{2}}, []float64{0, 5}, []float64{2 * u, 10 * u}},
		{"double", rl.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{1}, DType: dtypes.Float64}, []float64{.5}, []float64{u}},
		{"bytes", rl.Box{Low: []float64{0}, High: []float64{4}, Dims: []int{1}, DType: dtypes.Uint8}, []float64{2}, []float64{math.Sqrt(2)}},
		{"unbounded", rl.Box{Dims: []int{1}}, []float64{0}, []float64{1}},
		{"above", rl.Box{Low: []float64{3}, High: []float64{inf}, Dims: []int{1}}, []float64{4}, []float64{1}},
		{"below", rl.Box{Low: []float64{-inf}, High: []float64{3}, Dims: []int{1}}, []float64{2}, []float64{1}},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := newScope(t)
			spec := env.Spec{Action: x.space, Envs: n, Rows: n}
			got := env.Sample(s, spec, rl.Obs{}, s.Key("act")).Leaf("")
			if row, _, v, bad := rl.Outside(x.space, got); bad {
				t.Errorf("row %d is %v, outside %s", row, v, x.space)
			}
			mean, sd := moments(rl.Floats(got), len(x.mean))
			for j := range mean {
				if slack := 5 * x.sd[j] / math.Sqrt(n); math.Abs(mean[j]-x.mean[j]) > slack || math.Abs(sd[j]-x.sd[j]) > 3*slack {
					t.Errorf("number %d has mean %v and deviation %v, want %v and %v", j, mean[j], sd[j], x.mean[j], x.sd[j])
				}
			}
		})
	}
}

// Of two numbers with three and two choices, for two agents of two environments.
func TestSampleLegal(t *testing.T) {
	const T, F = true, false
	mask := []bool{
		F, T, F, T, F /**/, T, F, F, F, T,
		F, F, T, F, T /**/, T, T, F, T, F,
	}
	s := newScope(t)
	spec := env.Spec{
		Action: rl.Dict{{Name: "a", Space: rl.MultiDiscrete{N: []int{3, 2}}}}, Masked: true, Agents: 2, Envs: 2, Rows: 2,
	}
	obs := rl.Obs{Legal: rl.NewTree([]string{"a"}, []rl.Tensor{rl.FromFlat(s, mask, 2, 2, 5)})}
	seen := map[int32]int{}
	for i := range 100 {
		got := rl.Read[int32](env.Sample(s, spec, obs, s.Key("act").Fold(uint64(i))).Leaf("a"))
		for j, want := range []int32{1, 0, 0, 1, 2, 1, -1, 0} {
			if want >= 0 && got[j] != want {
				t.Fatalf("number %d is %d, only %d is legal", j, got[j], want)
			}
		}
		seen[got[6]]++
	}
	if seen[0] < 30 || seen[1] < 30 || len(seen) != 2 {
		t.Errorf("of two legal choices %v were taken", seen)
	}
}

// What an environment gets does not depend on the shard it is in.
func TestSampleShard(t *testing.T) {
	s := newScope(t)
	spec := env.Spec{Action: rl.Box{Dims: []int{3}}, Envs: 10, Rows: 10}
	all := rl.Read[float32](env.Sample(s, spec, rl.Obs{}, s.Key("act")).Leaf(""))
	spec.First, spec.Rows = 6, 2
	for i, x := range rl.Read[float32](env.Sample(s, spec, rl.Obs{}, s.Key("act")).Leaf("")) {
		if x != all[18+i] {
			t.Fatalf("number %d is %v, in the whole batch %v", i, x, all[18+i])
		}
	}
}

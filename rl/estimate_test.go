package rl_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/rl"
)

// episodes is a batch of four steps in five environments, with gamma 1/2:
//
//	reward 1 2 3 4, value 2 4 6 8, ratio 2 1/2 1 4
//	next   4 6 8 20   nothing ends; the batch stops at a state of value 20
//	       4 ? 8 20   the second step terminates, so ? must not matter
//	       4 12 8 20  the second step is cut off at a state of value 12
//	       4 6 8 ?    the last step terminates
//	       4 6 8 20   the last step is cut off: the same as the batch stopping
type episodes struct {
	logRatio, reward, value, next, term, done rl.Tensor
}

func fiveEpisodes(s *rl.Scope) episodes {
	repeat := func(x ...float64) (out []float64) {
		for range 5 {
			out = append(out, x...)
		}
		return out
	}
	nan := math.NaN()
	next := repeat(4, 6, 8, 20)
	next[4+1], next[8+1], next[12+3] = nan, 12, nan
	term, done := make([]bool, 20), make([]bool, 20)
	term[4+1], term[12+3] = true, true
	done[4+1], done[8+1], done[12+3], done[16+3] = true, true, true, true
	return episodes{
		logRatio: floats(s, repeat(math.Log(2), math.Log(.5), 0, math.Log(4)), 5, 4),
		reward:   floats(s, repeat(1, 2, 3, 4), 5, 4),
		value:    floats(s, repeat(2, 4, 6, 8), 5, 4),
		next:     floats(s, next, 5, 4),
		term:     rl.FromFlat(s, term, 5, 4),
		done:     rl.FromFlat(s, done, 5, 4),
	}
}

func TestGAEByHand(t *testing.T) {
	e := fiveEpisodes(scope(t))
	adv, ret := rl.GAE(.5, .5, e.reward, e.value, e.next, e.term, e.done)
	// TD errors r + next/2 - v; the sum decays by gamma lambda = 1/4.
	near(t, "advantage", rl.Floats(adv), []float64{
		1.40625, 1.625, 2.5, 6, // errors 1 1 1 6: 6; 1 + 6/4; 1 + 2.5/4; 1 + 1.625/4
		0.5, -2, 2.5, 6, // errors 1 -2 1 6, cut after the second: 2 - 4; 1 - 2/4
		2, 4, 2.5, 6, // errors 1 4 1 6, cut after the second: 2 + 12/2 - 4; 1 + 4/4
		1.25, 1, 0, -4, // errors 1 1 1 -4: 4 - 8; 1 - 4/4; 1 + 0; 1 + 1/4
		1.40625, 1.625, 2.5, 6,
	}, 0)
	near(t, "return", rl.Floats(ret), []float64{
		3.40625, 5.625, 8.5, 14,
		2.5, 2, 8.5, 14,
		4, 8, 8.5, 14,
		3.25, 5, 6, 4,
		3.40625, 5.625, 8.5, 14,
	}, 0)
}

func TestNStepByHand(t *testing.T) {
	e := fiveEpisodes(scope(t))
	near(t, "two-step return", rl.Floats(rl.NStep(.5, 2, e.reward, e.next, e.term, e.done)), []float64{
		3.5, 5.5, 10, 14, // 1 + 2/2 + 6/4; 2 + 3/2 + 8/4; 3 + 4/2 + 20/4; 4 + 20/2
		2, 2, 10, 14, // 1 + 2/2; 2
		5, 8, 10, 14, // 1 + 2/2 + 12/4; 2 + 12/2
		3.5, 5.5, 5, 4, // 3 + 4/2; 4
		3.5, 5.5, 10, 14,
	}, 0)
}

func TestLambdaByHand(t *testing.T) {
	e := fiveEpisodes(scope(t))
	near(t, "lambda-return", rl.Floats(rl.Lambda(.5, .5, e.reward, e.next, e.term, e.done)), []float64{
		// 4 + 20/2; 3 + (8+14)/4; 2 + (6+8.5)/4; 1 + (4+5.625)/4
		3.40625, 5.625, 8.5, 14,
		2.5, 2, 8.5, 14, // 2; 1 + (4+2)/4
		4, 8, 8.5, 14, // 2 + 12/2; 1 + (4+8)/4
		3.25, 5, 6, 4, // 4; 3 + (8+4)/4; 2 + (6+6)/4; 1 + (4+5)/4
		3.40625, 5.625, 8.5, 14,
	}, 0)
}

func TestVTraceByHand(t *testing.T) {
	e := fiveEpisodes(scope(t))
	// Ratios 2 1/2 1 4 clipped at 2 for values: 2 1/2 1 2, and at 1 for traces:
	// 1 1/2 1 1, which with gamma decay by 1/2 1/4 1/2 1/2.
	target, adv := rl.VTrace(.5, 1, 2, 1, e.logRatio, e.reward, e.value, e.next, e.term, e.done)
	near(t, "target", rl.Floats(target), []float64{
		// errors 2 .5 1 12: v + 12; v + (1 + 12/2); v + (.5 + 7/4); v + (2 + 2.25/2)
		5.125, 6.25, 13, 20,
		3.5, 3, 13, 20, // second error (2-4)/2 = -1: 4 - 1; 2 + (2 - 1/2)
		5, 6, 13, 20, // second error (2+6-4)/2 = 2: 4 + 2; 2 + (2 + 2/2)
		// last error 2(4-8) = -8: 8 - 8; 6 + (1 - 4); 4 + (.5 - 3/4); 2 + (2 - .25/2)
		3.875, 3.75, 3, 0,
		5.125, 6.25, 13, 20,
	}, 1e-5)
	near(t, "advantage", rl.Floats(adv), []float64{
		// ratio * (r + target of the next state / 2 - v)
		4.25, 2.25, 7, 12, // 2(1+6.25/2-2); (2+13/2-4)/2; 3+20/2-6; 2(4+20/2-8)
		1, -1, 7, 12, // 2(1+3/2-2); (2-4)/2
		4, 2, 7, 12, // 2(1+6/2-2); (2+12/2-4)/2
		1.75, -.25, -3, -8, // 2(1+3.75/2-2); (2+3/2-4)/2; 3+0-6; 2(4-8)
		4.25, 2.25, 7, 12,
	}, 1e-5)
}

// one is a single environment's data in float64.
type one struct {
	ratio, reward, value, next []float64
	term, done                 []bool
}

// until returns the number of steps from t to the end of the episode or the batch.
func (e one) until(t int) int {
	n := 1
	for !e.done[t+n-1] && t+n < len(e.reward) {
		n++
	}
	return n
}

func (e one) beyond(t int) float64 {
	if e.term[t] {
		return 0
	}
	return e.next[t]
}

func (e one) error(gamma float64, t int) float64 {
	return e.reward[t] + gamma*e.beyond(t) - e.value[t]
}

// The references sum as the papers write it, forwards from every step.

func (e one) gae(gamma, lambda float64, t int) (sum float64) {
	for l := range e.until(t) {
		sum += math.Pow(gamma*lambda, float64(l)) * e.error(gamma, t+l)
	}
	return sum
}

func (e one) nstep(gamma float64, n, t int) (sum float64) {
	n = min(n, e.until(t))
	for l := range n {
		sum += math.Pow(gamma, float64(l)) * e.reward[t+l]
	}
	return sum + math.Pow(gamma, float64(n))*e.beyond(t+n-1)
}

func (e one) lambda(gamma, lambda float64, t int) (sum float64) {
	last := e.until(t)
	for n := 1; n < last; n++ {
		sum += (1 - lambda) * math.Pow(lambda, float64(n-1)) * e.nstep(gamma, n, t)
	}
	return sum + math.Pow(lambda, float64(last-1))*e.nstep(gamma, last, t)
}

func (e one) vtrace(gamma, lambda, rho, c float64, t int) (target, adv float64) {
	target = e.value[t]
	trace := 1.0
	for l := range e.until(t) {
		target += math.Pow(gamma, float64(l)) * trace * min(rho, e.ratio[t+l]) * e.error(gamma, t+l)
		trace *= lambda * min(c, e.ratio[t+l])
	}
	boot := e.beyond(t)
	if e.until(t) > 1 {
		boot, _ = e.vtrace(gamma, lambda, rho, c, t+1)
	}
	return target, min(rho, e.ratio[t]) * (e.reward[t] + gamma*boot - e.value[t])
}

// randomEpisodes returns n environments of the given length, as tensors and alone.
func randomEpisodes(s *rl.Scope, n, time int) (episodes, []one) {
	all := make([]one, n)
	var ratio, reward, value, next []float64
	var term, done []bool
	for i := range all {
		draw := func(what string) []float64 { return randoms(fmt.Sprint(what, i, time), time) }
		e := one{reward: draw("reward"), value: draw("value"), next: draw("next")}
		end := draw("end")
		for t, x := range draw("ratio") {
			ratio = append(ratio, 2*x)
			e.ratio = append(e.ratio, math.Exp(2*x))
			e.term = append(e.term, end[t] < -.8)
			e.done = append(e.done, end[t] < -.6)
		}
		all[i] = e
		reward, value, next = append(reward, e.reward...), append(value, e.value...), append(next, e.next...)
		term, done = append(term, e.term...), append(done, e.done...)
	}
	return episodes{
		floats(s, ratio, n, time), floats(s, reward, n, time), floats(s, value, n, time),
		floats(s, next, n, time), rl.FromFlat(s, term, n, time), rl.FromFlat(s, done, n, time),
	}, all
}

// each returns f of every step of every environment.
func each(all []one, f func(e one, t int) float64) (out []float64) {
	for _, e := range all {
		for t := range e.reward {
			out = append(out, f(e, t))
		}
	}
	return out
}

func TestEstimatorsAgainstDefinition(t *testing.T) {
	s := scope(t)
	for _, size := range [][2]int{{1, 1}, {3, 1}, {1, 7}, {6, 23}} {
		e, all := randomEpisodes(s, size[0], size[1])
		for _, p := range [][2]float64{{.99, .95}, {.9, 0}, {1, 1}, {0, .5}, {.5, .7}} {
			gamma, lambda := p[0], p[1]
			name := func(what string) string { return fmt.Sprint(what, size, p) }
			adv, ret := rl.GAE(gamma, lambda, e.reward, e.value, e.next, e.term, e.done)
			want := each(all, func(e one, t int) float64 { return e.gae(gamma, lambda, t) })
			near(t, name("gae"), rl.Floats(adv), want, 1e-5)
			want = each(all, func(e one, t int) float64 { return e.gae(gamma, lambda, t) + e.value[t] })
			near(t, name("gae return"), rl.Floats(ret), want, 1e-5)
			want = each(all, func(e one, t int) float64 { return e.lambda(gamma, lambda, t) })
			near(t, name("lambda"), rl.Floats(rl.Lambda(gamma, lambda, e.reward, e.next, e.term, e.done)), want, 1e-5)
			target, adv := rl.VTrace(gamma, lambda, 1.5, 1.1, e.logRatio, e.reward, e.value, e.next, e.term, e.done)
			want = each(all, func(e one, t int) float64 { x, _ := e.vtrace(gamma, lambda, 1.5, 1.1, t); return x })
			near(t, name("v-trace target"), rl.Floats(target), want, 5e-5)
			want = each(all, func(e one, t int) float64 { _, x := e.vtrace(gamma, lambda, 1.5, 1.1, t); return x })
			near(t, name("v-trace advantage"), rl.Floats(adv), want, 5e-5)
		}
		for _, n := range []int{1, 2, 5, 100} {
			want := each(all, func(e one, t int) float64 { return e.nstep(.9, n, t) })
			near(t, fmt.Sprint("nstep ", n, size), rl.Floats(rl.NStep(.9, n, e.reward, e.next, e.term, e.done)), want, 1e-5)
		}
	}
}

// Agents are estimated each by itself: [env, time, agent] gives what [env, time]
// does for every agent as an environment.
func TestEstimatorAgents(t *testing.T) {
	s := scope(t)
	const envs, agents, time = 3, 2, 7
	e, _ := randomEpisodes(s, envs*agents, time)
	joint := func(x rl.Tensor) rl.Tensor {
		index := make([]int, 0, envs*time*agents)
		for i := range envs * time * agents {
			env, at, agent := i/(time*agents), i/agents%time, i%agents
			index = append(index, (env*agents+agent)*time+at)
		}
		return rl.Gather(x, 2, index)
	}
	fold := func(x rl.Tensor) rl.Tensor {
		if x = joint(x); x.Shape().DType == dtypes.Bool {
			return rl.FromFlat(s, rl.Read[bool](x), envs, time, agents)
		}
		return rl.FromFlat(s, rl.Read[float32](x), envs, time, agents)
	}
	reward, value, next, term, done := fold(e.reward), fold(e.value), fold(e.next), fold(e.term), fold(e.done)
	adv, ret := rl.GAE(.9, .8, e.reward, e.value, e.next, e.term, e.done)
	gotAdv, gotRet := rl.GAE(.9, .8, reward, value, next, term, done)
	equal(t, "gae", rl.Floats(gotAdv), rl.Floats(fold(adv)))
	equal(t, "gae return", rl.Floats(gotRet), rl.Floats(fold(ret)))
	equal(t, "nstep", rl.Floats(rl.NStep(.9, 3, reward, next, term, done)), rl.Floats(fold(rl.NStep(.9, 3, e.reward, e.next, e.term, e.done))))
	equal(t, "lambda", rl.Floats(rl.Lambda(.9, .8, reward, next, term, done)), rl.Floats(fold(rl.Lambda(.9, .8, e.reward, e.next, e.term, e.done))))
}

func TestEstimatorIdentities(t *testing.T) {
	s := scope(t)
	const gamma, time = .9, 15
	e, all := randomEpisodes(s, 4, time)
	toEnd := each(all, func(e one, t int) float64 { return e.nstep(gamma, time, t) })
	oneStep := each(all, func(e one, t int) float64 { return e.nstep(gamma, 1, t) })
	value := rl.Floats(e.value)

	// With lambda 1 the values in between cancel only where next is the value of
	// the step after, so give them that.
	agree := agreeing(s, all)
	adv, ret := rl.GAE(gamma, 1, e.reward, e.value, agree, e.term, e.done)
	discounted := rl.Floats(rl.NStep(gamma, time, e.reward, agree, e.term, e.done))
	near(t, "gae(1) return", rl.Floats(ret), discounted, 1e-5)
	near(t, "gae(1)", rl.Floats(adv), minus(discounted, value), 1e-5)

	adv, _ = rl.GAE(gamma, 0, e.reward, e.value, e.next, e.term, e.done)
	near(t, "gae(0)", rl.Floats(adv), minus(oneStep, value), 1e-6)
	near(t, "nstep(1)", rl.Floats(rl.NStep(gamma, 1, e.reward, e.next, e.term, e.done)), oneStep, 1e-6)
	near(t, "lambda(0)", rl.Floats(rl.Lambda(gamma, 0, e.reward, e.next, e.term, e.done)), oneStep, 1e-6)
	near(t, "lambda(1)", rl.Floats(rl.Lambda(gamma, 1, e.reward, e.next, e.term, e.done)), toEnd, 1e-5)

	zero := rl.Zero(e.logRatio)
	target, adv := rl.VTrace(gamma, 1, 1, 1, zero, e.reward, e.value, agree, e.term, e.done)
	near(t, "v-trace on policy", rl.Floats(target), discounted, 1e-5)
	near(t, "v-trace advantage on policy", rl.Floats(adv), minus(discounted, value), 1e-5)
}

func minus(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] - b[i]
	}
	return out
}

// agreeing returns next with the value of the step after wherever the episode goes on.
func agreeing(s *rl.Scope, all []one) rl.Tensor {
	var out []float64
	for _, e := range all {
		next := append([]float64(nil), e.next...)
		for t := range len(next) - 1 {
			if !e.done[t] {
				next[t] = e.value[t+1]
			}
		}
		out = append(out, next...)
	}
	return floats(s, out, len(all), len(all[0].next))
}

func TestEstimatorShapes(t *testing.T) {
	s := scope(t)
	e := fiveEpisodes(s)
	column := floats(s, make([]float64, 5), 5, 1)
	flat := floats(s, make([]float64, 20), 20)
	fails(t, func() { rl.GAE(.9, .9, e.reward, column, e.next, e.term, e.done) }, "gae", "tensor 2", "[env, time]")
	fails(t, func() { rl.NStep(.9, 3, flat, flat, e.term, e.done) }, "nstep", "tensor 1", "[env, time]")
	fails(t, func() { rl.Lambda(.9, .9, e.reward, rl.Tensor{}, e.term, e.done) }, "lambda", "tensor 2")
	fails(t, func() { rl.VTrace(.9, .9, 1, 1, column, e.reward, e.value, e.next, e.term, e.done) }, "vtrace")
}

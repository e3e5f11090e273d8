package analyze

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkAnalyze measures the analysis of packages whose loops grow, their
// dependences being type-checked already. 1,000 lines are to take less than 2 s,
// and twice as many about twice as long.
func BenchmarkAnalyze(b *testing.B) {
	a := open(b, "testdata/src/loops/nested")[0]
	for _, lines := range []int{125, 250, 500, 1000, 2000} {
		files := a.files(b)
		for name, src := range files {
			files[name] = []byte(grown(string(src), lines))
		}
		b.Run(fmt.Sprintf("lines=%d", lines), func(b *testing.B) {
			for b.Loop() {
				a.graph(b, files)
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/package")
		})
	}
}

// grown repeats a round of learning, each time in a method of its own, until the
// file has so many lines. State is written outside of inner loops: a loop may have
// no round at all, so that what it writes would add to what was written before,
// and the graph itself would grow with the square.
func grown(src string, lines int) string {
	var calls, methods strings.Builder
	for i := 0; strings.Count(src, "\n")+strings.Count(calls.String(), "\n")+strings.Count(methods.String(), "\n") < lines; i++ {
		fmt.Fprintf(&calls, "\t\tt.learn%d(run, t.Env.Obs())\n", i)
		fmt.Fprintf(&methods, `
func (t *Trainer) learn%[1]d(run *rl.Run, obs rl.Obs) {
	act := t.act.Call(run.Key("act", %[1]d), obs)
	out := t.Env.Step(act.Action)
	t.Rollout.Insert(kit.Step{Obs: obs, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Over})
	steps := t.Rollout.Drain()
	if t.Epochs > %[1]d {
		run.Log("reward", rl.Standardise(steps.Reward, rl.Tensor{}))
	}
	for e := range t.Epochs {
		adv, ret := rl.GAE(.99, .95, steps.Reward, steps.Act.Value, steps.Act.Value, steps.Terminated, steps.Over)
		b := kit.Sample{Obs: steps.Obs, Action: steps.Act.Action, Adv: adv, Ret: ret}
		_, loss := t.loss.Grad(run.Key("loss", %[1]d, e), b)
		run.Log("loss", loss)
	}
	g, _ := t.loss.Grad(run.Key("loss", %[1]d), kit.Sample{Obs: steps.Obs, Action: steps.Act.Action, Adv: steps.Reward, Ret: steps.Reward})
	t.opt.Apply(g, 1e-3)
}
`, i)
	}
	return strings.Replace(src, "for run.Next() {\n", "for run.Next() {\n"+calls.String(), 1) + methods.String()
}

// Package writes has helpers that write to what they were given.
package writes

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/base"
	"github.com/weft-rl/weft/rl"
)

func New(s *rl.Scope, m algo.MakeEnv) (*base.Trainer, error) { return base.New(s, m, 4) }

//weft:train
func Train(t *base.Trainer, run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		act := t.Act.Call(run.Key("act"), obs)
		out := t.Env.Step(act.Action)
		names := rl.LeafNames(out)
		run.Log(first(names), out.Reward) // want `results and arguments are immutable: this fills a slice that was not made here`
		mine := []string{"a", "b"}
		run.Log(first(mine), out.Reward)
		var c counter
		c.add()
		run.Log("counts", rl.Scalar(c.n+bump(t)))
		t.Net.Names()["policy"] = 3 // want `a map has no order and cannot travel`
	}
	return run.Err()
}

// first may be given a slice that was made in the loop.
func first(names []string) string {
	all := names
	for i := range all {
		all[i] += "/reward"
	}
	copy(names[1:], all)
	return names[0]
}

type counter struct{ n float64 }

func (c *counter) add() { c.n++ }

// bump is given what nobody can have made in a loop.
func bump(t *base.Trainer) float64 {
	u := t
	u.Count++ // want `this helper writes to what it was given \(u.Count\)`
	return float64(t.Count)
}

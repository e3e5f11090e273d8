// Package ahead looks ahead with a function that a word calls, and that reads parameters of its own.
package ahead

import (
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
	"github.com/weft-rl/weft/search"
)

type (
	Trainer struct {
		Env  env.Batch
		plan *rl.Func[rl.Obs, rl.Tree]
	}
	planner struct {
		search.Settings
		root, model *rl.Params
	}
)

func New(s *rl.Scope, m algo.MakeEnv, n int) (*Trainer, error) {
	e, err := m.Batch(n)
	p := &planner{root: rl.NewParams(s, "root", nothing), model: rl.NewParams(s, "model", nothing)}
	t := &Trainer{Env: e, plan: rl.NewFunc(s, "plan", p.choose)}
	t.plan.Apart()
	return t, err
}

func nothing(*rl.Ctx, *model.Scope) {}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		t.Env.Step(t.plan.Call(run.Key("plan"), t.Env.Obs()))
	}
	return run.Err()
}

func (p *planner) choose(c *rl.Ctx, obs rl.Obs) rl.Tree {
	x := c.Scope(p.root).VariableWithValue("x", float32(0)).NodeValue(c.Graph())
	found := p.Run(c, search.Leaf{State: obs.X, Logits: x, Value: x}, p.step)
	return rl.One(rl.Wrap(found.Best))
}

func (p *planner) step(c *rl.Ctx, state rl.Tree, action *graph.Node) search.Next {
	x := c.Scope(p.model).VariableWithValue("x", float32(0)).NodeValue(c.Graph())
	return search.Next{Leaf: search.Leaf{State: state, Logits: x, Value: x}, Reward: x, Discount: x}
}

func (t *Trainer) Agent() rl.Agent { return nil }

// Package opaque has graph functions whose reading cannot be followed.
package opaque

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Env            env.Batch
	params, absent *rl.Params
	stats          *rl.Stats
	build          func(c *rl.Ctx, o rl.Obs) rl.Tree
	layer          interface {
		Apply(c *rl.Ctx, o rl.Obs) rl.Tree
	}
	act  *rl.Func[rl.Obs, rl.Tree]
	loss *rl.Loss[rl.Obs, rl.Tensor]
	opt  *rl.Opt
}

func New(s *rl.Scope, m algo.MakeEnv) (*Trainer, error) {
	e, err := m.Batch(4)
	t := &Trainer{Env: e}
	t.params = rl.NewParams(s, "net", nil)
	t.act = rl.NewFunc(s, "act", t.actGraph)
	t.loss = rl.NewLoss(s, "loss", t.lossGraph, t.params)
	t.opt = rl.NewOpt(s, "adam", nn.Adam{})
	return t, err
}

func (t *Trainer) actGraph(c *rl.Ctx, o rl.Obs) rl.Tree {
	sc := c.Scope(t.absent)                                    // want `which parameters or statistics are read here is not known`
	_ = t.stats.Norm(c, nn.Dense(c, sc, o.First.Node(), 1, 1)) // want `which parameters or statistics are read here is not known`
	_ = t.build(c, o)                                          // want `what this call reads is not known`
	return t.layer.Apply(c, o)                                 // want `what this call reads is not known`
}

func (t *Trainer) lossGraph(c *rl.Ctx, o rl.Obs) (loss, weight, aux rl.Tensor) {
	c.Scope(t.params)
	return o.First, o.First, o.First
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		t.Env.Step(t.act.Call(run.Key("act"), obs))
		g, _ := t.loss.Grad(run.Key("loss"), obs)
		t.opt.Apply(g, 1e-3) // want `which parameters this optimiser writes is not known`
	}
	return run.Err()
}

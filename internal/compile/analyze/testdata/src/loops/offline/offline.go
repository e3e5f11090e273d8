// Package offline learns from a data set, without environments, in a phase that
// counts updates.
package offline

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Updates   int64
	Batch     int
	Data      *kit.Table[kit.Sample]
	Q, V, Old *kit.Net
	qOpt      *rl.Opt
	vOpt      *rl.Opt
	qLoss     *rl.Loss[kit.Sample, rl.Tensor]
	vLoss     *rl.Loss[kit.Sample, rl.Tensor]
}

func New(s *rl.Scope, make algo.MakeEnv, n int) (*Trainer, error) {
	e, err := make.Batch(n)
	if err != nil {
		return nil, err
	}
	t := &Trainer{Updates: 4, Batch: 4, Data: kit.NewTable[kit.Sample](s, "data", 100)}
	t.Q, t.V, t.Old = kit.New(s, "q", e.Spec()), kit.New(s, "v", e.Spec()), kit.New(s, "old", e.Spec())
	t.Data.Insert(kit.Demo(s, e, t.Q))
	t.qLoss, t.vLoss = rl.NewLoss(s, "q loss", t.qGraph, t.Q.Params), rl.NewLoss(s, "v loss", t.vGraph, t.V.Params)
	t.qOpt, t.vOpt = rl.NewOpt(s, "q opt", nn.Adam{}, t.Q.Params), rl.NewOpt(s, "v opt", nn.Adam{}, t.V.Params)
	return t, nil
}

// qGraph bootstraps from the values, which it does not move.
func (t *Trainer) qGraph(c *rl.Ctx, s kit.Sample) (loss, weight, aux rl.Tensor) {
	s.Ret = t.V.Value(c, s.Obs)
	return t.Q.ValueLoss(c, s)
}

func (t *Trainer) vGraph(c *rl.Ctx, s kit.Sample) (loss, weight, aux rl.Tensor) {
	s.Ret = t.Old.Value(c, s.Obs)
	return t.V.ValueLoss(c, s)
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	p := run.Phase("offline", t.Updates)
	for p.Next() {
		b := t.Data.Sample(p.Key("sample"), t.Batch)
		g, v := t.vLoss.Grad(p.Key("v"), b)
		t.vOpt.Apply(g, 1e-3)
		g, _ = t.qLoss.Grad(p.Key("q"), b)
		t.qOpt.Apply(g, 1e-3)
		t.Old.Params.Blend(t.Q.Params, .01)
		p.Log("v", v)
	}
	return run.Err()
}

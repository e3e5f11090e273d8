// Package recurrent has memory of several tensors, kept in slots from one iteration
// to the next and cleared where episodes end.
package recurrent

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Chunk  int
	Env    env.Batch
	Memory *rl.Slots[Latent]
	Steps  *replay.Rollout[Step]
	act    *rl.Func[In, Out]
	loss   *rl.Loss[kit.Sample, rl.Tensor]
	opt    *rl.Opt
	net    *kit.Net
	seen   *rl.Stats
}

type (
	// Latent is what is remembered.
	Latent struct{ H, Z rl.Tensor }
	In     struct {
		Obs rl.Obs
		Mem Latent
	}
	Out struct {
		Act kit.Act
		Mem Latent
	}
	Step struct {
		In     In
		Act    kit.Act
		Reward rl.Tensor
	}
)

func New(s *rl.Scope, makeEnv algo.MakeEnv, n int) (*Trainer, error) {
	e, err := makeEnv.Batch(n)
	if err != nil {
		return nil, err
	}
	t := &Trainer{Chunk: 4, Env: e, net: kit.New(s, "net", e.Spec()), Steps: replay.NewRollout[Step](s, "steps")}
	zero := rl.FromFlat(s, make([]float32, e.Spec().Rows), e.Spec().Rows)
	t.Memory = rl.NewSlots(s, "memory", Latent{zero, zero})
	t.seen = rl.NewStats(s, "seen", 10)
	t.act, t.loss = rl.NewFunc(s, "act", t.actGraph), rl.NewLoss(s, "loss", t.net.PolicyLoss, t.net.Params)
	t.opt = rl.NewOpt(s, "adam", nn.Adam{}, t.net.Params)
	return t, nil
}

func (t *Trainer) actGraph(c *rl.Ctx, in In) Out {
	h := t.seen.Norm(c, in.Mem.H.Node())
	return Out{t.net.Policy(c, in.Obs), Latent{rl.Wrap(h), in.Mem.Z}}
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs, mem := t.Env.Obs(), t.Memory.Get()
		for i := range t.Chunk {
			in := In{obs, mem}
			out := t.act.Call(run.Key("act", i), in)
			step := t.Env.Step(out.Act.Action)
			t.Steps.Insert(Step{in, out.Act, step.Reward})
			obs, mem = step.Obs, forget(out.Mem, step.Over)
		}
		t.Memory.Set(mem)
		b := t.Steps.Drain()
		g, loss := t.loss.Grad(run.Key("loss"), kit.Sample{Obs: b.In.Obs, Action: b.Act.Action, Adv: b.Reward, Ret: b.Reward})
		t.opt.Apply(g, 1e-3)
		t.seen.Update(b.Reward)
		run.Log("loss", loss)
	}
	return run.Err()
}

func forget(l Latent, over rl.Tensor) Latent { return Latent{rl.Keep(l.H, over), rl.Keep(l.Z, over)} }

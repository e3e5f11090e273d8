// Package agents trains every agent with a policy and a learner of its
// own; a critic looks at what all of them did.
package agents

import (
	"fmt"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Horizon int
	Env     env.Groups
	Agents  []*Agent
	judge   *rl.Func[Rewards, rl.Tensor]
}

// Agent is one of them.
type Agent struct {
	Net     *kit.Net
	Rollout *replay.Rollout[kit.Step]
	act     *rl.Func[rl.Obs, kit.Act]
	loss    *rl.Loss[kit.Sample, rl.Tensor]
	opt     *rl.Opt
}

// Rewards are those of all.
type Rewards struct{ All []rl.Tensor }

func New(s *rl.Scope, makeEnv algo.MakeEnv, n int) (*Trainer, error) {
	all, err := makeEnv.Groups(n)
	if err != nil {
		return nil, err
	}
	e := env.Each(all)
	t := &Trainer{Horizon: 4, Env: e, judge: rl.NewFunc(s, "judge", judgeGraph)}
	for i, spec := range e.Spec() {
		t.Agents = append(t.Agents, newAgent(s, fmt.Sprint("agent", i), spec))
	}
	return t, nil
}

func newAgent(s *rl.Scope, name string, spec env.Spec) *Agent {
	net := kit.New(s, name, spec)
	return &Agent{
		Net: net, Rollout: replay.NewRollout[kit.Step](s, name+" rollout"), act: rl.NewFunc(s, name+" act", net.Policy),
		loss: rl.NewLoss(s, name+" loss", net.PolicyLoss, net.Params), opt: rl.NewOpt(s, name+" adam", nn.Adam{}, net.Params),
	}
}

func judgeGraph(_ *rl.Ctx, r Rewards) rl.Tensor { return kit.Plus(r.All...) }

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		for i := range t.Horizon {
			acts := make([]kit.Act, len(t.Agents))
			actions := make([]rl.Tree, len(t.Agents))
			for j, a := range t.Agents {
				acts[j] = a.act.Call(run.At("agent", j).Key("act", i), obs[j])
				actions[j] = acts[j].Action
			}
			out := t.Env.Step(actions)
			next := make([]rl.Obs, len(t.Agents))
			for j, a := range t.Agents {
				a.Rollout.Insert(kit.Step{Obs: obs[j], Act: acts[j], Reward: out[j].Reward, Terminated: out[j].Terminated, Over: out[j].Over})
				next[j] = out[j].Obs
			}
			obs = next
		}
		steps := make([]kit.Step, len(t.Agents))
		rewards := make([]rl.Tensor, len(t.Agents))
		for j, a := range t.Agents {
			steps[j] = a.Rollout.Drain()
			rewards[j] = steps[j].Reward
		}
		total := t.judge.Call(rl.Key{}, Rewards{rewards})
		for j, a := range t.Agents {
			a.learn(run.At("agent", j), steps[j], total)
		}
		run.Log("total", total)
	}
	return run.Err()
}

func (a *Agent) learn(run *rl.Run, s kit.Step, total rl.Tensor) {
	g, loss := a.loss.Grad(run.Key("loss"), kit.Sample{Obs: s.Obs, Action: s.Act.Action, Adv: total, Ret: s.Reward})
	a.opt.Apply(g, 1e-3)
	run.Log("loss", loss)
}

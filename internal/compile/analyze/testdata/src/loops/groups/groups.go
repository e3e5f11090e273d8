// Package groups has several kinds of agents in one environment, and a policy for
// each of them.
package groups

import (
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
}

// Agent is the policy of one kind.
type Agent struct {
	Net     *kit.Net
	Rollout *replay.Rollout[kit.Step]
	act     *rl.Func[rl.Obs, kit.Act]
	loss    *rl.Loss[kit.Sample, rl.Tensor]
	opt     *rl.Opt
}

func New(s *rl.Scope, make algo.MakeEnv, n int) (*Trainer, error) {
	e, err := make.Groups(n)
	if err != nil {
		return nil, err
	}
	t := &Trainer{Horizon: 4, Env: env.Each(e)}
	for _, spec := range t.Env.Spec() {
		t.Agents = append(t.Agents, newAgent(s, "agent "+spec.Kind, spec))
	}
	return t, nil
}

func newAgent(s *rl.Scope, name string, spec env.Spec) *Agent {
	a := &Agent{Net: kit.New(s, name, spec), Rollout: replay.NewRollout[kit.Step](s, name+" rollout")}
	a.act = rl.NewFunc(s, name+" act", a.Net.Policy)
	a.loss = rl.NewLoss(s, name+" loss", a.Net.ValueLoss, a.Net.Params)
	a.opt = rl.NewOpt(s, name+" adam", nn.Adam{}, a.Net.Params)
	return a
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		for i := range t.Horizon {
			acts := make([]kit.Act, len(t.Agents))
			moves := make([]rl.Tree, len(t.Agents))
			for j, a := range t.Agents {
				acts[j] = a.act.Call(run.Key("act", i, j), obs[j])
				moves[j] = acts[j].Action
			}
			out := t.Env.Step(moves)
			for j, a := range t.Agents {
				a.Rollout.Insert(kit.Step{Obs: obs[j], Act: acts[j], Reward: out[j].Reward, Terminated: out[j].Terminated, Over: out[j].Over})
			}
			obs = next(out)
		}
		for j, a := range t.Agents {
			b := a.Rollout.Drain()
			g, loss := a.loss.Grad(run.Key("loss", j), kit.Sample{Obs: b.Obs, Action: b.Act.Action, Adv: b.Reward, Ret: b.Reward})
			a.opt.Apply(g, 1e-3)
			run.At("agent", j).Log("loss", loss)
		}
	}
	return run.Err()
}

// next is what every agent sees.
func next(out []rl.Step) []rl.Obs {
	obs := make([]rl.Obs, len(out))
	for i, x := range out {
		obs[i] = x.Obs
	}
	return obs
}

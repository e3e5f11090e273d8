package adversary

import (
	"cmp"
	"fmt"
	"strings"
)

// family returns the source of a loop whose agents have policies and learners of
// their own.
func (g *grower) family() string {
	key := g.one(`run.Key("act", i, j)`, `run.At("role", j).Key("act", i)`)
	body := fmt.Sprintf(`
// Trainer has what the loop uses.
type Trainer struct {
	Horizon, Kind int
	Flag bool
	Rate float64
	Env env.Groups
	Roles []*Role
%s
}

// Role is one agent.
type Role struct {
	Net *kit.Net
	Rollout *replay.Rollout[kit.Step]
	act *rl.Func[rl.Obs, kit.Act]
	value *rl.Func[rl.Obs, rl.Tensor]
	loss *rl.Loss[kit.Sample, rl.Tensor]
	opt *rl.Opt
}

// New makes a trainer.
func New(s *rl.Scope, makeEnv algo.MakeEnv, c *job.Config) (*Trainer, error) {
	all, err := makeEnv.Groups(c.Envs)
	if err != nil {
		return nil, err
	}
	e := env.Each(all)
	t := &Trainer{Env: e, Horizon: c.Horizon, Kind: c.Kind, Flag: c.Flag, Rate: 2e-2}
	for i, spec := range e.Spec() {
		t.Roles = append(t.Roles, newRole(s, fmt.Sprint("role", i), spec))
	}
	%s
	return t, nil
}

func newRole(s *rl.Scope, name string, spec env.Spec) *Role {
	net := kit.New(s, name, spec)
	return &Role{
		Net: net, Rollout: replay.NewRollout[kit.Step](s, name+" rollout"), act: rl.NewFunc(s, name+" act", net.Policy),
		value: rl.NewFunc(s, name+" value", net.Value),
		loss: rl.NewLoss(s, name+" loss", net.%s, net.Params), opt: rl.NewOpt(s, name+" opt", %s, net.Params),
	}
}

// Agent is not asked for.
func (t *Trainer) Agent() rl.Agent { return nil }

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
%sfor run.Next() {
	obs := t.Env.Obs()
%s
	for i := range t.Horizon {
		acts := make([]kit.Act, len(t.Roles))
		moves := make([]rl.Tree, len(t.Roles))
		for j, a := range t.Roles {
			acts[j] = a.act.Call(%s, obs[j])
			moves[j] = acts[j].Action
		}
		out := t.Env.Step(moves)
		next := make([]rl.Obs, len(t.Roles))
		for j, a := range t.Roles {
			a.Rollout.Insert(kit.Step{Obs: obs[j], Act: acts[j], Reward: out[j].Reward, Terminated: out[j].Terminated, Over: out[j].Over})
			next[j] = out[j].Obs
		}
		obs = next
	}
	for j, a := range t.Roles {
		b := a.Rollout.Drain()
		%s
		a.learn(run.At("role", j), b, %s)
	}
%s}
%sreturn run.Err()
}

func (a *Role) learn(run *rl.Run, b kit.Step, rate float64) {
	g, loss := a.loss.Grad(run.Key("loss"), kit.Sample{Obs: b.Obs, Action: b.Act.Action, Adv: b.Reward, Ret: b.Reward})
	a.opt.Apply(g, rate)
	run.Log("loss", loss)
}

%s
`, strings.Join(g.fields, "\n"), strings.Join(g.makes, "\n"), g.one("PolicyLoss", "ValueLoss"), g.one("nn.SGD{}", "nn.Adam{Eps: .01}"),
		g.section(before), g.section(start), key, g.memberTop, cmp.Or(g.reading, "t.Rate"), g.section(learned), g.section(after), strings.Join(g.decls, "\n"))
	return headed(body) + body
}

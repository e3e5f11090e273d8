// Package bc is behavioural cloning: a policy learns to take the actions that it sees in a data
// set, by maximum likelihood. It needs no environment and no rewards, and is what every algorithm
// that learns from data is measured against.
package bc

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// Trainer imitates a data set.
type Trainer struct {
	Config
	Data           *data.Set[Step]
	Loss           *rl.Loss[Step, Metrics]
	Opt            *rl.Opt
	sample, greedy *rl.Func[rl.Obs, rl.Tree]
}

// Train runs the algorithm. An iteration is an update.
//
//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		s := t.Data.Sample(run.Key("sample"), t.Batch)
		g, m := t.Loss.Grad(run.Key("loss"), s.Data)
		t.Opt.Apply(g, t.Rate.At(run.Progress()))
		run.Log("loss", m.Loss)
		run.Log("entropy", m.Entropy)
	}
	return run.Err()
}

type (
	// Step holds the input of an update: an observation, and the action that was taken there.
	Step struct {
		Obs    rl.Obs
		Action rl.Tree
	}
	// Metrics reports an update, by row.
	Metrics struct{ Loss, Entropy rl.Tensor }
)

// Agent returns the trained policy, for evaluation, export and serving.
func (t *Trainer) Agent() rl.Agent {
	return rl.NewAgent(t.sample, t.greedy, func(a rl.Tree) rl.Tree { return a })
}

// Config is its settings. The defaults are those of CORL's behavioural cloning.
type Config struct {
	data.From
	Batch int `default:"256" unit:"steps" range:"[1,)" doc:"steps of the data set that an update imitates"`
	nn.Rate
	nn.Standard `defaults:"normalize_obs=true"`
	nn.Layers   `defaults:"hidden=256,256 activation=relu"`
}

// Algorithm is behavioural cloning for whoever runs it.
var Algorithm = algo.DefineOffline("bc", "behavioural cloning: imitates the actions of a data set", []algo.Preset{
	{Name: "default", Doc: "CORL's recipe", Steps: 100_000},
}, build)

func build(s *rl.Scope, _ algo.MakeEnv, c *Config) (rl.Trainer, error) {
	set, err := data.NewFrom[Step](s, "data", c.From, data.Options{})
	if err != nil {
		return nil, err
	}
	n, err := newNet(s, *c, set)
	if err != nil {
		return nil, err
	}
	return &Trainer{
		Config: *c, Data: set,
		Loss:   rl.NewLoss(s, "loss", n.loss, n.params),
		Opt:    rl.NewOpt(s, "adam", nn.Adam{}, n.params),
		sample: rl.NewFunc(s, "sample", n.sample),
		greedy: rl.NewFunc(s, "greedy", n.greedy),
	}, nil
}

// net is the policy.
type net struct {
	torso  nn.Torso
	head   nn.Head
	space  rl.Space  // of observations
	norm   *rl.Stats // of observations; nil without normalisation
	params *rl.Params
}

func newNet(s *rl.Scope, c Config, set *data.Set[Step]) (*net, error) {
	obs, action := set.Spaces()
	c.NormalizeObs = c.NormalizeObs && set.Meta().Norm != nil // pictures and choices stay as they are
	sees := c.Sees(obs)
	torso, err := c.Torso(sees)
	if err != nil {
		return nil, err
	}
	n := &net{torso: torso, head: nn.NewHead(action), space: obs}
	if c.NormalizeObs {
		n.norm = rl.NewStats(s, "observations", c.ClipObs, nn.Width(obs))
		if err := set.Normalise(n.norm); err != nil {
			return nil, err
		}
	}
	n.params = rl.NewParams(s, "policy", func(c *rl.Ctx, sc *model.Scope) {
		n.policy(c, sc, rl.Obs{X: nn.Blank(c, sees)}).Mode()
	})
	return n, nil
}

// seen returns observations as the network sees them.
func (n *net) seen(c *rl.Ctx, obs rl.Obs) rl.Obs {
	if n.norm != nil {
		obs.X = rl.One(rl.Wrap(n.norm.Norm(c, nn.Features(n.space, obs.X))))
	}
	return obs
}

func (n *net) policy(c *rl.Ctx, sc *model.Scope, seen rl.Obs) nn.Dist {
	x := n.torso.Apply(c, sc, seen.X)
	return n.head.Dist(c, sc, nn.Dense(c, sc.At("out"), x, n.head.Units(), 0.01), seen.Legal)
}

func (n *net) acting(c *rl.Ctx, obs rl.Obs) nn.Dist {
	return n.policy(c, c.Scope(n.params), n.seen(c, obs))
}

func (n *net) sample(c *rl.Ctx, obs rl.Obs) rl.Tree {
	return n.head.Clip(n.acting(c, obs).Sample(c, "action"))
}

func (n *net) greedy(c *rl.Ctx, obs rl.Obs) rl.Tree { return n.head.Clip(n.acting(c, obs).Mode()) }

// loss returns the negative logarithm of the probability that the policy gives to the data's
// actions.
func (n *net) loss(c *rl.Ctx, s Step) (loss, weight rl.Tensor, m Metrics) {
	pi := n.acting(c, s.Obs)
	loss = rl.Wrap(Neg(pi.LogProb(s.Action)))
	return loss, rl.Tensor{}, Metrics{loss, rl.Wrap(pi.Entropy())}
}

// Package thermostat learns from a log: it imitates what was done before, the more the better it
// turned out (reward-weighted regression, Peters and Schaal, 2007). It shows a data set of an
// author's own, Journal in source.go.
//
//	weft train ./examples/thermostat
//	weft train ./examples/thermostat --policy multi-learner --workers 2
package thermostat

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// Config is its settings.
type Config struct {
	Batch        int     `default:"64" unit:"steps" range:"[1,)" doc:"steps of the log that an update looks at"`
	LearningRate float64 `default:"1e-2" range:"(0,)" doc:"Adam's step size"`
	Temperature  float64 `default:"0.5" range:"(0,)" doc:"how much worse a reward may be to count for half as much, about"`
}

// Algorithm describes the algorithm: its settings, presets and constructor.
var Algorithm = algo.DefineOffline("thermostat", "learns to heat from a log", []algo.Preset{
	{Name: "default", Doc: "a second", Steps: 500},
}, build)

// Trainer learns from the log.
type Trainer struct {
	Config
	Data   *data.Set[Step]
	Loss   *rl.Loss[Step, rl.Tensor]
	Opt    *rl.Opt
	sample *rl.Func[rl.Obs, rl.Tree]
	greedy *rl.Func[rl.Obs, rl.Tree]
}

// Step holds the columns of a row that the loop reads.
type Step struct {
	Obs    rl.Obs
	Action rl.Tree
	Reward rl.Tensor
}

// Train runs the algorithm.
//
//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		s := t.Data.Sample(run.Key("sample"), t.Batch)
		g, right := t.Loss.Grad(run.Key("loss"), s.Data)
		t.Opt.Apply(g, t.LearningRate)
		run.Log("right", right)
	}
	return run.Err()
}

// net is the policy.
type net struct {
	head        nn.Head
	temperature float64
	params      *rl.Params
}

func build(s *rl.Scope, _ algo.MakeEnv, c *Config) (rl.Trainer, error) {
	log, err := Open()
	if err != nil {
		return nil, err
	}
	set := data.New[Step](s, "log", log, data.Options{})
	obs, action := set.Spaces()
	n := &net{head: nn.NewHead(action), temperature: c.Temperature}
	n.params = rl.NewParams(s, "policy", func(c *rl.Ctx, sc *model.Scope) { n.policy(c, sc, rl.Obs{X: nn.Blank(c, obs)}).Mode() })
	return &Trainer{
		Config: *c, Data: set,
		Loss:   rl.NewLoss(s, "loss", n.loss, n.params),
		Opt:    rl.NewOpt(s, "adam", nn.Adam{}, n.params),
		sample: rl.NewFunc(s, "sample", n.sample),
		greedy: rl.NewFunc(s, "greedy", n.greedy),
	}, nil
}

func (n *net) policy(c *rl.Ctx, sc *model.Scope, obs rl.Obs) nn.Dist {
	return n.head.Dist(c, sc, nn.Dense(c, sc.At("out"), obs.X.Leaf("").Node(), n.head.Units(), 1), obs.Legal)
}

func (n *net) sample(c *rl.Ctx, obs rl.Obs) rl.Tree {
	return n.policy(c, c.Scope(n.params), obs).Sample(c, "action")
}

func (n *net) greedy(c *rl.Ctx, obs rl.Obs) rl.Tree {
	return n.policy(c, c.Scope(n.params), obs).Mode()
}

// loss weighs every row by its reward. It reports where the policy heats when it is too cold, and
// only then.
func (n *net) loss(c *rl.Ctx, s Step) (loss, weight, right rl.Tensor) {
	pi := n.policy(c, c.Scope(n.params), s.Obs)
	weight = rl.Wrap(Exp(DivScalar(s.Reward.Node(), n.temperature)))
	cold := LessThan(Reshape(s.Obs.X.Leaf("").Node(), -1), ZerosLike(s.Reward.Node()))
	heats := NotEqual(pi.Mode().Leaf("").Node(), ZerosLike(pi.Mode().Leaf("").Node()))
	return rl.Wrap(Neg(pi.LogProb(s.Action))), weight, rl.Wrap(ConvertDType(Equal(cold, heats), s.Reward.Node().DType()))
}

// Agent returns the trained policy.
func (t *Trainer) Agent() rl.Agent {
	return rl.NewAgent(t.sample, t.greedy, func(a rl.Tree) rl.Tree { return a })
}

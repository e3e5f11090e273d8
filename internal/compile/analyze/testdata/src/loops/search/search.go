// Package search plays by tree search, in lock step over all games, with a
// component of its own for the trees, and tests its network in an arena.
package search

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Moves, Simulations, Updates, Batch int
	Gate                               float64
	ArenaEvery                         int64
	Env                                env.Batch
	Forest                             *Forest
	Games                              *kit.Table[kit.Sample]
	Arena                              *Arena
	Net, Best                          *kit.Net
	eval                               *rl.Func[rl.Obs, kit.Act]
	loss                               *rl.Loss[kit.Sample, rl.Tensor]
	opt                                *rl.Opt
}

// Forest is a search tree for each environment.
type Forest struct {
	root rl.Obs
	best rl.Tree
}

func (f *Forest) Axis() rl.Axis        { return rl.Envs }
func (f *Forest) Save(*rl.State)       {}
func (f *Forest) Load(*rl.State) error { return nil }

// Plant begins a search.
//
//weft:op writes
func (f *Forest) Plant(obs rl.Obs) { f.root = obs }

// Select walks down to a leaf.
//
//weft:op writes
func (f *Forest) Select(k rl.Key) rl.Obs { return f.root }

// Expand adds what a network thinks of a leaf.
//
//weft:op writes
func (f *Forest) Expand(leaf rl.Obs, e kit.Act) { f.best = e.Action }

// Choose is the move to make, and how often it was looked at.
//
//weft:op reads
func (f *Forest) Choose(k rl.Key) (action rl.Tree, visits rl.Tensor) { return f.best, f.root.First }

// Arena lets two networks play; it has games of its own.
type Arena struct{ games int }

func (a *Arena) Axis() rl.Axis        { return rl.None }
func (a *Arena) Save(*rl.State)       {}
func (a *Arena) Load(*rl.State) error { return nil }

// Play is how often the first one won.
//
//weft:op writes
//weft:axis none
func (a *Arena) Play(k rl.Key, one, two *rl.Params) rl.Tensor {
	a.games++
	return rl.Scalar(.5)
}

func New(s *rl.Scope, make algo.MakeEnv, n int) (*Trainer, error) {
	e, err := make.Batch(n)
	if err != nil {
		return nil, err
	}
	t := &Trainer{
		Moves: 2, Simulations: 3, Updates: 2, Batch: 4, Gate: .55, ArenaEvery: 8, Env: e, Forest: &Forest{}, Arena: &Arena{},
		Games: kit.NewTable[kit.Sample](s, "games", 50), Net: kit.New(s, "net", e.Spec()), Best: kit.New(s, "best", e.Spec()),
	}
	t.eval, t.loss = rl.NewFunc(s, "eval", t.Best.Policy), rl.NewLoss(s, "loss", t.Net.ValueLoss, t.Net.Params)
	t.opt = rl.NewOpt(s, "adam", nn.Adam{}, t.Net.Params)
	return t, nil
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		for m := range t.Moves {
			t.Forest.Plant(obs)
			for s := range t.Simulations {
				leaf := t.Forest.Select(run.Key("select", m, s))
				e := t.eval.Call(run.Key("eval", m, s), leaf)
				t.Forest.Expand(leaf, e)
			}
			act, visits := t.Forest.Choose(run.Key("move", m))
			out := t.Env.Step(act)
			t.Games.Insert(kit.Sample{Obs: obs, Action: act, Adv: visits, Ret: out.Reward})
			obs = out.Obs
		}
		if t.Games.Ready(t.Batch) {
			t.learn(run)
		}
		if run.Every(t.ArenaEvery) {
			if run.Value(t.Arena.Play(run.Key("arena"), t.Net.Params, t.Best.Params)) > t.Gate {
				t.Best.Params.Blend(t.Net.Params, 1)
			}
		}
	}
	return run.Err()
}

func (t *Trainer) learn(run *rl.Run) {
	for u := range t.Updates {
		g, l := t.loss.Grad(run.Key("loss", u), t.Games.Sample(run.Key("sample", u), t.Batch))
		t.opt.Apply(g, 1e-3)
		run.Log("loss", l)
	}
}

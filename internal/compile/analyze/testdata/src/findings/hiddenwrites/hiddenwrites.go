// Package hiddenwrites has helpers with effects that their results do not show.
package hiddenwrites

import (
	"errors"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Env    env.Batch
	Counts []*Count
	Last   float64
	Sizes  []float64
	Judge  *Judge
	net    *kit.Net
	rate   func() float64
	act    *rl.Func[rl.Obs, kit.Act]
}

// Count is no component.
type Count struct{ n float64 }

// Judge is one.
type Judge struct{ seen int }

func (j *Judge) Axis() rl.Axis        { return rl.None }
func (j *Judge) Save(*rl.State)       {}
func (j *Judge) Load(*rl.State) error { return nil }

//weft:op writes
func (j *Judge) See(x rl.Tensor) { j.seen++ }

func (j *Judge) count() float64 { return float64(j.seen) } // want `j.seen is state of a component`

func New(s *rl.Scope, m algo.MakeEnv) (*Trainer, error) {
	e, err := m.Batch(4)
	if err != nil {
		return nil, err
	}
	net := kit.New(s, "net", e.Spec())
	return &Trainer{Env: e, Judge: &Judge{}, net: net, act: rl.NewFunc(s, "act", net.Policy)}, nil
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		out := t.Env.Step(t.act.Call(run.Key("act"), t.Env.Obs()).Action)
		t.Judge.See(out.Reward)
		run.Log("a", rl.Scalar(t.ranges()))  // want `writes to t, which the loop did not make`
		run.Log("b", rl.Scalar(t.aliases())) // want `writes to t, which the loop did not make`
		run.Log("c", rl.Scalar(calls(t)))
		run.Log("d", rl.Scalar(remembers(t)))
		run.Log("e", rl.Scalar(weights(t.net)))
		run.Log("f", rl.Scalar(steps(run)))
		run.Log("g", rl.Scalar(t.Judge.count()))
		run.Log("i", rl.Scalar(switches(t.Sizes)))     // want `this fills a slice that was not made here`
		run.Log("h", rl.Scalar(float64(t.Judge.seen))) // want `t.Judge.seen is state of a component`
	}
	return run.Err()
}

// ranges writes through the variable of a range.
func (t *Trainer) ranges() float64 {
	for _, c := range t.Counts {
		c.n++
	}
	return float64(len(t.Counts))
}

// aliases writes through another name.
func (t *Trainer) aliases() float64 {
	var u = t
	u.Last++
	return u.Last
}

// switches writes through the variable of a type switch.
func switches(x any) float64 {
	switch v := x.(type) {
	case []float64:
		v[0]++
		return v[0]
	}
	return 0
}

// calls calls a function value.
func calls(t *Trainer) float64 { return t.rate() } // want `a function value cannot be read through`

var last error

// remembers reads a variable that others may write.
func remembers(t *Trainer) float64 {
	if errors.Is(last, rl.ErrStop) { // want `the package variable last may be changed`
		return 1
	}
	return 0
}

// weights reads what has another home.
func weights(n *kit.Net) float64 { return float64(len(n.Params.Tensors())) } // want `rl.Params.Tensors has no place in a loop`

// steps reads a replica's own counter.
func steps(run *rl.Run) float64 { return float64(run.Scope().Steps()) } // want `rl.Run.Scope has no place in a loop` `rl.Scope.Steps has no place in a loop`

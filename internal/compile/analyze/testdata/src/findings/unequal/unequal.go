// Package unequal makes components of the rows that a replica has, so that replicas
// would not begin with what the plain loop begins with.
package unequal

import (
	"fmt"
	"strings"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Env                                            env.Batch
	zeros                                          []float32
	act                                            *rl.Func[rl.Obs, kit.Act]
	scaled                                         *rl.Func[rl.Obs, rl.Tensor]
	ramp                                           rl.Tensor
	zero, one, two, three, six, seven, eight, nine *rl.Slots[rl.Tensor]
}

type scale struct{ rows int }

func (n scale) Apply(c *rl.Ctx, in rl.Obs) rl.Tensor {
	return rl.Wrap(MulScalar(in.First.Node(), n.rows)) // want `n.rows differs from replica to replica, and a function would be recorded with it`
}

func ramp(n int) (out []float32) {
	for i := range n {
		out = append(out, float32(i))
	}
	return out
}

func New(s *rl.Scope, m algo.MakeEnv) (*Trainer, error) {
	e, err := m.Batch(4)
	if err != nil {
		return nil, err
	}
	rows := e.Spec().Rows
	if rows < 1 {
		return nil, rl.ErrStop
	}
	t := &Trainer{Env: e, act: rl.NewFunc(s, "act", kit.New(s, "net", e.Spec()).Policy), zeros: make([]float32, rows)}
	t.scaled = rl.NewFunc(s, "scaled", scale{rows}.Apply)
	t.zero = rl.NewSlots(s, "zero", rl.FromFlat(s, make([]float32, rows), rows))
	t.one = rl.NewSlots(s, "one", rl.FromFlat(s, ramp(rows), rows)) // want `this differs from replica to replica`

	filled := make([]float32, rows)
	alias := filled
	for i := range alias {
		alias[i] = float32(i)
	}
	t.ramp = rl.FromFlat(s, filled, rows)
	t.two = rl.NewSlots(s, "two", t.ramp) // want `this differs from replica to replica`

	halves := make([]float32, rows)
	for i := range halves {
		halves[i] = .5
	}
	t.eight = rl.NewSlots(s, "eight", rl.FromFlat(s, halves, rows))
	some := make([]float32, rows)
	for i := range some {
		if i > 1 {
			break
		}
		some[i] = .5
	}
	t.nine = rl.NewSlots(s, "nine", rl.FromFlat(s, some, rows)) // want `this differs from replica to replica`

	name := "three"
	for i := range 8 {
		if i == e.Spec().First {
			break
		}
		name = "four"
	}
	t.three = rl.NewSlots(s, name, rl.FromFlat(s, make([]float32, rows), rows)) // want `this differs from replica to replica`
	if rows > 2 {
		t.three = rl.NewSlots(s, "five", rl.FromFlat(s, make([]float32, rows), rows)) // want `whether this is made differs from replica to replica`
	}
	t.six = rl.NewSlots(s, strings.Repeat("six", rows), rl.FromFlat(s, make([]float32, rows), rows)) // want `this differs from replica to replica`
	t.seven = rl.NewSlots(s, fmt.Sprint(e.Spec()), rl.FromFlat(s, make([]float32, rows), rows))      // want `this differs from replica to replica`
	return t, nil
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		out := t.Env.Step(t.act.Call(run.Key("act"), obs).Action)
		run.Log("scaled", t.scaled.Call(rl.Key{}, obs))
		run.Log("reward", out.Reward)
		run.Log("length", rl.Scalar(float64(len(t.zeros)))) // want `t.zeros is what this replica has of the environments`
		run.Log("ramp", t.ramp)                             // want `t.ramp is what this replica has of the environments`
	}
	return run.Err()
}

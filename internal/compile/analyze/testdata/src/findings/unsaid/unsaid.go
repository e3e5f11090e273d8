// Package unsaid has operations that leave open what they do with rows.
package unsaid

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Env   env.Batch
	Debts *Debts
	Scale *Scale
	Odd   *Odd
	parts float64
	act   *rl.Func[rl.Obs, kit.Act]
}

// Debts has a number for every environment.
type Debts struct{ owed []float32 }

func (d *Debts) Axis() rl.Axis        { return rl.Envs }
func (d *Debts) Save(*rl.State)       {}
func (d *Debts) Load(*rl.State) error { return nil }

// Most is a number of the rows that a replica has.
//
//weft:op reads
func (d *Debts) Most() float64 { return float64(d.owed[0]) }

// Roll draws a number for every row that a replica has.
//
//weft:op writes
func (d *Debts) Roll(k rl.Key) {
	for i := range d.owed {
		d.owed[i] = float32(k.Uniform(i, 0)) // want `Roll draws for the rows that its replica has, by their places among these: the numbers would depend on the split; ask the key which rows they are`
	}
}

// Cast does the same, and knows which rows of all they are.
//
//weft:op writes
func (d *Debts) Cast(k rl.Key) {
	if own, ok := k.OwnOf(len(d.owed)); ok {
		k = k.At(own.Lo)
	}
	for i := range d.owed {
		d.owed[i] = float32(k.Uniform(i, 0))
	}
}

// Scale has one number.
type Scale struct{ by float32 }

func (s *Scale) Axis() rl.Axis        { return rl.None }
func (s *Scale) Save(*rl.State)       {}
func (s *Scale) Load(*rl.State) error { return nil }

// Times returns a batch of the rows that it is given, or of others.
//
//weft:op reads
func (s *Scale) Times(x rl.Tensor) rl.Tensor { return x }

// Odd decides later what it may be split along.
type Odd struct{ whole bool }

func (o *Odd) Axis() rl.Axis {
	if o.whole {
		return rl.None
	}
	return rl.Envs
}
func (o *Odd) Save(*rl.State)       {}
func (o *Odd) Load(*rl.State) error { return nil }

//weft:op writes
func (o *Odd) Put(x rl.Tensor) { o.whole = true }

func New(s *rl.Scope, m algo.MakeEnv) (*Trainer, error) {
	e, err := m.Batch(4)
	if err != nil {
		return nil, err
	}
	net := kit.New(s, "net", e.Spec())
	t := &Trainer{Env: e, Debts: &Debts{}, Scale: &Scale{}, act: rl.NewFunc(s, "act", net.Policy)}
	t.Odd = &Odd{} // want `what the state of unsaid.Odd may be split along is not known: its method Axis is more than one return of a constant; declare Axis`
	t.parts = float64(s.Parts())
	return t, nil
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		out := t.Env.Step(t.act.Call(run.Key("act"), t.Env.Obs()).Action)
		t.Debts.Roll(run.Key("roll"))
		t.Debts.Cast(run.Key("cast"))
		run.Log("most", rl.Scalar(t.Debts.Most()))          // want `Most returns float64, and a replica has the state of its own environments alone, of which numbers would be; return batches with a row for each environment`
		run.Log("scaled", t.Scale.Times(out.Reward))        // want `Times is given rows of environments and returns a batch, of which it does not say whether it has the same rows; write //weft:axis environments, or rows`
		run.Log("parts", rl.Scalar(t.parts*run.Progress())) // want `t.parts is what this replica has of the environments`
		t.Odd.Put(out.Reward)
	}
	return run.Err()
}

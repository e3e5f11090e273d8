// Package lent gives an environment to an operation, and carries what cannot be carried.
package lent

import (
	"math/big"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Env   env.Batch
	Judge *Judge
}

// Judge is a component that asks for too much.
type Judge struct{ n int }

func (j *Judge) Axis() rl.Axis        { return rl.None }
func (j *Judge) Save(*rl.State)       {}
func (j *Judge) Load(*rl.State) error { return nil }

//weft:op writes
func (j *Judge) Look(e env.Batch) { j.n++ }

//weft:op writes
func (j *Judge) Weigh(v Verdict) { j.n++ }

// Verdict holds what cannot travel.
type Verdict struct {
	X   rl.Tensor
	Big big.Int
}

//weft:rows
func verdict(o rl.Obs) Verdict { return Verdict{X: o.First} }

//weft:rows
func later(o rl.Obs) Delayed { return Delayed{o.First, nil, nil} }

// Delayed holds a function and a channel.
type Delayed struct {
	X rl.Tensor
	F func()
	C chan int
}

//weft:op writes
func (j *Judge) Wait(d Delayed) { j.n++ }

func New(s *rl.Scope, m algo.MakeEnv) (*Trainer, error) {
	e, err := m.Batch(4)
	return &Trainer{Env: e, Judge: &Judge{}}, err
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		t.Judge.Look(t.Env)       // want `an operation is given a component that has another home`
		v := verdict(t.Env.Obs()) // want `this goes from environment to apply, but is or holds a struct with the unexported field`
		t.Judge.Weigh(v)
		d := later(t.Env.Obs()) // want `this goes from environment to apply, but is or holds a function`
		t.Judge.Wait(d)
	}
	return run.Err()
}

// Package says has operations that do what their directives do not say.
package says

import (
	"math/rand/v2"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Env   env.Batch
	Judge *Judge
	act   *rl.Func[rl.Obs, kit.Act]
}

// Judge keeps what it has seen.
type Judge struct {
	seen  []float64
	slots *rl.Slots[rl.Tensor]
}

func (j *Judge) Axis() rl.Axis        { return rl.None }
func (j *Judge) Save(*rl.State)       {}
func (j *Judge) Load(*rl.State) error { return nil }

// Count is said to read.
//
//weft:op reads
func (j *Judge) Count() float64 {
	j.seen = append(j.seen, 1) // want `Count is marked //weft:op reads, and writes j.seen; mark it //weft:op writes`
	return j.total()
}

func (j *Judge) total() (sum float64) {
	for i, x := range j.seen {
		sum += x
		j.seen[i] = 0 // want `Count is marked //weft:op reads, and writes j.seen\[i\]`
	}
	return sum
}

// Fill changes a slice of the loop's.
//
//weft:op reads
func (j *Judge) Fill(into []float64) {
	into[0] = 1 // want `the operation Fill writes to what it was given \(into\[0\]\); make a copy`
}

// Clear has a function change a slice of the loop's.
//
//weft:op reads
func (j *Judge) Clear(into []float64) { wipe(into) }

func wipe(xs []float64) {
	xs[0] = 0 // want `the operation Clear writes to what it was given \(xs\[0\]\); make a copy`
}

// Reset has a function change its own state.
//
//weft:op reads
func (j *Judge) Reset() { zero(j.seen) }

func zero(xs []float64) {
	xs[0] = 0 // want `Reset is marked //weft:op reads, and writes xs\[0\]; mark it //weft:op writes`
}

// Forget may: it is said to write.
//
//weft:op writes
func (j *Judge) Forget() { drop(&j.seen) }

func drop(xs *[]float64) { *xs = nil }

// Seen gives its memory away.
//
//weft:op reads
func (j *Judge) Seen() []float64 {
	return j.seen // want `Seen returns memory of its component \(j.seen\), which its operations may change later; return a copy`
}

// Keep uses a component of another home.
//
//weft:op writes
func (j *Judge) Keep(x rl.Tensor) {
	j.slots.Set(x) // want `the operation Keep contains the operation rl.Slots.Set, of a component that has a home of its own; call both in the loop`
}

var level float64

// Guess depends on more than its arguments.
//
//weft:op writes
func (j *Judge) Guess() {
	j.seen = append(j.seen, rand.Float64()) // want `math/rand/v2.Float64 is a hidden input`
	j.seen = append(j.seen, level)          // want `the package variable level may be changed`
}

func New(s *rl.Scope, m algo.MakeEnv) (*Trainer, error) {
	e, err := m.Batch(4)
	if err != nil {
		return nil, err
	}
	net := kit.New(s, "net", e.Spec())
	return &Trainer{Env: e, Judge: &Judge{}, act: rl.NewFunc(s, "act", net.Policy)}, nil
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		out := t.Env.Step(t.act.Call(run.Key("act"), t.Env.Obs()).Action)
		run.Log("count", rl.Scalar(t.Judge.Count()))
		xs := []float64{0}
		t.Judge.Fill(xs)
		t.Judge.Clear(xs)
		t.Judge.Reset()
		t.Judge.Forget()
		run.Log("seen", rl.Scalar(t.Judge.Seen()[0]+xs[0]))
		t.Judge.Keep(out.Reward)
		t.Judge.Guess()
	}
	return run.Err()
}

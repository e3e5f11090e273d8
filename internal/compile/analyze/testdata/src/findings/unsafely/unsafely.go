// Package unsafely looks at a batch and at a number behind Go's back.
package unsafely

import (
	"unsafe"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/base"
	"github.com/weft-rl/weft/rl"
)

func New(s *rl.Scope, m algo.MakeEnv) (*base.Trainer, error) { return base.New(s, m, 4) }

//weft:train
func Train(t *base.Trainer, run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		act := t.Act.Call(run.Key("act"), obs)
		out := t.Env.Step(act.Action)
		p := unsafe.Pointer(&out) // want `package unsafe goes round` `a pointer to a batch`
		words := []int{1, 2}
		q := unsafe.SliceData(words) // want `package unsafe goes round`
		size := unsafe.Sizeof(words) // a constant
		_, _, _ = p, q, size
	}
	return run.Err()
}

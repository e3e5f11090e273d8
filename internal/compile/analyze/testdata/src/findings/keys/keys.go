// Package keys gives operations keys that are not the iteration's, or that others have.
package keys

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Env   env.Batch
	key   rl.Key
	act   *rl.Func[rl.Obs, kit.Act]
	value *rl.Func[rl.Obs, rl.Tensor]
}

func New(s *rl.Scope, m algo.MakeEnv) (*Trainer, error) {
	e, err := m.Batch(4)
	if err != nil {
		return nil, err
	}
	net := kit.New(s, "net", e.Spec())
	return &Trainer{Env: e, key: s.Key("mine"), act: rl.NewFunc(s, "act", net.Policy), value: rl.NewFunc(s, "value", net.Value)}, nil
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		obs := t.Env.Obs()
		run.Log("value", t.value.Call(rl.Key{}, obs)) // it draws nothing
		run.Log("a", t.act.Call(rl.Key{}, obs).Value) // want `t.act.Call draws random numbers, and rl.Key\{\} is the same`
		run.Log("b", t.act.Call(t.key, obs).Value)    // want `this key is not one of the iteration's`
		k := t.key
		if run.Iter() > 3 {
			k = run.Key("sometimes")
		}
		run.Log("c", t.act.Call(k, obs).Value) // want `this key is not one of the iteration's`
		all := run.Key("all")
		for range 3 {
			run.Log("d", t.act.Call(all, obs).Value) // want `this key was given to an operation before.*give run.Key the index`
		}
		either := run.Key("either")
		if run.Iter() > 3 {
			run.Log("e", t.act.Call(either, obs).Value)
		} else {
			run.Log("f", t.act.Call(either, obs).Value)
		}
		run.Log("g", t.act.Call(either, obs).Value)               // want `this key was given to an operation before`
		run.Log("h", t.act.Call(run.Key("h").Fold(3), obs).Value) // want `rl.Key.Fold has no place in a loop`
		run.Log("i", t.act.Call(made(), obs).Value)               // want `this key is not one of the iteration's`
		t.Env.Step(t.act.Call(given(pack{run.Key("act"), 2}), obs).Action)
	}
	return run.Err()
}

func made() rl.Key { return rl.NewKey(3) } // want `rl.NewKey has no place in a loop`

type pack struct {
	key rl.Key
	n   int
}

func given(p pack) rl.Key { return p.key }

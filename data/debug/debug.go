// Package debug has tiny data sets of the tasks of env/debug, from which any correct learner learns
// to solve them. They are made when they are opened:
//
//	debug:identity           what an expert does in Identity-v0
//	debug:identity-mixed     the same with two of three actions at random, as rewards show
//	debug:continuous         what an expert does in IdentityContinuous-v0
//	debug:continuous-mixed   the same with two of three actions at random
package debug

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/rl"
)

func init() { data.RegisterScheme(data.Scheme{Prefix: "debug", Open: Open}) }

const (
	episodes = 64
	length   = 16 // of every episode, as in env/debug
	symbols  = 4
)

// Open makes the set of a name.
func Open(name string) (data.Source, error) {
	task, mixed := strings.CutSuffix(name, "-mixed")
	names := []string{"identity", "continuous"}
	if !slices.Contains(names, task) {
		return nil, fmt.Errorf("there is no such set: there are %s, and each with -mixed behind it", strings.Join(names, " and "))
	}
	m := identity()
	if task == "continuous" {
		m = continuous()
	}
	set, err := data.NewMemory(m)
	for i := 0; err == nil && i < episodes; i++ {
		err = set.Add(episode(m, rl.NewKey(uint64(i)), mixed))
	}
	if err == nil {
		err = set.Complete()
	}
	return set, err
}

func identity() data.Meta {
	return data.Meta{
		Env: "Identity-v0", Limit: length, Bounds: &data.Bounds{Random: length / symbols, Expert: length},
		Obs: rl.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{symbols}}, Action: rl.Discrete{N: symbols},
	}
}

func continuous() data.Meta {
	one := rl.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{1}}
	return data.Meta{Env: "IdentityContinuous-v0", Limit: length, Bounds: &data.Bounds{Random: length / 3., Expert: length}, Obs: one, Action: one}
}

// episode returns an episode of a key.
func episode(m data.Meta, k rl.Key, mixed bool) data.Episode {
	e := data.NewEpisode(m, length)
	obs, reward := e.Columns[0].([]float32), e.Columns[2].([]float32)
	for t := range length + 1 {
		random := mixed && k.IntN(t, 1, 3) > 0
		switch action := e.Columns[1].(type) {
		case []int32:
			shown := k.IntN(t, 0, symbols)
			obs[t*symbols+shown] = 1
			if action[t] = int32(shown); random {
				action[t] = int32(k.IntN(t, 2, symbols))
			}
			if action[t] == int32(shown) {
				reward[t] = 1
			}
		case []float32:
			shown := float32(2*k.Uniform(t, 0) - 1)
			obs[t] = shown
			if action[t] = shown; random {
				action[t] = float32(2*k.Uniform(t, 2) - 1)
			}
			reward[t] = 1 - (action[t]-shown)*(action[t]-shown)
		}
	}
	e.Columns[4].([]bool)[length-1] = true // truncated, as the environment is
	blank(&e)
	return e
}

// blank clears what an episode has no step for.
func blank(e *data.Episode) {
	switch action := e.Columns[1].(type) {
	case []int32:
		action[length] = 0
	case []float32:
		action[length] = 0
	}
	e.Columns[2].([]float32)[length] = 0
}

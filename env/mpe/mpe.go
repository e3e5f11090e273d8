// Package mpe is two of the multi-agent particle environments of the PyPI package
// mpe2 as graph environments: simple_spread (agents of one kind that cover
// landmarks together) and simple_tag (adversaries that chase good agents). The
// dynamics, observations, rewards and limits are mpe2's, in float32.
//
// Rewards follow mpe2. In simple_spread agent i gets
//
//	(1 - local_ratio) global + local_ratio local_i
//
// where global is minus the sum over landmarks of the distance to the nearest
// agent, and local_i is -1 for each agent that i touches. In simple_tag every
// adversary gets 10 for each touching pair of an adversary and a good agent, and a
// good agent loses 10 for each adversary that touches it and more the further it
// leaves the area. An episode's return is the sum over all agents of all kinds:
// for simple_spread, whose papers often report the mean over agents, N times that.
//
// Obs.State, for centralised critics, is the observations of all agents one after
// another, adversaries first, as mpe2's state() has it.
//
// Not here are mpe2's curricula, its partial observability, and communication,
// which these two environments have no use for: what agents hear from each other
// in simple_spread is zeros.
package mpe

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// All are the environments of this package.
var All = []env.Entry{SimpleSpread, SimpleTag}

// settings returns options as the struct that an environment expects, if their Check
// finds nothing wrong.
func settings[T interface{ Check() error }](options any) (o T, err error) {
	p, ok := options.(*T)
	if !ok || p == nil {
		return o, fmt.Errorf("options are %T, want %T as its entry's Options makes", options, p)
	}
	return *p, (*p).Check()
}

// atLeast returns the error of an option below its least value.
func atLeast(name string, x, least int) error {
	if x < least {
		return fmt.Errorf("option %s is %d, at least %d is needed", name, x, least)
	}
	return nil
}

// moves are the five actions: nothing, left, right, down, up. With continuous
// actions each has a strength.
const moves = 5

func actionSpace(continuous bool) rl.Space {
	if continuous {
		return rl.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{moves}}
	}
	return rl.Discrete{N: moves}
}

// agentAxis returns x, [env, agent, ...], as a kind of agents has it: without the axis
// where it is only one.
func agentAxis(x *graph.Node) rl.Tensor {
	if x.Shape().Dimensions[1] == 1 {
		x = graph.Squeeze(x, 1)
	}
	return rl.Wrap(x)
}

// forAll returns a flag of environments, [env], for each of their agents.
func forAll(flag *graph.Node, agents int) rl.Tensor {
	return agentAxis(graph.BroadcastToDims(graph.ExpandAxes(flag, 1), flag.Shape().Dimensions[0], agents))
}

// never returns false for each row of x.
func never(x *graph.Node) *graph.Node {
	return graph.BroadcastToDims(graph.Const(x.Graph(), false), x.Shape().Dimensions[0])
}

// flat returns x, [env, ...], with one axis beside the environments.
func flat(x *graph.Node) *graph.Node { return graph.Reshape(x, x.Shape().Dimensions[0], -1) }

func shape(dims ...int) shapes.Shape { return shapes.Make(dtypes.Float32, dims...) }

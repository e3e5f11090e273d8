// Package debug is tiny tasks that any correct learner solves within a second,
// one for each thing a learner can get wrong: reading observations (Identity),
// continuous actions (IdentityContinuous), memory (Memory), masks of legal
// actions (Masked), environments that are plain Go (Host), several agents
// (Agents), several kinds of them (Kinds), what agents are worth to each other
// (TwoStep), and the value of states at a time limit (Endless).
package debug

import (
	"errors"
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// All are the environments of this package.
var All = []env.Entry{Identity, IdentityContinuous, Memory, Masked, Host, Agents, Kinds, TwoStep, Endless}

// Length is the steps of an episode of every task but Memory, TwoStep and Endless.
const Length = 16

// entry offers a task with options of type T. make returns its dynamics, or what
// is wrong with the options.
func entry[T any](id, doc string, defaults T, make func(T) (env.Dynamics, error)) env.Entry {
	kind := env.Kind("")
	if d, err := make(defaults); err == nil {
		kind = env.KindOf(d.Spec())
	}
	return env.Entry{
		ID: id, Doc: doc, Kind: kind,
		Options: func() any { o := defaults; return &o },
		New: func(s *rl.Scope, n int, options any) (env.Batch, error) {
			o, err := settings[T](options)
			if err != nil {
				return nil, err
			}
			d, err := make(o)
			if err != nil {
				return nil, err
			}
			return env.Graph(s, n, d)
		},
	}
}

// settings returns options as the struct that a task expects.
func settings[T any](options any) (T, error) {
	o, ok := options.(*T)
	if !ok || o == nil {
		var want *T
		return *new(T), fmt.Errorf("options are %T, want %T as its entry's Options makes", options, want)
	}
	return *o, nil
}

// atLeast returns the error of an option below its least value.
func atLeast(name string, x, least int) error {
	if x < least {
		return fmt.Errorf("option %s is %d, at least %d is needed", name, x, least)
	}
	return nil
}

// pick draws one of 0..n-1 for each row, or for each element of it, int32.
func pick(c *rl.Ctx, use string, n int, dims ...int) *graph.Node {
	return graph.ConvertDType(graph.MulScalar(c.Uniform(use, dims...), float32(n)), dtypes.Int32)
}

// float returns x, bool, as 0 and 1.
func float(x *graph.Node) rl.Tensor { return rl.Wrap(graph.ConvertDType(x, dtypes.Float32)) }

// never returns false for each row, or for each of its agents.
func never(g *graph.Graph, dims ...int) rl.Tensor {
	return rl.Wrap(graph.BroadcastToDims(graph.Const(g, false), dims...))
}

var errNoOptions = errors.New("it takes no options")

package app

import (
	"errors"
	"fmt"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/run/runner"
)

// Agent acts in one environment with trained weights, by plain numbers: it needs no scope, no
// device and no tensors of its caller. Train, Resume and Load give one. Its methods may be called
// by several goroutines, one after another.
type Agent struct {
	Step   int64 // training steps when the weights were saved
	Sample bool  // act as in training instead of greedily

	player *runner.Player
}

// Observation holds the view that agents of one kind have of the environment. Numbers are in
// row-major order, those of several agents one after another.
type Observation struct {
	X     map[string][]float64 // values, by part of the space of observations; a space that is no Dict has one part, ""
	Legal map[string][]bool    // masks of legal actions, by part of the space of actions; nil: all are legal
	State []float64            // global state, where there is one; nil: zeros
}

// Specs returns the specs of the environment as the agents see it, by kind of agents: their spaces
// of observations and actions among others.
func (a *Agent) Specs() []env.Spec { return a.player.Specs() }

// Reset begins an episode: an agent with memory forgets. An agent that was just made is at the
// beginning of one.
func (a *Agent) Reset() { a.player.Reset() }

// Act returns the action on an observation, and moves the agent's memory on. It is for environments
// with one kind of agents whose observations and actions are no Dict. An observation that does not
// fit the space is an error, and changes nothing.
func (a *Agent) Act(obs []float64) ([]float64, error) {
	specs := a.player.Specs()
	if len(specs) != 1 {
		return nil, fmt.Errorf("there are %d kinds of agents: ActAll acts for all of them", len(specs))
	}
	all, err := a.ActAll([]Observation{{X: map[string][]float64{"": obs}}})
	if err != nil {
		return nil, err
	}
	action, ok := all[0][""]
	if !ok {
		return nil, errors.New("the action is a " + specs[0].Action.String() + ": ActAll returns all of its parts")
	}
	return action, nil
}

// ActAll returns the actions of all kinds of agents for their observations, in the order of Specs,
// by part of the action space.
func (a *Agent) ActAll(obs []Observation) ([]map[string][]float64, error) {
	seen := make([]runner.Seen, len(obs))
	for i, o := range obs {
		seen[i] = runner.Seen(o)
	}
	return a.player.Act(seen, !a.Sample)
}

// Close gives back what the agent's environments hold: processes, libraries. An agent of a Result
// has nothing of that kind.
func (a *Agent) Close() error { return a.player.Close() }

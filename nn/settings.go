package nn

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// Rate is a step size and how it goes on, as settings for an algorithm to embed.
type Rate struct {
	LearningRate float64 `default:"3e-4" range:"(0,)" doc:"the optimiser's step size at the start"`
	Anneal       string  `default:"constant" oneof:"linear cosine constant" doc:"schedule of the step size: linear or cosine to 0 at the end of the budget, or constant"`
}

// At returns the step size when a part of the budget is done.
//
//weft:pure
func (r Rate) At(progress float64) float64 {
	switch r.Anneal {
	case "linear":
		return r.LearningRate * (1 - progress)
	case "cosine":
		return Cosine(r.LearningRate, 0)(progress)
	}
	return r.LearningRate
}

// RMS holds the settings of RMSProp behind a clipped norm, for an algorithm to embed.
type RMS struct {
	RMSDecay    float64 `default:"0.99" range:"[0,1)" doc:"decay of RMSProp's running mean of squared gradients"`
	RMSEps      float64 `default:"1e-5" range:"(0,)" doc:"RMSProp's term for numerical stability; a large one has small gradients make small steps"`
	MaxGradNorm float64 `default:"0.5" range:"(0,)" doc:"norm over all parameters to which gradients are clipped"`
}

// Rule returns RMSProp behind a clipped norm.
func (r RMS) Rule() rl.Rule {
	return ClipNorm{Max: r.MaxGradNorm, Rule: RMSProp{Alpha: r.RMSDecay, Eps: r.RMSEps}}
}

// Terms holds the weights of an actor-critic's loss, for an algorithm to embed.
type Terms struct {
	ValueCoef   float64 `default:"0.5" range:"[0,)" doc:"weight of the value loss"`
	EntropyCoef float64 `default:"0.01" range:"[0,)" doc:"weight of the entropy bonus"`
}

// Sum returns the loss by row: the policy's and the value's by their weights, less the entropy
// bonus.
func (t Terms) Sum(policy, value, entropy *Node) rl.Tensor {
	return rl.Wrap(Sub(Add(policy, MulScalar(value, t.ValueCoef)), MulScalar(entropy, t.EntropyCoef)))
}

// Exploring holds the settings of epsilon-greedy exploration, for an algorithm to embed.
type Exploring struct {
	EpsilonStart float64 `default:"1" range:"[0,1]" doc:"part of actions that are random at the start"`
	EpsilonEnd   float64 `default:"0.05" range:"[0,1]" doc:"the same at the end"`
	Exploration  float64 `default:"0.5" range:"(0,1]" doc:"part of the budget over which it goes from one to the other"`
}

// Epsilon returns the part of actions that are random when a part of the budget is done: from the
// start's value straight to the end's, over the first part of the budget.
//
//weft:pure
func (e Exploring) Epsilon(progress float64) float64 {
	return Linear(e.EpsilonStart, e.EpsilonEnd)(progress / e.Exploration)
}

// Prioritising holds the settings of prioritised replay, for an algorithm to embed.
type Prioritising struct {
	Prioritised bool    `default:"false" doc:"draw rows or sequences by the size of their errors, or with distributions by their losses"`
	Alpha       float64 `default:"0.6" range:"[0,)" doc:"power of the error or loss that a priority is"`
	Beta        float64 `default:"0.4" range:"[0,1]" doc:"how far unequal probabilities are corrected for at the start; fully at the end"`
	PriorityEps float64 `default:"1e-3" range:"(0,)" doc:"added to errors, so that nothing is forgotten"`
}

// BetaAt returns how far a sample's probabilities are corrected for when a part of the budget is
// done: fully at the end.
//
//weft:pure
func (p Prioritising) BetaAt(progress float64) float64 { return Linear(p.Beta, 1)(progress) }

// Priority returns the priorities of errors or losses of some size.
func (p Prioritising) Priority(size *Node) *Node {
	size = AddScalar(size, p.PriorityEps)
	return Pow(size, ConstAs(size, p.Alpha))
}

// Layers are the hidden layers of networks, as settings for an algorithm to embed.
type Layers struct {
	Hidden     []int  `default:"64,64" unit:"units" range:"[1,)" doc:"hidden layers of every network"`
	Activation string `default:"tanh" oneof:"tanh relu silu gelu" doc:"activation of the hidden layers"`
}

// Standard says how networks see observations, as settings for an algorithm to embed.
type Standard struct {
	NormalizeObs bool    `default:"false" doc:"standardise observations by running statistics"`
	ClipObs      float64 `default:"10" range:"(0,)" doc:"bound of standardised observations"`
}

// Sees returns the space of what networks see where a space is observed.
func (s Standard) Sees(space rl.Space) rl.Space {
	if s.NormalizeObs {
		return rl.Box{Dims: []int{Width(space)}}
	}
	return space
}

// Sharing says whether policy and value share a network, as settings for an algorithm to embed.
type Sharing struct {
	Shared string `default:"auto" oneof:"auto true false" doc:"share one network, but for the last layer, between policy and value; auto shares it for images"`
}

// Shares reports whether they do where a space is observed.
//
//weft:pure
func (s Sharing) Shares(space rl.Space) bool {
	return s.Shared == "true" || s.Shared == "auto" && rl.IsImage(space)
}

// Torso returns a network with these layers for observations of a space.
func (l Layers) Torso(space rl.Space) (Torso, error) {
	act, err := ActivationNamed(l.Activation)
	return Torso{Space: space, Hidden: l.Hidden, Act: act}, err
}

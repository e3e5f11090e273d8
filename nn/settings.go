package nn

import "github.com/weft-rl/weft/rl"

// Rate is a step size and how it goes on, as settings for an algorithm to embed.
type Rate struct {
	LearningRate float64 `default:"3e-4" range:"(0,)" doc:"the optimiser's step size at the start"`
	Anneal       string  `default:"constant" oneof:"linear constant" doc:"schedule of the step size: linear to 0 at the end of the budget, or constant"`
}

// At returns the step size when a part of the budget is done.
//
//weft:pure
func (r Rate) At(progress float64) float64 {
	if r.Anneal == "linear" {
		return r.LearningRate * (1 - progress)
	}
	return r.LearningRate
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

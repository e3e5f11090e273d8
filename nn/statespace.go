package nn

import (
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/rl"
)

// StateSpace is a recurrent state-space model (Hafner et al., 2019 and 2021), as settings for an
// algorithm to embed. A state is the memory of a BlockGRU and, behind it, a latent made of Codes.
// The latent is distributed by the memory and what is observed, and predicted by the memory alone.
type StateSpace struct {
	Deter   int     `default:"512" unit:"units" range:"[1,)" doc:"units of the recurrent memory"`
	Blocks  int     `default:"8" unit:"blocks" range:"[1,)" doc:"blocks that the recurrent memory is in"`
	Hidden  int     `default:"64" unit:"units" range:"[1,)" doc:"units of the layers around the recurrent memory and before latent states"`
	Groups  int     `default:"32" unit:"variables" range:"[1,)" doc:"categorical variables of a latent state"`
	Classes int     `default:"4" unit:"values" range:"[2,)" doc:"values of each variable"`
	Unimix  float64 `default:"0.01" range:"[0,1]" doc:"part of equal probabilities in the latent variables and in single choices of the actor"`
}

// Validate finds settings that do not go together.
func (m StateSpace) Validate() error {
	if m.Deter%m.Blocks != 0 {
		return fmt.Errorf("blocks: deter=%d is not a multiple of %d: choose a divisor", m.Deter, m.Blocks)
	}
	return nil
}

// Cell returns the recurrent unit.
func (m StateSpace) Cell() BlockGRU {
	return BlockGRU{Units: m.Deter, Blocks: m.Blocks, Hidden: m.Hidden}
}

// Codes returns the form of latents.
func (m StateSpace) Codes() Codes { return Codes{Groups: m.Groups, Classes: m.Classes, Mix: m.Unimix} }

// Size returns the numbers of a state.
func (m StateSpace) Size() int { return m.Deter + m.Codes().Size() }

// Join returns the states of memory and latents.
func (m StateSpace) Join(memory, latent *Node) *Node { return Concatenate([]*Node{memory, latent}, -1) }

// Split undoes Join.
func (m StateSpace) Split(state *Node) (memory, latent *Node) {
	return SliceAxis(state, -1, AxisRange(0, m.Deter)), SliceAxis(state, -1, AxisRangeToEnd(m.Deter))
}

// Observed returns the distributions of latents by memory and encoded observations.
func (m StateSpace) Observed(c *rl.Ctx, sc *model.Scope, memory, encoded *Node) *Node {
	return m.dist(c, sc.At("observed"), m.Join(memory, encoded), 1)
}

// Predicted returns the distributions of latents by memory alone.
func (m StateSpace) Predicted(c *rl.Ctx, sc *model.Scope, memory *Node) *Node {
	return m.dist(c, sc.At("predicted"), memory, 2)
}

// dist returns the distributions of latents behind some layers.
func (m StateSpace) dist(c *rl.Ctx, sc *model.Scope, x *Node, layers int) *Node {
	net := MLP{Hidden: slices.Repeat([]int{m.Hidden}, layers), Act: activation.TypeSilu, Gain: 1, Norm: true, Out: m.Codes().Size()}
	return m.Codes().Dist(net.Apply(c, sc, x))
}

// Next returns the memory, [rows, Deter], after actions, [rows, numbers], in states.
func (m StateSpace) Next(c *rl.Ctx, sc *model.Scope, state, action *Node) *Node {
	sc = sc.At("memory")
	memory, latent := m.Split(state)
	next, _ := m.Cell().Step(c, sc, m.Cell().Inputs(c, sc, m.Join(latent, action)), memory)
	return next
}

package nn

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/rl"
)

// JointActorCritic is the policy of one kind of agents, which acts on what an agent sees, and
// critics that see what all agents of all kinds see and do. Policies choose one of some actions, by
// logits, or give numbers from -1 to 1; both cross to critics as numbers.
type JointActorCritic struct {
	Kinds       []KindView
	Kind        int // index of the kind
	Critics     int
	MLP         MLP     // the hidden layers of all networks
	Number      bool    // tell networks that agents share which of them they act for
	Temperature float64 // temperature of Gumbel-softmax
}

// KindView describes what one kind of agents see and do.
type KindView struct {
	Obs, Action rl.Space
	Agents      int // 0 and 1 are one, without an axis of agents
}

// Own returns the policy's kind.
func (j JointActorCritic) Own() KindView { return j.Kinds[j.Kind] }

// First returns it with the first of its critics alone.
func (j JointActorCritic) First() JointActorCritic {
	j.Critics = 1
	return j
}

// Check returns an error if there are actions that are neither choices nor numbers.
func (j JointActorCritic) Check() error {
	for _, k := range j.Kinds {
		if _, choice := k.Action.(rl.Discrete); !choice && !Continuous(k.Action) {
			return fmt.Errorf("policies choose one of some actions or act in boxes, not in %s", k.Action)
		}
	}
	return nil
}

// blank returns one row of what agents of the kind see or do, all zero.
func (k KindView) blank(c *rl.Ctx, space rl.Space) rl.Tree {
	return Blank(c, space).Map(func(x rl.Tensor) rl.Tensor { return rl.Wrap(ForAgents(x.Node(), 1, k.Agents)) })
}

// InitPolicy makes the policy's parameters: what rl.NewParams asks for.
func (j JointActorCritic) InitPolicy(c *rl.Ctx, sc *model.Scope) {
	j.Policy(c, sc, rl.Obs{X: j.Own().blank(c, j.Own().Obs)})
}

// InitCritics makes the critics' parameters: what rl.NewParams asks for.
func (j JointActorCritic) InitCritics(c *rl.Ctx, sc *model.Scope) {
	obs, action := make([]rl.Obs, len(j.Kinds)), make([]rl.Tree, len(j.Kinds))
	for i, k := range j.Kinds {
		obs[i].X, action[i] = k.blank(c, k.Obs), k.blank(c, k.Action)
	}
	j.Values(c, sc, j.Join(obs, j.Actions(action), nil))
}

// Policy returns the logits of choices, or numbers from -1 to 1.
func (j JointActorCritic) Policy(c *rl.Ctx, sc *model.Scope, obs rl.Obs) *Node {
	k := j.Own()
	x := j.apply(c, sc, Features(k.Obs, obs.X), Width(k.Action), .01)
	if _, ok := k.Action.(rl.Discrete); ok {
		return x
	}
	return Tanh(x)
}

// Values returns each critic's values of what Join returned: [rows], or [rows, agent].
func (j JointActorCritic) Values(c *rl.Ctx, sc *model.Scope, joint *Node) []*Node {
	out := make([]*Node, j.Critics)
	for i := range out {
		out[i] = Squeeze(j.apply(c, sc.At("q%d", i+1), joint, 1, 1), -1)
	}
	return out
}

// apply returns a network's outputs for features of every agent of the kind.
func (j JointActorCritic) apply(c *rl.Ctx, sc *model.Scope, x *Node, out int, gain float64) *Node {
	if j.Number {
		x = Numbered(x, j.Own().Agents)
	}
	j.MLP.Out, j.MLP.OutGain = out, gain
	return j.MLP.Apply(c, sc, x)
}

// Chosen returns the distribution of a kind's choices by their policy's logits, over what is legal;
// nil if actions are numbers.
func (j JointActorCritic) Chosen(kind int, logits *Node, obs rl.Obs) *Discrete {
	choice, ok := j.Kinds[kind].Action.(rl.Discrete)
	if !ok {
		return nil
	}
	return Categorical(logits, mask(obs.Legal, "")).From(choice.Start)
}

// Drawn returns what a kind does by its policy's outputs, as numbers: choices are Relaxed.
//
//weft:draws
func (j JointActorCritic) Drawn(c *rl.Ctx, kind int, outputs *Node, obs rl.Obs) *Node {
	if pi := j.Chosen(kind, outputs, obs); pi != nil {
		return pi.Relaxed(c, fmt.Sprint("choice ", kind), j.Temperature)
	}
	return outputs
}

// Actions returns the actions of each kind as numbers, as Scaled does.
func (j JointActorCritic) Actions(action []rl.Tree) []*Node {
	out := make([]*Node, len(j.Kinds))
	for i, k := range j.Kinds {
		out[i] = Scaled(k.Action, action[i])
	}
	return out
}

// Join returns all that the critics see, [rows, features], or [rows, agent, features] where the
// kind has several agents: the observations and actions of all kinds, as numbers. Unless mine is
// nil, each agent of the kind is seen doing mine, beside what all others did.
func (j JointActorCritic) Join(obs []rl.Obs, actions []*Node, mine *Node) *Node {
	agents := j.Own().Agents
	parts := make([]*Node, 0, 2*len(j.Kinds))
	for i, k := range j.Kinds {
		parts = append(parts, ForAgents(k.together(Features(k.Obs, obs[i].X)), 1, agents))
	}
	for i, k := range j.Kinds {
		switch {
		case i != j.Kind || mine == nil:
			parts = append(parts, ForAgents(k.together(actions[i]), 1, agents))
		case agents > 1:
			parts = append(parts, instead(actions[i], mine))
		default:
			parts = append(parts, mine)
		}
	}
	return Concatenate(parts, -1)
}

// together returns the features of all agents in one axis, [rows, features].
func (k KindView) together(x *Node) *Node {
	if k.Agents > 1 {
		return Together(x)
	}
	return x
}

// instead returns what a kind's agents do, [rows, agent, features of all], where each one does mine
// and the others what they did, [rows, agent, features].
func instead(did, mine *Node) *Node {
	dims := mine.Shape().Dimensions
	each := []int{dims[0], dims[1], dims[1], dims[2]} // by agent that acts, and by agent that is seen
	self := BroadcastToDims(Reshape(Diagonal(mine.Graph(), dims[1]), 1, dims[1], dims[1], 1), each...)
	wide := func(x *Node) *Node { return BroadcastToDims(ExpandAxes(x, 1), each...) }
	return Together(Where(self, wide(mine), wide(did)))
}

package nn

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// Dist is distributions of actions, one for each row: leading axes [rows...] of
// any number are rows. Samples of continuous distributions are differentiable in
// the distribution's parameters.
type Dist interface {
	// Sample draws actions. A use names the draw and may be drawn once in a
	// graph function.
	//
	//weft:draws
	Sample(c *rl.Ctx, use string) rl.Tree
	// Mode is the actions to take when not exploring.
	Mode() rl.Tree
	// LogProb is the logarithm of the probability or density of actions,
	// [rows...].
	LogProb(action rl.Tree) *Node
	// Entropy of the distributions, [rows...], in nats.
	Entropy() *Node
}

// joint is independent distributions under names.
type joint struct {
	names []string
	parts []Dist
}

// Joint returns the distribution of named actions, each drawn from its own part
// independently of the others.
func Joint(names []string, parts []Dist) Dist {
	if len(names) != len(parts) || len(names) == 0 {
		rl.Failf("a joint distribution needs one name for each part: %d names, %d parts", len(names), len(parts))
	}
	return joint{names, parts}
}

func (j joint) Sample(c *rl.Ctx, use string) rl.Tree {
	return j.tree(func(i int) rl.Tree { return j.parts[i].Sample(c, use+"."+j.names[i]) })
}

func (j joint) Mode() rl.Tree {
	return j.tree(func(i int) rl.Tree { return j.parts[i].Mode() })
}

func (j joint) tree(part func(i int) rl.Tree) rl.Tree {
	leaves := make([]rl.Tensor, len(j.parts))
	for i := range leaves {
		leaves[i] = part(i).Leaf("")
	}
	return rl.NewTree(j.names, leaves)
}

func (j joint) LogProb(action rl.Tree) *Node {
	return j.sum(func(i int) *Node { return j.parts[i].LogProb(rl.One(action.Leaf(j.names[i]))) })
}

func (j joint) Entropy() *Node {
	return j.sum(func(i int) *Node { return j.parts[i].Entropy() })
}

// sum adds up in the order of the parts.
func (j joint) sum(part func(i int) *Node) *Node {
	total := part(0)
	for i := 1; i < len(j.parts); i++ {
		total = Add(total, part(i))
	}
	return total
}

// node returns the only tensor of an action.
func node(action rl.Tree) *Node { return action.Leaf("").Node() }

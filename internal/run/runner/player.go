package runner

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// Player acts in one environment with a trained agent, by plain numbers. Its methods may be called
// by several goroutines, one after another.
type Player struct {
	root  *rl.Scope // scope that the agent was built in
	scope *rl.Scope
	team  rl.Team
	specs []env.Spec // specs of one environment, by kind of agents
	close func() error

	mu     sync.Mutex
	memory []rl.Tree // nil before the first action of an episode
	first  bool      // an episode begins
	step   uint64
}

// Seen holds the view that agents of one kind have of an environment. Numbers are in row-major
// order, those of several agents one after another.
type Seen struct {
	X     map[string][]float64 // values, by leaf of the space of observations; a space that is no Dict has one leaf, ""
	Legal map[string][]bool    // masks of legal actions by leaf of the action; without one all are legal
	State []float64            // global state, where there is one; zeros if it is nil
}

// newPlayer makes a player of an agent that was trained on environments of some specs.
func newPlayer(s *rl.Scope, agent rl.Agent, specs []env.Spec) (*Player, error) {
	if err := checkAgent(agent); err != nil {
		return nil, err
	}
	p := &Player{root: s, scope: s.Child("player"), team: rl.TeamOf(agent), specs: slices.Clone(specs), close: func() error { return nil }}
	if each := env.EachSpec(specs); len(p.team) != len(specs) && len(p.team) == len(each) {
		p.specs = each // every agent was trained as a kind of its own
	}
	if len(p.team) != len(p.specs) {
		return nil, fmt.Errorf("it has %d agents for %d kinds: it can be evaluated, not loaded", len(p.team), len(p.specs))
	}
	for i := range p.specs {
		p.specs[i].Rows, p.specs[i].Envs, p.specs[i].First = 1, 1, 0
	}
	p.Reset()
	return p, nil
}

// Specs returns the specs of the environment as the agents see it, by kind of agents.
func (p *Player) Specs() []env.Spec { return slices.Clone(p.specs) }

// Reset begins an episode: the agents forget what they remember.
func (p *Player) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.memory, p.first = nil, true
}

// Act returns the actions of all kinds of agents on what they see, by leaf of the space of actions,
// and moves their memory on. An observation that does not fit the space is an error, and changes
// nothing.
func (p *Player) Act(seen []Seen, greedy bool) (actions []map[string][]float64, err error) {
	actions, _, err = p.Think(seen, greedy)
	return actions, err
}

// Thought is an agent's reason for an action. Fields that it cannot fill are nil.
type Thought struct{ Policy, Value []float64 }

// Envs returns the environments that the agent was made with.
func (p *Player) Envs() rl.Component { return p.scope.Above(env.Name) }

// Think does what Act does, and returns what led to the actions, by kind of agents.
func (p *Player) Think(seen []Seen, greedy bool) (actions []map[string][]float64, why []Thought, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.close == nil {
		return nil, nil, errors.New("the agent is closed")
	}
	err = rl.Catch(func() error {
		obs, err := p.see(seen, p.first)
		if err != nil {
			return err
		}
		if p.memory == nil {
			p.memory = p.fresh()
		}
		next := make([]rl.Tree, len(p.team))
		for i, a := range p.team {
			action, memory, thought := think(a, kindKey(p.scope.Key("act").Fold(p.step), i), obs[i], p.memory[i], greedy)
			next[i], actions, why = memory, append(actions, floatsOf(action)), append(why, thought)
		}
		p.memory, p.first = next, false
		p.step++
		return nil
	})
	return actions, why, err
}

// think has an agent act, and say why if it can.
func think(a rl.Agent, k rl.Key, obs rl.Obs, mem rl.Tree, greedy bool) (action, next rl.Tree, why Thought) {
	t, ok := a.(rl.Thinker)
	if !ok {
		action, next = a.Act(k, obs, mem, greedy)
		return action, next, why
	}
	action, next, x := t.Think(k, obs, mem, greedy)
	if x.Policy.Ok() {
		why.Policy = rl.Floats(x.Policy)
	}
	if x.Value.Ok() {
		why.Value = rl.Floats(x.Value)
	}
	return action, next, why
}

// floatsOf returns the numbers of a tree by leaf.
func floatsOf(t rl.Tree) map[string][]float64 {
	out := map[string][]float64{}
	for i, name := range t.Names() {
		out[name] = rl.Floats(t.At(i))
	}
	return out
}

// fresh returns the memory of all kinds at the start of an episode.
func (p *Player) fresh() (out []rl.Tree) {
	for _, a := range p.team {
		out = append(out, a.Memory(1))
	}
	return out
}

// see makes tensors of what all kinds see.
func (p *Player) see(seen []Seen, first bool) (obs []rl.Obs, err error) {
	if len(seen) != len(p.specs) {
		return nil, fmt.Errorf("%d observations for %d kinds of agents", len(seen), len(p.specs))
	}
	for i, spec := range p.specs {
		o, err := p.observe(spec, seen[i], first)
		if err != nil && len(p.specs) > 1 {
			err = fmt.Errorf("kind %q: %w", spec.Kind, err)
		}
		if err != nil {
			return nil, err
		}
		obs = append(obs, o)
	}
	return obs, nil
}

// Close gives back what the player's environments hold.
func (p *Player) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.close == nil {
		return nil
	}
	err := p.close()
	p.close = nil
	return err
}

// observe makes tensors of what the agents of a kind see.
func (p *Player) observe(spec env.Spec, seen Seen, first bool) (o rl.Obs, err error) {
	if o.X, err = p.numbers(spec, seen.X); err != nil {
		return o, err
	}
	if spec.Masked {
		if o.Legal, err = p.masks(spec, seen.Legal); err != nil {
			return o, err
		}
	} else if len(seen.Legal) > 0 {
		return o, errors.New("masks of legal actions were given, and the agent was trained without")
	}
	if spec.State > 0 {
		state := seen.State
		if state == nil {
			state = make([]float64, spec.State)
		}
		if len(state) != spec.State {
			return o, fmt.Errorf("the global state has %d numbers, not %d", len(state), spec.State)
		}
		if o.State, err = p.tensor(state, shapes.Make(dtypes.Float32, 1, spec.State)); err != nil {
			return o, err
		}
	}
	all := slices.Repeat([]bool{true}, max(1, spec.Agents))
	if spec.Turns {
		o.Turn = rl.FromFlat(p.scope, all, 1, len(all))
	}
	if spec.Mortal {
		o.Alive = rl.FromFlat(p.scope, all, 1, len(all))
	}
	o.First = rl.FromFlat(p.scope, []bool{first}, 1)
	return o, nil
}

// numbers makes the leaves of an observation.
func (p *Player) numbers(spec env.Spec, given map[string][]float64) (rl.Tree, error) {
	var names []string
	var leaves []rl.Tensor
	for _, l := range spec.Obs.Leaves() {
		x, ok := given[l.Name]
		if !ok {
			return rl.Tree{}, fmt.Errorf("the observation lacks %q: it is a %s", l.Name, spec.Obs)
		}
		t, err := p.leaf(l, x, oneRow(spec, l.Space.Shape()))
		if err != nil {
			return rl.Tree{}, err
		}
		names, leaves = append(names, l.Name), append(leaves, t)
	}
	for name := range given {
		if !slices.Contains(names, name) {
			return rl.Tree{}, fmt.Errorf("the observation has no part %q: it is a %s", name, spec.Obs)
		}
	}
	return rl.NewTree(names, leaves), nil
}

// oneRow returns the shape of a leaf for one environment, with an axis of agents if there are
// several.
func oneRow(spec env.Spec, one shapes.Shape) shapes.Shape {
	dims := []int{1}
	if spec.Agents > 1 {
		dims = append(dims, spec.Agents)
	}
	return shapes.Make(one.DType, append(dims, one.Dimensions...)...)
}

// leaf makes a tensor of numbers, which must be in a space.
func (p *Player) leaf(l rl.SpaceLeaf, x []float64, shape shapes.Shape) (t rl.Tensor, err error) {
	what := "the observation"
	if l.Name != "" {
		what = fmt.Sprintf("part %q of the observation", l.Name)
	}
	if len(x) != shape.Size() {
		return t, fmt.Errorf("%s has %d numbers, not %d: it is a %s", what, len(x), shape.Size(), l.Space)
	}
	for i, v := range x {
		tooLarge := shape.DType == dtypes.Float32 && math.IsInf(float64(float32(v)), 0)
		if tooLarge || shape.DType.IsInt() && v != math.Trunc(v) {
			return t, fmt.Errorf("number %d of %s is %v, which is not in %s", i, what, v, l.Space)
		}
	}
	if t, err = p.tensor(x, shape); err != nil {
		return t, fmt.Errorf("%s: %w", what, err)
	}
	if _, at, v, bad := rl.Outside(l.Space, t); bad {
		return t, fmt.Errorf("number %d of %s is %v, which is not in %s", at, what, v, l.Space)
	}
	return t, nil
}

// masks makes the masks of legal actions, by leaf of the action.
func (p *Player) masks(spec env.Spec, given map[string][]bool) (rl.Tree, error) {
	var names []string
	var leaves []rl.Tensor
	for _, l := range spec.Action.Leaves() {
		n := rl.Choices(l.Space)
		if n == 0 {
			continue
		}
		shape := oneRow(spec, shapes.Make(dtypes.Bool, n))
		mask, ok := given[l.Name]
		if !ok {
			mask = slices.Repeat([]bool{true}, shape.Size())
		}
		if len(mask) != shape.Size() {
			return rl.Tree{}, fmt.Errorf("the mask of legal actions %q has %d entries, not %d: the action is a %s", l.Name, len(mask), shape.Size(), l.Space)
		}
		names, leaves = append(names, l.Name), append(leaves, rl.FromFlat(p.scope, mask, shape.Dimensions...))
	}
	for name := range given {
		if !slices.Contains(names, name) {
			return rl.Tree{}, fmt.Errorf("there is no mask %q: the action is a %s", name, spec.Action)
		}
	}
	return rl.NewTree(names, leaves), nil
}

// tensor makes a tensor of numbers, of the shape's type.
func (p *Player) tensor(x []float64, shape shapes.Shape) (rl.Tensor, error) {
	flat := dtypes.MakeAnySlice(shape.DType, len(x))
	switch flat := flat.(type) {
	case []float32:
		fill(flat, x)
	case []float64:
		fill(flat, x)
	case []int32:
		fill(flat, x)
	case []int64:
		fill(flat, x)
	case []uint8:
		fill(flat, x)
	default:
		return rl.Tensor{}, fmt.Errorf("observations of type %s cannot be given as numbers", shape.DType)
	}
	return p.scope.Device().Tensor(flat, shape), nil
}

func fill[T float32 | float64 | int32 | int64 | uint8](to []T, from []float64) {
	for i, x := range from {
		to[i] = T(x)
	}
}

package wrap

import (
	"fmt"
	"slices"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// rule does a wrapper's work for one kind of agent: graph code by row, so that it
// is the same in every batch. Memory is a tree of tensors [env, ...].
type rule interface {
	// spec is how the environments look with the wrapper.
	spec(env.Spec) env.Spec
	// zero is the memory before the first observation of n environments.
	zero(s *rl.Scope, n int) rl.Tree
	// first is the observation before any step.
	first(c *rl.Ctx, mem rl.Tree, o rl.Obs) (rl.Tree, rl.Obs)
	// action returns the action that the environment is given.
	action(c *rl.Ctx, a rl.Tree) rl.Tree
	// step returns the step that the agent is given.
	step(c *rl.Ctx, mem rl.Tree, x rl.Step) (rl.Tree, rl.Step)
}

// plain is the rule that changes nothing, for others to build on.
type plain struct{}

func (plain) spec(s env.Spec) env.Spec                                { return s }
func (plain) zero(*rl.Scope, int) rl.Tree                             { return rl.Tree{} }
func (plain) first(_ *rl.Ctx, m rl.Tree, o rl.Obs) (rl.Tree, rl.Obs)  { return m, o }
func (plain) action(_ *rl.Ctx, a rl.Tree) rl.Tree                     { return a }
func (plain) step(_ *rl.Ctx, m rl.Tree, x rl.Step) (rl.Tree, rl.Step) { return m, x }

// layer is environments with some wrappers around them, which are one program.
type layer struct {
	env.Groups
	scope *rl.Scope
	specs []env.Spec
	rules [][]rule // rules by kind of agent, the innermost first
	now   seen
	raw   []rl.Tensor // the environments' own rewards of the last step

	act   *rl.Func[[]rl.Tree, []rl.Tree]
	begin *rl.Func[seen, seen]
	step  *rl.Func[stepIn, stepOut]
}

// seen is a layer between two steps.
type seen struct {
	Memory [][]rl.Tree // memory, by kind and rule
	Obs    []rl.Obs
}

type stepIn struct {
	Memory [][]rl.Tree
	Steps  []rl.Step
}

type stepOut struct {
	Memory [][]rl.Tree
	Steps  []rl.Step
}

// layered puts wrappers that are graph code around environments.
func layered(s *rl.Scope, g env.Groups, list List) (env.Groups, error) {
	l := &layer{Groups: g, scope: s}
	any := false
	for _, spec := range g.Spec() {
		var rules []rule
		for _, w := range list {
			if w.rule == nil {
				continue
			}
			r, err := w.rule(spec)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w, err)
			}
			spec, rules, any = r.spec(spec), append(rules, r), true
		}
		l.specs, l.rules = append(l.specs, spec), append(l.rules, rules)
	}
	if !any {
		return g, nil
	}
	l.reset()
	l.act = rl.NewFunc(s, "wrapped action", l.actGraph)
	l.begin = rl.NewFunc(s, "wrapped first", l.beginGraph)
	l.step = rl.NewFunc(s, "wrapped step", l.stepGraph)
	return l, nil
}

// reset gives all rules their memory; in an evaluation, what those of the training
// know.
func (l *layer) reset() {
	s := l.scope
	above, _ := env.Find[*layer](s.Above(env.Name))
	l.now.Memory = make([][]rl.Tree, len(l.rules))
	for i, rules := range l.rules {
		for j, r := range rules {
			mem := r.zero(s, l.specs[i].Rows)
			if k, ok := r.(knowing); ok && above.like(l) {
				mem = k.freeze(s, k.pool(s, above.now.Memory[i][j], l.specs[i].Rows))
			}
			l.now.Memory[i] = append(l.now.Memory[i], mem)
		}
	}
}

// knowing is a rule whose memory is part of what an agent needs.
type knowing interface {
	// pool is memory for n environments, each of which knows what all of from do.
	pool(s *rl.Scope, from rl.Tree, n int) rl.Tree
	// freeze is memory that changes no more.
	freeze(s *rl.Scope, mem rl.Tree) rl.Tree
}

// like reports whether two layers have the same rules.
func (l *layer) like(m *layer) bool {
	if l == nil || len(l.rules) != len(m.rules) {
		return false
	}
	for i, rules := range l.rules {
		if len(rules) != len(m.rules[i]) {
			return false
		}
	}
	return true
}

func (l *layer) Spec() []env.Spec { return l.specs }

func (l *layer) Unwrap() any { return l.Groups }

func (l *layer) Obs() []rl.Obs {
	if l.now.Obs == nil {
		l.now = l.begin.Call(rl.Key{}, seen{l.now.Memory, l.Groups.Obs()})
	}
	return l.now.Obs
}

func (l *layer) Step(action []rl.Tree) []rl.Step {
	l.Obs()
	x := l.Groups.Step(l.act.Call(rl.Key{}, action))
	out := l.step.Call(rl.Key{}, stepIn{l.now.Memory, x})
	l.raw = rewards(l.Groups, x)
	l.now = seen{out.Memory, make([]rl.Obs, len(x))}
	for i := range x {
		l.now.Obs[i] = out.Steps[i].Obs
	}
	return out.Steps
}

// rewards returns the task's of a step.
func rewards(g env.Groups, x []rl.Step) []rl.Tensor {
	if r, ok := env.Find[env.Rewarder](g); ok {
		return r.Rewards()
	}
	out := make([]rl.Tensor, len(x))
	for i := range x {
		out[i] = x[i].Reward
	}
	return out
}

// Rewards returns the task's.
func (l *layer) Rewards() []rl.Tensor { return l.raw }

func (l *layer) actGraph(c *rl.Ctx, action []rl.Tree) []rl.Tree {
	out := make([]rl.Tree, len(action))
	for i, a := range action {
		for j := len(l.rules[i]) - 1; j >= 0; j-- { // from the outside
			a = l.rules[i][j].action(c, a)
		}
		out[i] = a
	}
	return out
}

func (l *layer) beginGraph(c *rl.Ctx, in seen) seen {
	out := seen{make([][]rl.Tree, len(in.Obs)), make([]rl.Obs, len(in.Obs))}
	for i, o := range in.Obs {
		for j, r := range l.rules[i] {
			var m rl.Tree
			m, o = r.first(c, in.Memory[i][j], o)
			out.Memory[i] = append(out.Memory[i], m)
		}
		out.Obs[i] = o
	}
	return out
}

func (l *layer) stepGraph(c *rl.Ctx, in stepIn) stepOut {
	out := stepOut{make([][]rl.Tree, len(in.Steps)), make([]rl.Step, len(in.Steps))}
	for i, x := range in.Steps {
		for j, r := range l.rules[i] {
			var m rl.Tree
			m, x = r.step(c, in.Memory[i][j], x)
			out.Memory[i] = append(out.Memory[i], m)
		}
		out.Steps[i] = x
	}
	return out
}

// Save puts the environments, what is remembered of them, and what is seen.
func (l *layer) Save(s *rl.State) {
	l.Obs()
	l.Groups.Save(s.At("inner"))
	put(s.At("memory"), l.now.Memory)
	put(s.At("seen"), l.now.Obs)
}

// Load restores what Save saved.
func (l *layer) Load(s *rl.State) error {
	l.Obs() // their structure is known then
	if err := l.Groups.Load(s.At("inner")); err != nil {
		return err
	}
	memory, obs := get(s.At("memory"), l.now.Memory), get(s.At("seen"), l.now.Obs)
	if s.Err() == nil {
		l.now = seen{memory, obs}
	}
	return s.Err()
}

// SaveWeights puts what is remembered.
func (l *layer) SaveWeights(s *rl.State) {
	put(s.At("memory"), l.now.Memory)
}

// LoadWeights gives every environment what all of a training know together.
func (l *layer) LoadWeights(s *rl.State) error {
	st := s.At("memory")
	leaves := rl.Leaves(l.now.Memory)
	for i, t := range leaves {
		x := st.Get(fmt.Sprint(i))
		if st.Err() != nil {
			return st.Err()
		}
		if got, want := x.Shape().Dimensions, t.Shape().Dimensions; !slices.Equal(got[1:], want[1:]) {
			return fmt.Errorf("the wrappers' state is of environments with the numbers %v, not %v", got[1:], want[1:])
		}
		leaves[i] = x
	}
	from := rl.Rebuild(l.now.Memory, leaves)
	for i, rules := range l.rules {
		for j, r := range rules {
			if k, ok := r.(knowing); ok {
				l.now.Memory[i][j] = k.pool(l.scope, from[i][j], l.specs[i].Rows)
			}
		}
	}
	l.now.Obs = nil // they are seen by what is known now
	return nil
}

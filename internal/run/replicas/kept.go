package replicas

import (
	"fmt"
	"slices"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// keeper returns the replica that takes what those of the environments send in an asynchronous
// run: the owner, or a replay that is in step with it.
func (w *World) keeper() *replica {
	for _, e := range w.Programs.Edges {
		from, to := w.Plan.Group(e.From), w.Plan.Group(e.To)
		if w.Plan.Async && !e.Log && e.Operator != fdg.Broadcast && from.Over == fdg.Environments && to.Over == fdg.None {
			return w.of(slices.IndexFunc(w.Plan.Groups, func(g plan.Group) bool { return g.Name == e.To }))[0]
		}
	}
	return w.owner
}

// kept returns the components in which the keeper keeps something of every environment: by
// environment, or tables, whose rows are of all of them.
func (w *World) kept() (out []string) {
	k := w.keeper()
	if k.scope == nil {
		return nil // it is another process's
	}
	for _, name := range rl.System.Components(k.scope) {
		table := slices.ContainsFunc(w.Graph.Resources, func(r fdg.Resource) bool { return r.Name == name && r.Kind == "table" })
		if k.home(name) && (table || rl.System.Component(k.scope, name).Axis() == rl.Envs) {
			out = append(out, name)
		}
	}
	return out
}

// partly returns the kept components that can be narrowed to some environments for an iteration.
func (w *World) partly() (out []rl.Narrower) {
	for _, name := range w.kept() {
		if c, ok := rl.System.Component(w.keeper().scope, name).(rl.Narrower); ok {
			out = append(out, c)
		}
	}
	return out
}

// follows returns the stores among them whose samples may go over several steps.
func (w *World) follows() (out []rl.Breaker) {
	for _, name := range w.kept() {
		if c, ok := rl.System.Component(w.keeper().scope, name).(rl.Breaker); ok {
			out = append(out, c)
		}
	}
	return out
}

// wholly returns the others: without the rows of all environments there is nothing to be
// done with them.
func (w *World) wholly() []string {
	return slices.DeleteFunc(w.kept(), func(name string) bool {
		_, ok := rl.System.Component(w.keeper().scope, name).(rl.Narrower)
		return ok
	})
}

// refusal is an error that another attempt would end in as well.
type refusal struct{ error }

// Permanent says so.
func (refusal) Permanent() bool { return true }

// inPart reports what the keeper keeps that does not go together with taking the work of
// some replicas at a time.
func (w *World) inPart() error {
	if !w.Plan.Async {
		return nil
	}
	for g, m := range w.top.Groups {
		n := w.top.Takes(w.keeper().group, len(m.Own))
		if w.top.Async.Limit.Ratio > 0 {
			n = 1 // or more
		}
		if g == w.keeper().group || w.Plan.Groups[g].Over != fdg.Environments || n == len(m.Own) {
			continue
		}
		for _, name := range w.wholly() {
			why := fmt.Errorf("it has something of every environment")
			if c, ok := rl.System.Component(w.keeper().scope, name).(interface{ InPart([]rl.Span) error }); ok {
				if why = c.InPart(m.Own); why == nil {
					continue
				}
			}
			return refusal{fmt.Errorf("%s takes what %d of %d replicas of %s did at a time, and %s cannot be kept so: %w; gather from all (without --producers and --samples-per-insert), choose another policy, or train without --async",
				w.Plan.Groups[w.keeper().group].Name, n, len(m.Own), m.Name, name, why)}
		}
	}
	return nil
}

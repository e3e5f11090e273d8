package adversary

import (
	"fmt"
	"go/format"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// place is a point of a loop where a feature may put statements.
type place int

const (
	before  place = iota // above the loop over run.Next
	start                // at the top of an iteration: obs is declared
	step                 // behind a step of the environments: obs, act, out and i are declared
	drained              // behind collecting: obs is declared, and b in a loop with a rollout
	learned              // at the end of an iteration, in the same scope
	after                // behind the loop
)

// style is the kind of loop that features are put into.
type style string

const (
	rollout   style = "rollout"   // one or several updates from all steps
	minibatch style = "minibatch" // epochs of shuffled minibatches
	table     style = "table"     // samples from a replay table
	roles     style = "roles"     // a family of agents that learn alone
)

// grower writes one training loop: an ordinary one of some style, to which
// features add declarations, statements and choices.
type grower struct {
	r     *rand.Rand
	style style
	taken []feature

	decls  []string // of the package
	fields []string // of the trainer
	makes  []string // constructor statements, behind the networks and before the functions
	late   []string // constructor statements at its end
	at     map[place][]string
	names  map[string]int

	apart      bool // collecting is a method
	learnApart bool // learning is a method
	rate       bool // the learning rate is a local variable

	replay  component // what t.Replay is, if not a plain table
	element string    // of what is stored
	row     string    // the literal of it, if not of that type's own fields
	action  string    // where it has the action

	head      string // of the loop over steps
	actKey    string
	policy    string // graph function that acts
	loss      string // graph function that is differentiated
	acting    string // statements that declare act, in place of a call of t.act
	adv, ret  string // what is learned from
	epochs    int
	learnTop  string // first statements of the learning method
	learnMid  string // statements between a gradient and its application
	learnEnd  string // last statements of the learning method
	learnType string // result of the learning method
	applies   string // statement that applies g
	memberTop string // statements before a role learns, in the roles style
	reading   string // rate that a role learns with, in the roles style
}

// grown returns the source of loop number n and the features in it. A non-nil
// list of names takes the place of random features.
func grown(n uint64, names []string) ([]byte, []feature) {
	g := newGrower(n)
	g.apart, g.learnApart = g.chance(4), g.chance(4)
	g.head, g.actKey, g.policy, g.loss = "for i := range t.Horizon {", `run.Key("act", i)`, "t.Net.Policy", "t.Net.PolicyLoss"
	if g.style == table || g.chance(4) {
		g.loss = "t.Net.ValueLoss"
	}
	g.element, g.adv, g.ret, g.epochs, g.applies, g.action = "kit.Step", "b.Reward", "b.Reward", 1+g.r.IntN(2), "t.opt.Apply(g, RATE)", "Act.Action"
	list := g.choose()
	if names != nil {
		list = named(names)
	}
	for _, f := range list {
		// Every feature draws from numbers of its own, so that it is the same
		// without the others.
		g.r = rand.New(rand.NewPCG(n, uint64(len(f.name))*1009+uint64(f.name[0])))
		g.taken = append(g.taken, f)
		f.add(g)
	}
	g.r = rand.New(rand.NewPCG(n, 18))
	text := g.file()
	out, err := format.Source([]byte(text))
	if err != nil {
		panic(fmt.Sprintf("loop %d: %v\n%s", n, err, text))
	}
	return out, g.taken
}

// newGrower returns a grower of loop number n, whose style is drawn.
func newGrower(n uint64) *grower {
	g := &grower{r: rand.New(rand.NewPCG(n, 17)), at: map[place][]string{}, names: map[string]int{}}
	g.style = g.drawStyle()
	return g
}

// fit reports whether named features fit the style of loop number n.
func fit(n uint64, names []string) bool {
	s := newGrower(n).style
	return !slices.ContainsFunc(named(names), func(f feature) bool { return !f.fits(s) })
}

// drawStyle draws the kind of loop.
func (g *grower) drawStyle() style {
	switch x := g.r.IntN(20); {
	case x < 9:
		return rollout
	case x < 13:
		return minibatch
	case x < 17:
		return table
	}
	return roles
}

// choose draws the loop's features: half of all loops have ordinary ones alone.
func (g *grower) choose() (out []feature) {
	odd := 0
	if g.chance(2) {
		if odd = 1; g.chance(4) {
			odd = 2 + g.r.IntN(2)
		}
	}
	plain := 1 + g.r.IntN(4)
	if odd > 0 {
		plain = g.r.IntN(3)
	}
	seen := map[string]bool{}
	take := func(from func() []feature, n int) {
		for tries := 0; n > 0 && tries < 50; tries++ {
			list := from()
			f := list[g.r.IntN(len(list))]
			slots := append(strings.Fields(f.slot), f.name)
			if !f.fits(g.style) || slices.ContainsFunc(slots, func(s string) bool { return seen[s] }) {
				continue
			}
			for _, s := range slots {
				seen[s] = true
			}
			out = append(out, f)
			n--
		}
	}
	if *of > 0 {
		take(func() []feature { return byClass[*of] }, 1)
		odd = 0
	}
	take(func() []feature { return byClass[1+g.r.IntN(int(undeclared))] }, odd)
	take(func() []feature { return byClass[usual] }, plain)
	return out
}

func (g *grower) chance(n int) bool { return g.r.IntN(n) == 0 }

func (g *grower) one(list ...string) string { return list[g.r.IntN(len(list))] }

// fresh returns a name like no other in the loop.
func (g *grower) fresh(like string) string {
	g.names[like]++
	return fmt.Sprint(like, g.names[like])
}

// put adds statements at a place.
func (g *grower) put(p place, format string, args ...any) {
	g.at[p] = append(g.at[p], fmt.Sprintf(format, args...))
}

func (g *grower) decl(format string, args ...any) {
	g.decls = append(g.decls, fmt.Sprintf(format, args...))
}

func (g *grower) field(format string, args ...any) {
	g.fields = append(g.fields, fmt.Sprintf(format, args...))
}

func (g *grower) make(format string, args ...any) {
	g.makes = append(g.makes, fmt.Sprintf(format, args...))
}

// inside returns a place in an iteration.
func (g *grower) inside() place {
	if g.style == roles {
		return []place{start, learned}[g.r.IntN(2)]
	}
	return []place{start, step, drained, learned}[g.r.IntN(4)]
}

// tensor returns an expression of a tensor at a place.
func (g *grower) tensor(p place) string {
	switch {
	case g.style == roles:
		return "rl.Scalar(float64(run.Iter()%4)*.2)"
	case p == step:
		return g.one("out.Reward", "act.Value", "act.LogProb")
	case p > step && g.style != table:
		return g.one("b.Reward", "b.Act.Value", "b.Act.LogProb")
	}
	return "t.value.Call(rl.Key{}, obs)"
}

// data returns a number that an operation computed.
func (g *grower) data(p place) string {
	if g.style == roles {
		return "(run.Progress() + .1)"
	}
	return "run.Value(rl.Mean(" + g.tensor(p) + "))"
}

// num returns a number of moderate size.
func (g *grower) num(p place) string {
	list := []string{".25", "float64(run.Iter()%3)", "run.Progress()", "float64(t.Kind)", "t.Rate*10"}
	if p == step {
		list = append(list, "float64(i)*.5", "float64(i)*.5")
	}
	if g.chance(2) && p != before && p != after {
		return g.data(p)
	}
	return g.one(list...)
}

// cond returns a condition that varies from iteration to iteration, or with the
// settings.
func (g *grower) cond(p place) string {
	list := []string{"run.Iter()%2 == 0", "run.Iter()%2 == 1", "run.Iter() > 0", "run.Progress() > .3", "t.Flag", "!t.Flag", "t.Kind > 0"}
	if p == step {
		list = append(list, "i%2 == 0", "i > 0")
	}
	if g.chance(3) && p != before && p != after {
		return g.data(p) + " > " + g.one("0", ".2", ".4")
	}
	return g.one(list...)
}

// hostCond returns a condition of counters and settings alone.
func (g *grower) hostCond() string {
	return g.one("run.Iter()%2 == 0", "run.Iter()%2 == 1", "run.Iter() > 0", "run.Progress() > .3", "t.Flag", "!t.Flag", "t.Kind > 0")
}

// sink uses x, a number, so that a wrong one shows in weights, logs or state.
func (g *grower) sink(p place, x string) {
	rates := (p == drained || (p == start || p == step) && !g.apart) && g.style != roles
	switch n := g.r.IntN(10); {
	case n < 5 && p == step && (g.style == rollout || g.style == minibatch):
		g.put(p, "act.Value = t.sum.Call(rl.Key{}, yard.Many{All: []rl.Tensor{act.Value, rl.Scalar(float64(%s))}})", x)
		if g.adv == "b.Reward" {
			g.adv = "b.Act.Value"
		}
	case n < 4 && rates:
		g.rate = true
		g.put(p, "rate += 1e-3 * float64(%s)", x)
	case n < 6 && g.style != roles:
		g.put(p, "if float64(%s) > %s {\nt.Slow.Params.Blend(t.Net.Params, .3)\n}", x, g.one(".2", ".6", "1.1"))
	case n < 7 && g.style != roles:
		g.put(p, "t.Tally.Add(float64(%s))", x)
	case n < 8 && (p == drained || p == learned) && g.style != roles:
		a, o := g.fresh("more"), g.fresh("moved")
		g.put(p, "if float64(%s) > .3 {\n%s := t.act.Call(run.Key(%q), obs)\n%s := t.Env.Step(%s.Action)\nrun.Log(%q, %s.Reward)\nobs = %s.Obs\n}", x, a, a, o, a, a, o, o)
		g.put(p, "run.Log(%q, t.value.Call(rl.Key{}, obs))", a+"end")
	default:
		g.put(p, "run.Log(%q, rl.Scalar(float64(%s)))", g.fresh("seen"), x)
	}
}

// section returns the statements of a place.
func (g *grower) section(p place) string { return strings.Join(g.at[p], "\n") + "\n" }

// mentions reports whether text reads a field of the trainer.
func mentions(text, field string) bool {
	return regexp.MustCompile(`\bt\.` + field + `\b`).MatchString(text)
}

var local = regexp.MustCompile(`\b(xs|ys|zs|one|two|part|acc|sb)\b`)

// replaced returns text with a suffix behind the names of its variables, and with
// placeholders replaced by what follows each in pairs.
func replaced(text, suffix string, pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(local.ReplaceAllString(text, "${1}"+suffix))
}

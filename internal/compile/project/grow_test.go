package project

import (
	"fmt"
	"go/format"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// grower writes a training loop at random: what it writes is accepted by the
// analyser, and is Go that a reader can follow. A loop collects steps, learns from
// them in one of several ways, and anywhere between does what loops do:
// expressions of what is at hand, branches, jumps, loops, structs, methods.
type grower struct {
	r       *rand.Rand
	out     strings.Builder
	need    map[string]bool // fields of the trainer
	methods []string        // with their bodies
	names   map[string]int
	left    int // statements that may still be strewn in
	style   style
}

// style says which features a loop has.
type style struct{ rollout, table, family, slots, twoNets bool }

// val is something at hand: a variable, of the rows of one axis.
type val struct {
	name, kind, axis string
	used             bool // for certain
}

// scope lists the variables of a block.
type scope struct {
	vals  []*val
	index []string // variables of the loops around
	loop  bool     // a jump may stand here
	depth int
}

// grown returns the source of a loop.
func grown(seed uint64) []byte {
	g := &grower{r: rand.New(rand.NewPCG(seed, 1)), need: map[string]bool{}, names: map[string]int{}, left: 14}
	g.style = style{table: g.chance(3), family: g.chance(6), slots: g.chance(3), twoNets: g.chance(2)}
	g.style.rollout = !g.style.table || g.chance(3)
	text := g.file(g.train())
	out, err := format.Source([]byte(text))
	if err != nil {
		panic(fmt.Sprintf("seed %d: %v\n%s", seed, err, text))
	}
	return out
}

// chance returns true once in n times.
func (g *grower) chance(n int) bool { return g.r.IntN(n) == 0 }

func (g *grower) one(list ...string) string { return list[g.r.IntN(len(list))] }

// fresh returns a name like no other.
func (g *grower) fresh(like string) string {
	g.names[like]++
	if n := g.names[like]; n > 1 {
		return fmt.Sprint(like, n)
	}
	return like
}

// t returns a field of the trainer, which is then made.
func (g *grower) t(field string) string {
	g.need[field] = true
	return "t." + field
}

func (g *grower) line(f string, args ...any) { fmt.Fprintf(&g.out, f+"\n", args...) }

// key returns one of the run's for every way round the loops.
func (g *grower) key(sc *scope, use string) string {
	return fmt.Sprintf("run.Key(%s)", strings.Join(append([]string{fmt.Sprintf("%q", g.fresh(use))}, sc.index...), ", "))
}

// add makes a variable known.
func (sc *scope) add(name, kind, axis string) *val {
	v := &val{name: name, kind: kind, axis: axis}
	sc.vals = append(sc.vals, v)
	return v
}

// of returns the values of a kind.
func (sc *scope) of(kind string) (out []*val) {
	for _, v := range sc.vals {
		if v.kind == kind {
			out = append(out, v)
		}
	}
	return out
}

// pick returns one of them.
func (g *grower) pick(list []*val) *val {
	return list[g.r.IntN(len(list))]
}

// block writes statements in braces; what is declared there and used nowhere is
// logged at the end.
func (g *grower) block(sc *scope, loop string, body func(in *scope)) {
	in := &scope{vals: slices.Clone(sc.vals), index: slices.Clone(sc.index), loop: sc.loop, depth: sc.depth + 1}
	if loop != "" {
		in.index, in.loop = append(in.index, loop), true
	}
	body(in)
	g.settle(in, len(sc.vals))
}

// loop writes a loop that goes round so often.
func (g *grower) loop(sc *scope, i, count string, body func(in *scope)) {
	before := g.out.String()
	g.out.Reset()
	g.block(sc, i, body)
	text, head := g.out.String(), "for range "
	if g.mentions(i) {
		head = fmt.Sprintf("for %s := range ", i)
	}
	g.out.Reset()
	g.out.WriteString(before + head + count + " {\n" + text + "}\n")
}

// settle uses what was declared since and has no use yet.
func (g *grower) settle(sc *scope, since int) {
	for _, v := range sc.vals[since:] {
		if !v.used && !g.mentions(v.name) {
			g.log(v)
		}
	}
}

// mentions reports whether a variable is read in what was written so far.
func (g *grower) mentions(name string) bool {
	word := regexp.MustCompile(`(^|[^.\w"])` + name + `\b[^"]`)
	for line := range strings.SplitSeq(g.out.String(), "\n") {
		if _, right, ok := strings.Cut(line, "= "); ok && !strings.Contains(line, "if ") {
			line = right
		}
		if !strings.HasPrefix(line, "var ") && word.MatchString(line+"\n") {
			return true
		}
	}
	return false
}

// log shows a value.
func (g *grower) log(v *val) {
	what := v.name
	switch v.kind {
	case "obs":
		what = fmt.Sprintf("%s.Call(rl.Key{}, %s)", g.t("value"), v.name)
	case "act":
		what += ".LogProb"
	case "out", "batch":
		what += ".Reward"
	case "pair":
		what += ".B"
	case "rows":
		what += ".Prob"
	case "sample":
		what += ".Adv"
	case "list":
		what += "[0]"
	case "float":
		what = fmt.Sprintf("rl.Scalar(%s)", v.name)
	case "int":
		what = fmt.Sprintf("rl.Scalar(float64(%s))", v.name)
	}
	g.line("run.Log(%q, %s)", g.fresh("log"), what)
}

// train writes the loop.
func (g *grower) train() string {
	sc := &scope{}
	g.line("for run.Next() {")
	g.block(sc, "", func(sc *scope) {
		obs := g.fresh("obs")
		g.line("%s := %s.Obs()", obs, g.t("Env"))
		sc.add(obs, "obs", "env")
		if g.style.slots {
			g.line("mem := %s.Get()", g.t("Memory"))
			sc.add("mem", "pair", "env")
		}
		g.strew(sc, 2)
		if g.chance(3) {
			i := g.fresh("i")
			g.loop(sc, i, "2", func(sc *scope) { g.round(sc, obs) })
		} else {
			g.round(sc, obs)
		}
		if g.style.slots {
			g.line("%s.Set(%s)", g.t("Memory"), g.pick(sc.of("pair")).name)
		}
		g.strew(sc, 3)
	})
	g.line("}")
	return g.out.String()
}

// round collects and learns.
func (g *grower) round(sc *scope, obs string) {
	switch {
	case g.style.rollout && g.chance(4):
		g.whileCollecting(sc, obs)
	case g.style.rollout && g.chance(3):
		g.learn(sc, g.collectApart(sc, obs))
	default:
		g.collect(sc, obs, false)
		var b *val
		if g.style.rollout {
			was := sc.loop
			sc.loop = false // what was stored is drained
			g.strew(sc, 1)
			sc.loop = was
			b = g.drain(sc)
		}
		g.learn(sc, b)
	}
	g.strew(sc, 2)
}

func (g *grower) drain(sc *scope) *val {
	b := g.fresh("b")
	g.line("%s := %s.Drain()", b, g.t("Rollout"))
	return sc.add(b, "batch", b)
}

// collect steps environments for a few steps; jumping only where every way
// through it has stored something.
func (g *grower) collect(sc *scope, obs string, calm bool) {
	i := g.fresh("i")
	g.loop(sc, i, fmt.Sprint(2+g.r.IntN(2)), func(sc *scope) {
		sc.loop = false
		g.strew(sc, 1)
		out := g.step(sc, obs)
		sc.loop = !calm
		if g.chance(2) {
			g.line("%s = %s.Obs", obs, out)
			g.strew(sc, 2)
		} else {
			g.strew(sc, 2)
			g.line("%s = %s.Obs", obs, out)
		}
	})
}

// step acts and stores.
func (g *grower) step(sc *scope, obs string) string {
	act, out := g.fresh("act"), g.fresh("out")
	f := "act"
	if g.style.twoNets && g.chance(3) {
		f = "play"
	}
	switch g.r.IntN(4) {
	case 0:
		name := g.fresh("step")
		g.methods = append(g.methods, fmt.Sprintf(`func (t *Trainer) %s(k rl.Key, obs rl.Obs) (kit.Act, rl.Step) {
			act := %s.Call(k, obs)
			return act, t.Env.Step(act.Action)
		}`, name, g.t(f)))
		g.line("%s, %s := t.%s(%s, %s)", act, out, name, g.key(sc, "act"), obs)
	case 1:
		other := "act"
		if g.style.twoNets {
			other = "play"
		}
		g.line("var %s kit.Act", act)
		g.line("if %s {", g.cond(sc))
		g.line("%s = %s.Call(%s, %s)", act, g.t(f), g.key(sc, "act"), obs)
		g.line("} else {")
		g.line("%s = %s.Call(%s, %s)", act, g.t(other), g.key(sc, "act"), obs)
		g.line("}")
		g.line("%s := t.Env.Step(%s.Action)", out, act)
	default:
		g.line("%s := %s.Call(%s, %s)", act, g.t(f), g.key(sc, "act"), obs)
		g.line("%s := t.Env.Step(%s.Action)", out, act)
	}
	sc.add(act, "act", "env")
	sc.add(out, "out", "env")
	element := func() string {
		return fmt.Sprintf("kit.Step{Obs: %s, Act: %s, Reward: %s, Terminated: %s.Terminated, Over: %s.Over}", obs, act, g.tensor(sc, "env", 1), out, out)
	}
	if g.style.rollout {
		g.line("%s.Insert(%s)", g.t("Rollout"), element())
	}
	if g.style.table {
		g.line("%s.Insert(%s, %s.Over)", g.t("Replay"), element(), out)
	}
	return out
}

// whileCollecting learns between steps, from a few of them at a time.
func (g *grower) whileCollecting(sc *scope, obs string) {
	every := 1 + g.r.IntN(2)
	i := g.fresh("i")
	g.loop(sc, i, fmt.Sprint(2*every), func(sc *scope) {
		sc.loop = false
		out := g.step(sc, obs)
		g.line("%s = %s.Obs", obs, out)
		if every > 1 {
			g.line("if (%s+1)%%%d != 0 {\ncontinue\n}", i, every)
		}
		b := g.drain(sc)
		sc.loop = true
		g.learn(sc, b)
	})
}

// collectApart returns collect as a method, whose results are of several fragments.
func (g *grower) collectApart(sc *scope, obs string) *val {
	name, run := g.fresh("collect"), g.runAt(sc)
	var list []*val
	g.method(func() {
		in := &scope{}
		in.add("obs", "obs", "env").used = true
		g.line("func (t *Trainer) %s(run *rl.Run, obs rl.Obs) (m mixed) {", name)
		g.line("m.last = obs")
		seen := g.fresh("seen")
		g.line("%s := %s.Call(rl.Key{}, obs)", seen, g.t("value"))
		in.add(seen, "x", "env")
		g.collect(in, "m.last", g.chance(2))
		g.line("m.batch = %s.Drain()", g.t("Rollout"))
		in.add("m.batch", "batch", name).used = true
		g.strew(in, 1)
		g.line("m.seen, m.weight = %s, %s", g.tensor(in, "env", 2), g.tensor(in, name, 2))
		g.line("m.mean = run.Value(rl.Mean(%s))", g.tensor(in, g.one("env", name), 1))
		g.settle(in, 0)
		g.line("return m\n}")
	})
	m := g.fresh("m")
	g.line("%s := t.%s(%s, %s)", m, name, run, obs)
	for _, f := range [][3]string{{"last", "obs", "env"}, {"batch", "batch", m}, {"weight", "x", m}, {"seen", "x", "env"}, {"mean", "float", ""}} {
		v := sc.add(m+"."+f[0], f[1], f[2])
		v.used = true
		list = append(list, v)
	}
	g.need["mixed"] = true
	if g.chance(2) {
		g.line("%s = %s.last", obs, m)
	}
	return list[1]
}

// method writes a function apart from the loop.
func (g *grower) method(body func()) {
	before := g.out.String()
	g.out.Reset()
	body()
	g.methods = append(g.methods, g.out.String())
	g.out.Reset()
	g.out.WriteString(before)
}

// runAt returns the run as a method called inside loops gets it.
func (g *grower) runAt(sc *scope) string {
	run := "run"
	for _, i := range sc.index {
		run += fmt.Sprintf(".At(%q, %s)", g.fresh("at"), i)
	}
	return run
}

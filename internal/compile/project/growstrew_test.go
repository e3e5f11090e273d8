package project

import (
	"fmt"
	"strings"
)

// strew writes up to n statements of what is at hand.
func (g *grower) strew(sc *scope, n int) {
	for range g.r.IntN(n + 1) {
		if g.left <= 0 || sc.depth > 5 {
			return
		}
		g.left--
		g.statement(sc)
	}
}

func (g *grower) statement(sc *scope) {
	axis := g.axis(sc)
	what := g.r.IntN(18)
	if obs, _ := g.observed(sc, "env"); obs == "" && what >= 8 && what <= 10 {
		what = 0 // these are of environments
	}
	switch what {
	case 0, 1:
		v := g.fresh("v")
		g.line("%s := %s", v, g.tensor(sc, axis, 2))
		sc.add(v, "x", axis)
	case 2:
		if v := g.variable(sc, "x", "env"); v != nil {
			g.line("%s = %s", v.name, g.tensor(sc, v.axis, 2))
		}
	case 3:
		f := g.fresh("f")
		g.line("%s := run.Value(rl.Mean(%s))", f, g.tensor(sc, axis, 1))
		sc.add(f, "float", "")
	case 4:
		if v := g.variable(sc, "float", ""); v != nil {
			g.line("%s %s run.Value(rl.Mean(%s))", v.name, g.one("=", "+=", "*="), g.tensor(sc, axis, 1))
		}
	case 5, 6:
		g.branch(sc)
	case 7:
		g.line("run.Log(%q, %s)", g.fresh("log"), g.tensor(sc, axis, 1))
	case 8:
		g.swap(sc)
	case 9:
		g.pairs(sc)
	case 10:
		g.list(sc)
	case 11:
		g.line("%s.Params.Blend(%s.Params, %s)", g.t("Slow"), g.t("Net"), g.one(".5", ".1", "1"))
	case 12:
		g.line("%s.Update(%s)", g.t("Seen"), g.tensor(sc, axis, 1))
	case 13:
		g.choose(sc)
	case 14:
		i := g.fresh("i")
		g.loop(sc, i, g.count(sc), func(sc *scope) { g.statement(sc); g.strew(sc, 1) })
	case 15, 16:
		if !sc.loop {
			return
		}
		g.line("if %s {\n%s\n}", g.cond(sc), g.one("break", "continue"))
	case 17:
		n := g.fresh("n")
		g.line("%s := %d", n, g.r.IntN(2))
		g.line("if %s {\n%s%s\n}", g.cond(sc), n, g.one("++", " = 2", " += 2"))
		sc.add(n, "int", "")
	}
}

// axis returns one that something at hand has rows of.
func (g *grower) axis(sc *scope) string {
	var list []string
	for _, v := range sc.vals {
		if v.axis != "" {
			list = append(list, v.axis)
		}
	}
	return g.one(list...)
}

// variable returns one of a kind that may be assigned to, or nil.
func (g *grower) variable(sc *scope, kind, axis string) *val {
	var list []*val
	for _, v := range sc.of(kind) {
		if (axis == "" || v.axis == axis) && !strings.Contains(v.name, ".") {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[g.r.IntN(len(list))]
}

// branch writes an if, with or without an else.
func (g *grower) branch(sc *scope) {
	g.line("if %s {", g.cond(sc))
	g.block(sc, "", func(sc *scope) { g.statement(sc); g.strew(sc, 1) })
	if g.chance(2) {
		g.line("} else {")
		g.block(sc, "", func(sc *scope) { g.statement(sc) })
	}
	g.line("}")
}

// choose sets a tensor in one of several ways.
func (g *grower) choose(sc *scope) {
	v, axis := g.fresh("v"), g.axis(sc)
	g.line("var %s rl.Tensor", v)
	g.line("switch %s {", g.one("run.Iter() % 3", "2 * run.Iter() % 3", "(run.Iter() + 1) % 3"))
	g.line("case 0:\n%s = %s", v, g.tensor(sc, axis, 1))
	g.line("case 1:\n%s = %s", v, g.tensor(sc, axis, 1))
	g.line("default:\n%s = %s\n}", v, g.tensor(sc, axis, 1))
	sc.add(v, "x", axis)
}

// swap assigns a tuple.
func (g *grower) swap(sc *scope) {
	a, b := g.variable(sc, "x", "env"), g.variable(sc, "x", "env")
	if a == nil || a == b {
		v, w := g.fresh("v"), g.fresh("w")
		g.line("%s, %s := %s, %s", v, w, g.tensor(sc, "env", 1), g.tensor(sc, "env", 1))
		sc.add(v, "x", "env")
		sc.add(w, "x", "env")
		return
	}
	g.line("%s, %s = %s, %s", a.name, b.name, b.name, a.name)
}

// pairs makes a struct, or changes one.
func (g *grower) pairs(sc *scope) {
	g.need["pair"] = true
	p := g.variable(sc, "pair", "env")
	switch {
	case p == nil || g.chance(3):
		name := g.fresh("p")
		g.line("%s := pair{%s, %s}", name, g.tensor(sc, "env", 1), g.tensor(sc, "env", 1))
		sc.add(name, "pair", "env")
	case g.chance(3):
		g.need["turned"] = true
		g.line("%s = turned(%s)", p.name, p.name)
	default:
		g.line("%s.%s = %s", p.name, g.one("A", "B"), g.tensor(sc, "env", 1))
	}
}

// list grows a slice, or begins one.
func (g *grower) list(sc *scope) {
	l := g.variable(sc, "list", "env")
	if l == nil {
		name := g.fresh("seen")
		g.line("%s := []rl.Tensor{%s}", name, g.tensor(sc, "env", 1))
		sc.add(name, "list", "env")
		return
	}
	g.line("%s = append(%s, %s)", l.name, l.name, g.tensor(sc, "env", 1))
}

// count returns how often a loop goes round.
func (g *grower) count(sc *scope) string {
	if list := sc.of("int"); len(list) > 0 && g.chance(2) {
		return g.pick(list).name
	}
	return fmt.Sprint(1 + g.r.IntN(2))
}

// cond returns a condition that control may depend on.
func (g *grower) cond(sc *scope) string {
	if list := sc.of("float"); len(list) > 0 && g.chance(2) {
		return g.pick(list).name + " > " + g.one("0", ".1", ".3", ".5")
	}
	if len(sc.index) > 0 && g.chance(2) {
		i := sc.index[len(sc.index)-1]
		return i + g.one("%2 == 0", "%2 == 1", " > 0") + g.one("", "", " && run.Iter() > 1")
	}
	switch g.r.IntN(9) {
	case 0:
		return "run.Every(8)"
	case 1:
		return "run.Steps() > " + g.one("0", "8", "20")
	case 2:
		return fmt.Sprintf("run.Value(rl.Mean(%s)) > %s", g.tensor(sc, g.axis(sc), 1), g.one("0", ".1", ".3"))
	case 3:
		return g.t("opt") + ".Count()%2 == 1" // a guard that is true from the start would stop all learning
	case 4:
		if list := sc.of("int"); len(list) > 0 {
			return g.pick(list).name + " > 0"
		}
	case 5:
		if g.style.table {
			return g.t("Replay") + ".Ready(9)"
		}
	}
	return g.one("run.Iter()%2 == 0", "run.Iter()%3 != 0", "run.Iter() > 1")
}

// tensor returns an expression of numbers, one for each row of an axis.
func (g *grower) tensor(sc *scope, axis string, depth int) string {
	leaves, flags := g.leaves(sc, axis)
	if depth > 0 && g.chance(2) || len(leaves) == 0 {
		sub := func() string { return g.tensor(sc, axis, depth-1) }
		obs, _ := g.observed(sc, axis)
		if len(leaves) == 0 {
			return fmt.Sprintf("%s.Call(rl.Key{}, %s)", g.t("value"), obs)
		}
		switch n := g.r.IntN(8); {
		case n < 2 && len(flags) > 0:
			return fmt.Sprintf("rl.Select(%s, %s, %s)", g.one(flags...), sub(), sub())
		case n == 2 && len(flags) > 0:
			return fmt.Sprintf("rl.Keep(%s, %s)", sub(), g.one(flags...))
		case n == 3:
			return fmt.Sprintf("rl.Standardise(%s, rl.Tensor{})", sub())
		case n == 4 && axis == "env" && len(sc.of("list")) > 0:
			return fmt.Sprintf("%s.Call(rl.Key{}, many{%s})", g.t("sum"), g.pick(sc.of("list")).name)
		case n < 6:
			return fmt.Sprintf("%s.Call(rl.Key{}, many{[]rl.Tensor{%s, %s}})", g.t("sum"), sub(), sub())
		case obs != "":
			return fmt.Sprintf("%s.Call(rl.Key{}, %s)", g.t(g.one("value", "value", "slow")), obs)
		}
	}
	return g.one(leaves...)
}

// fields are where values have tensors of numbers and of flags.
var fields = map[string][2]string{
	"x": {""}, "act": {".Value .LogProb"}, "out": {".Reward", ".Over .Terminated .Done()"}, "pair": {".A .B"},
	"batch":  {".Reward .Act.Value .Act.LogProb", ".Over .Terminated"},
	"rows":   {".Data.Reward .Data.Act.Value .Prob", ".Data.Over .Data.Terminated"},
	"sample": {".Adv .Ret"},
}

// leaves returns the tensors of an axis that are at hand.
func (g *grower) leaves(sc *scope, axis string) (numbers, flags []string) {
	for _, v := range sc.vals {
		f, ok := fields[v.kind]
		if v.axis != axis || !ok {
			continue
		}
		if v.kind == "x" {
			numbers = append(numbers, v.name)
		}
		for x := range strings.FieldsSeq(f[0]) {
			numbers = append(numbers, v.name+x)
		}
		for x := range strings.FieldsSeq(f[1]) {
			flags = append(flags, v.name+x)
		}
	}
	return numbers, flags
}

// observed returns an observation and the action that was taken on one, of an axis.
func (g *grower) observed(sc *scope, axis string) (obs, action string) {
	at := map[string][2]string{
		"obs": {"%s"}, "out": {"%s.Final"}, "act": {"", "%s.Action"}, "batch": {"%s.Obs", "%s.Act.Action"},
		"rows": {"%s.Data.Obs", "%s.Data.Act.Action"}, "sample": {"%s.Obs", "%s.Action"},
	}
	for _, v := range sc.vals {
		f := at[v.kind]
		if v.axis != axis {
			continue
		}
		if f[0] != "" && (obs == "" || g.chance(2)) {
			obs = fmt.Sprintf(f[0], v.name)
		}
		if f[1] != "" && (action == "" || g.chance(2)) {
			action = fmt.Sprintf(f[1], v.name)
		}
	}
	return obs, action
}

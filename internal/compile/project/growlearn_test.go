package project

import "fmt"

// learn updates weights from a batch, or from the table where there is none.
func (g *grower) learn(sc *scope, b *val) {
	if g.style.family && b != nil {
		g.members(sc, b)
	}
	if b != nil && g.chance(2) {
		g.estimate(sc, b)
	}
	if g.style.table {
		g.fromTable(sc)
	}
	if b == nil {
		return
	}
	g.strew(sc, 1)
	switch g.r.IntN(3) {
	case 0:
		g.update(sc, g.sample(sc, b.axis), b.axis)
	case 1:
		i := g.fresh("i")
		g.loop(sc, i, fmt.Sprint(1+g.r.IntN(3)), func(sc *scope) {
			sc.loop = false // the first update is for certain
			g.update(sc, g.sample(sc, b.axis), b.axis)
			sc.loop = true
			g.strew(sc, 2)
		})
	case 2:
		g.minibatches(sc, b)
	}
}

// minibatches goes through a batch in parts.
func (g *grower) minibatches(sc *scope, b *val) {
	s := g.fresh("s")
	g.line("%s := %s", s, g.sample(sc, b.axis))
	sc.add(s, "sample", b.axis)
	e, m, mini, n := g.fresh("e"), g.fresh("m"), g.fresh("mini"), 2+g.r.IntN(2)
	part := func(sc *scope) {
		use := g.key(sc, "shuffle")
		g.loop(sc, m, fmt.Sprint(n), func(sc *scope) {
			g.line("%s := replay.Take(%s, %s, %s, %s, %d)", mini, s, use, g.one("replay.ByStep", "replay.ByStep", "replay.ByEnv"), m, n)
			sc.add(mini, "sample", mini)
			sc.loop = false
			what := mini
			if g.chance(3) {
				what = g.sample(sc, mini)
			}
			g.update(sc, what, mini)
			sc.loop = true
			g.strew(sc, 1)
		})
	}
	if g.chance(2) {
		part(sc)
		return
	}
	g.loop(sc, e, "2", func(sc *scope) {
		part(sc)
		g.strew(sc, 1)
	})
}

// fromTable learns from what was drawn, once there is enough.
func (g *grower) fromTable(sc *scope) {
	g.line("if %s {", g.one(g.t("Replay")+".Ready(4)", "run.Iter() > 0"))
	g.block(sc, "", func(sc *scope) {
		u := g.fresh("u")
		g.loop(sc, u, fmt.Sprint(1+g.r.IntN(2)), func(sc *scope) {
			rows := g.fresh("rows")
			g.line("%s := %s.Sample(%s, %d)", rows, g.t("Replay"), g.key(sc, "sample"), 4+g.r.IntN(3))
			sc.add(rows, "rows", rows)
			sc.loop = false
			loss := g.update(sc, g.sample(sc, rows), rows)
			if g.chance(2) {
				g.need["priority"] = true
				g.line("t.Replay.Prioritise(%s.Index, %s.Call(rl.Key{}, %s))", rows, g.t("rank"), loss)
			}
			sc.loop = true
			g.strew(sc, 1)
		})
	})
	g.line("}")
}

// update returns a gradient and its application; it names the loss of every row.
func (g *grower) update(sc *scope, sample, axis string) string {
	loss, opt := g.one("loss", "fit"), "opt"
	if g.style.twoNets && g.chance(3) {
		loss, opt = "slowFit", "slowOpt"
	}
	rate := g.one("1e-2", "2e-2", "5e-3")
	if g.chance(5) && len(sc.index) > 0 {
		rate = fmt.Sprintf("1e-2/float64(%s+1)", sc.index[len(sc.index)-1])
	}
	if g.chance(3) {
		return g.updateApart(sc, sample, axis, loss, opt)
	}
	l := g.fresh("loss")
	grad := g.fresh("g")
	g.line("%s, %s := %s.Grad(%s, %s)", grad, l, g.t(loss), g.key(sc, "loss"), sample)
	if g.chance(4) {
		g.strew(sc, 1)
	}
	g.line("%s.Apply(%s, %s)", g.t(opt), grad, rate)
	sc.add(l, "x", axis)
	return g.shown(sc, l)
}

// updateApart returns update as a method, with or without a guard.
func (g *grower) updateApart(sc *scope, sample, axis, loss, opt string) string {
	name, run, guard := g.fresh("update"), g.runAt(sc), g.chance(2)
	returns, end := "rl.Tensor", "return loss\n}"
	if guard {
		returns, end = "(rl.Tensor, bool)", "return loss, true\n}"
	}
	g.method(func() {
		in := &scope{}
		in.add("s", "sample", axis).used = true
		g.line("func (t *Trainer) %s(run *rl.Run, s kit.Sample) %s {", name, returns)
		if guard {
			g.line("if %s {\nreturn rl.Tensor{}, false\n}", g.one("run.Iter() == 1", "run.Steps() < 6", g.cond(in)))
		}
		g.line("g, loss := %s.Grad(run.Key(\"loss\"), s)", g.t(loss))
		g.line("%s.Apply(g, %s)", g.t(opt), g.one("1e-2", "2e-2"))
		in.add("loss", "x", axis).used = true
		g.strew(in, 1)
		g.settle(in, 0)
		g.line("%s", end)
	})
	l, ok := g.fresh("loss"), g.fresh("ok")
	if guard {
		g.line("%s, %s := t.%s(%s, %s)", l, ok, name, run, sample)
		g.line("if !%s {\n%s = %s\n}", ok, l, g.tensor(sc, axis, 1))
	} else {
		g.line("%s := t.%s(%s, %s)", l, name, run, sample)
	}
	sc.add(l, "x", axis)
	return g.shown(sc, l)
}

// shown logs a variable, or not.
func (g *grower) shown(sc *scope, name string) string {
	for _, v := range sc.vals {
		if v.name == name && g.chance(2) {
			g.log(v)
		}
	}
	return name
}

// sample returns what a loss needs, put together from rows of an axis.
func (g *grower) sample(sc *scope, axis string) string {
	obs, action := g.observed(sc, axis)
	return fmt.Sprintf("kit.Sample{Obs: %s, Action: %s, Adv: %s, Ret: %s}", obs, action, g.tensor(sc, axis, 2), g.tensor(sc, axis, 2))
}

// estimate makes returns of a batch.
func (g *grower) estimate(sc *scope, b *val) {
	n, axis := b.name, b.axis
	next := g.tensor(sc, axis, 1)
	if g.chance(2) {
		next = fmt.Sprintf("rl.Shift(%s.Act.Value, %s)", n, g.tensor(sc, "env", 1))
	}
	switch g.r.IntN(4) {
	case 0:
		adv, ret := g.fresh("adv"), g.fresh("ret")
		g.line("%s, %s := rl.GAE(.99, .95, %s.Reward, %s.Act.Value, %s, %s.Terminated, %s.Over)", adv, ret, n, n, next, n, n)
		sc.add(adv, "x", axis)
		sc.add(ret, "x", axis)
	case 1:
		target, adv := g.fresh("target"), g.fresh("adv")
		g.line("%s, %s := rl.VTrace(.99, .95, 1, 1, %s.Act.LogProb, %s.Reward, %s.Act.Value, %s, %s.Terminated, %s.Over)", target, adv, n, n, n, next, n, n)
		sc.add(target, "x", axis)
		sc.add(adv, "x", axis)
	case 2:
		ret := g.fresh("ret")
		g.line("%s := rl.NStep(.99, 2, %s.Reward, %s, %s.Terminated, %s.Over)", ret, n, next, n, n)
		sc.add(ret, "x", axis)
	default:
		ret := g.fresh("ret")
		g.line("%s := rl.Lambda(.99, .9, %s.Reward, %s, %s.Terminated, %s.Over)", ret, n, next, n, n)
		sc.add(ret, "x", axis)
	}
}

// members lets a family vote and learn.
func (g *grower) members(sc *scope, b *val) {
	members := g.t("Members")
	target := g.tensor(sc, b.axis, 1)
	if g.chance(2) {
		votes := g.fresh("votes")
		g.line("%s := make([]rl.Tensor, len(%s))", votes, members)
		g.line("for j, one := range %s {\n%s[j] = one.vote.Call(rl.Key{}, %s.Obs)\n}", members, votes, b.name)
		joint := g.fresh("joint")
		g.line("%s := %s.Call(rl.Key{}, many{%s})", joint, g.t("sum"), votes)
		sc.add(joint, "x", b.axis)
		target = joint
	}
	g.line("for j, one := range %s {", members)
	g.line("g, cost := one.loss.Grad(%s, kit.Sample{Obs: %s.Obs, Action: %s.Act.Action, Adv: %s, Ret: %s})", g.key(&scope{index: append([]string{"j"}, sc.index...)}, "member"), b.name, b.name, target, target)
	g.line("one.opt.Apply(g, 1e-2)")
	if g.chance(2) {
		g.line("run.At(\"member\", j).Log(\"loss\", cost)\n}")
	} else {
		g.line("run.Log(\"members\", cost)\n}")
	}
	if g.chance(2) {
		g.line("for _, one := range %s {\none.Old.Params.Blend(one.Net.Params, .1)\n}", members)
	}
}

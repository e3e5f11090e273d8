package adversary

// ordinary lists what authors write every day.
var ordinary = []feature{
	{name: "advantage estimate", class: usual, slot: "adv", styles: onRollout, add: func(g *grower) {
		g.put(drained, "adv, ret := rl.GAE(.99, .95, b.Reward, b.Act.Value, rl.Shift(b.Act.Value, t.value.Call(rl.Key{}, obs)), b.Terminated, b.Over)")
		g.adv, g.ret = "adv", "ret"
	}},
	{name: "n-step returns", class: usual, slot: "adv", styles: onRollout, add: func(g *grower) {
		g.put(drained, "ret := rl.NStep(.9, 2, b.Reward, b.Act.Value, b.Terminated, b.Over)")
		g.adv, g.ret = "ret", "ret"
	}},
	{name: "standardised", class: usual, slot: "adv", styles: onRollout, add: func(g *grower) {
		g.put(drained, "adv := rl.Standardise(b.Reward, rl.Tensor{})")
		g.adv = "adv"
	}},
	{name: "target network", class: usual, add: func(g *grower) {
		g.put(learned, "t.Slow.Params.Blend(t.Net.Params, .1)")
		g.put(learned, "run.Log(\"slow\", t.slow.Call(rl.Key{}, obs))")
	}},
	{name: "target network now and then", class: usual, add: func(g *grower) {
		g.put(learned, "if %s {\nt.Slow.Params.Blend(t.Net.Params, 1)\n}", g.one("run.Every(12)", "run.Iter()%2 == 1", "t.opt.Count()%2 == 0"))
	}},
	{name: "annealed rate", class: usual, add: func(g *grower) {
		f := g.fresh("anneal")
		g.decl("func %s(rate, progress float64) float64 {\nif progress > .5 {\nreturn rate / 2\n}\nreturn rate * (1 - progress)\n}", f)
		g.rate = true
		g.put(drained, "rate = %s(rate, run.Progress())", f)
	}},
	{name: "statistics", class: usual, styles: onRollout, add: func(g *grower) { g.put(learned, "t.Seen.Update(b.Reward)") }},
	{name: "memory of every environment", class: usual, add: func(g *grower) {
		g.field("Memory *rl.Slots[rl.Tensor]")
		g.make("zero := rl.FromFlat(s, make([]float32, e.Spec().Rows), e.Spec().Rows)\nt.Memory = rl.NewSlots(s, \"memory\", zero)")
		g.put(start, "mem := t.Memory.Get()")
		g.put(step, "mem = rl.Keep(t.sum.Call(rl.Key{}, yard.Many{All: []rl.Tensor{mem, out.Reward}}), out.Over)")
		g.apart = false
		g.put(drained, "t.Memory.Set(mem)\nrun.Log(\"memory\", mem)")
	}},
	{name: "logs", class: usual, styles: anyStyle, add: func(g *grower) {
		p := g.inside()
		g.put(p, "run.Log(%q, %s)", g.fresh("log"), g.tensor(p))
	}},
	{name: "branch on a value", class: usual, add: func(g *grower) {
		p := []place{drained, learned}[g.r.IntN(2)]
		g.put(p, "if %s > %s {\nt.Slow.Params.Blend(t.Net.Params, .5)\n} else {\nrun.Log(\"low\", %s)\n}", g.data(p), g.one("0", ".2", ".5"), g.tensor(p))
	}},
	{name: "more epochs", class: usual, add: func(g *grower) { g.epochs = 3 }},
	{name: "epochs end early", class: usual, styles: []style{rollout}, slot: "learn apply", add: func(g *grower) {
		g.epochs = 3
		g.applies = "t.opt.Apply(g, RATE)\nif run.Value(rl.Mean(loss)) > " + g.one(".1", ".4", "9") + " {\nbreak\n}"
	}},
	{name: "helper computes", class: usual, styles: anyStyle, add: func(g *grower) {
		f, p, x := g.fresh("curve"), g.inside(), g.fresh("x")
		g.decl("func %s(x, y float64) float64 { return math.Tanh(x)*.5 + y }", f)
		g.put(p, "%s := %s(%s, %s)", x, f, g.num(p), g.num(p))
		g.sink(p, x)
	}},
	{name: "generic helper", class: usual, styles: anyStyle, add: func(g *grower) {
		f, p, x := g.fresh("pick"), g.inside(), g.fresh("x")
		g.decl("func %s[T any](first bool, a, b T) T {\nif first {\nreturn a\n}\nreturn b\n}", f)
		g.put(p, "%s := %s(%s, %s, .4)", x, f, g.hostCond(), "run.Progress()")
		g.sink(p, x)
	}},
	{name: "critic of its own", class: usual, slot: "adv", styles: onRollout, add: func(g *grower) {
		g.field("critic *rl.Func[rl.Obs, rl.Tensor]\nfit *rl.Loss[kit.Sample, rl.Tensor]\nfitOpt *rl.Opt")
		g.make("t.critic = rl.NewFunc(s, \"critic\", t.Slow.Value)\nt.fit, t.fitOpt = rl.NewLoss(s, \"fit\", t.Slow.ValueLoss, t.Slow.Params), rl.NewOpt(s, \"fit opt\", nn.SGD{}, t.Slow.Params)")
		g.put(drained, `next := rl.Shift(t.critic.Call(rl.Key{}, b.Obs), t.critic.Call(rl.Key{}, obs))
		adv, ret := rl.GAE(.99, .95, b.Reward, t.critic.Call(rl.Key{}, b.Obs), next, b.Terminated, b.Over)
		fg, fl := t.fit.Grad(run.Key("fit"), kit.Sample{Obs: b.Obs, Action: b.Act.Action, Adv: ret, Ret: ret})
		t.fitOpt.Apply(fg, .1)
		run.Log("fit", fl)`)
		g.adv, g.ret = "adv", "ret"
	}},
	{name: "sum over steps", class: usual, add: func(g *grower) {
		g.apart = false
		x := g.fresh("total")
		g.put(start, "%s := 0.", x)
		g.put(step, "%s += %s", x, g.data(step))
		g.sink([]place{drained, learned}[g.r.IntN(2)], x)
	}},
	{name: "skipped statements", class: usual, add: func(g *grower) {
		p := g.inside()
		g.put(p, "for j := range 3 {\nif j == 1 {\ncontinue\n}\nrun.Log(%q, %s)\n}", g.fresh("some"), g.tensor(p))
	}},
	{name: "switch on a counter", class: usual, add: func(g *grower) {
		p, x := g.inside(), g.fresh("x")
		g.put(p, "%[1]s := .5\nswitch run.Iter() %% 3 {\ncase 0:\n%[1]s = .1\ncase 1:\n%[1]s = %[2]s\n}", x, g.num(p))
		g.sink(p, x)
	}},
	{name: "learning rate by a setting", class: usual, add: func(g *grower) {
		g.make("if c.Flag {\nt.Rate = 1e-2\n}")
	}},
	{name: "counts up", class: usual, add: func(g *grower) {
		p, x := g.inside(), g.fresh("n")
		g.put(p, "%[1]s := 0\nfor j := 0; j < 3; j++ {\nif j > 0 && %[2]s {\n%[1]s += j\n}\n}", x, g.hostCond())
		g.sink(p, "float64("+x+")*.2")
	}},
	{name: "struct of numbers", class: usual, add: func(g *grower) {
		typ, p, x := g.fresh("Sums"), g.inside(), g.fresh("v")
		g.decl("type %s struct{ a, b float64 }", typ)
		g.put(p, "var %[1]s %[2]s\n%[1]s.a = %[3]s\n%[1]s.b = %[1]s.a / 2", x, typ, g.num(p))
		g.sink(p, x+".a+"+x+".b")
	}},
}

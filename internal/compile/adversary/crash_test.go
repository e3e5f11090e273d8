package adversary

// crashFeatures lists the features of loops that ended in a crash.
var crashFeatures = []feature{
	{name: "acting twice", class: crashes, add: func(g *grower) {
		g.put(step, "again := t.act.Call(run.Key(\"again\", i), %s)\nrun.Log(\"again\", again.LogProb)", g.one("obs", "out.Obs"))
	}},
	{name: "acting after learning", class: crashes, slot: "then", add: func(g *grower) {
		g.put(learned, "then := t.act.Call(run.Key(\"then\"), obs)\nrun.Log(\"then\", then.LogProb)")
	}},
	{name: "acting and stepping after learning", class: crashes, slot: "then", add: func(g *grower) {
		g.put(learned, "then := t.act.Call(run.Key(\"then\"), obs)\nwent := t.Env.Step(then.Action)\nrun.Log(\"went\", went.Reward)")
	}},
	{name: "method with two results", class: crashes, add: func(g *grower) {
		f := g.fresh("play")
		g.decl("func (t *Trainer) %s(k rl.Key, obs rl.Obs) (kit.Act, rl.Step) {\nact := t.act.Call(k, obs)\nreturn act, t.Env.Step(act.Action)\n}", f)
		x := g.fresh("x")
		g.put(learned, "%[1]s, %[1]sout := t.%[2]s(run.Key(%[1]q), obs)\nrun.Log(%[1]q, %[1]s.Value)\nrun.Log(\"%[1]sout\", %[1]sout.Reward)", x, f)
	}},
	{name: "weights read while learning", class: crashes, slot: "learn apply", styles: []style{rollout}, add: func(g *grower) {
		g.epochs = 2
		g.learnMid = "run.Log(\"between\", t.value.Call(rl.Key{}, b.Obs))\n"
	}},
	{name: "weights read between updates by the actor", class: crashes, styles: onRollout, add: func(g *grower) {
		g.put(drained, "mid := t.act.Call(run.Key(\"mid\"), obs)\nrun.Log(\"mid\", mid.Value)")
		g.put(learned, "end := t.act.Call(run.Key(\"end\"), obs)\nrun.Log(\"end act\", end.Value)")
	}},
	{name: "two variables of one name", class: crashes, add: func(g *grower) {
		g.put(learned, "run.Log(\"outer\", t.value.Call(rl.Key{}, obs))\n{\nobs := t.Env.Obs()\nrun.Log(\"other\", t.value.Call(rl.Key{}, obs))\n}")
		g.put(drained, "if %s {\nobs := t.Env.Obs()\nrun.Log(\"another\", t.value.Call(rl.Key{}, obs))\n}", g.hostCond())
	}},
	{name: "bare return at the end", class: crashes, add: func(g *grower) {
		f, p := g.fresh("note"), g.inside()
		g.decl("func (t *Trainer) %[1]s(run *rl.Run, x rl.Tensor) {\nif %[2]s {\nrun.Log(\"%[1]s\", x)\nreturn\n}\nrun.Log(\"%[1]s else\", x)\nreturn\n}", f, g.hostCond())
		g.put(p, "t.%s(run, %s)", f, g.tensor(p))
	}},
	{name: "range assigns", class: crashes, add: func(g *grower) {
		p, n, x := g.inside(), g.fresh("n"), g.fresh("x")
		g.put(p, "%[1]s, %[2]s := 0, 0.\nfor %[1]s = range 3 {\n%[2]s += %[3]s * float64(%[1]s)\n}", n, x, g.num(p))
		g.sink(p, x+"+float64("+n+")")
	}},
	{name: "range assigns around an operation", class: crashes, add: func(g *grower) {
		p, n := g.inside(), g.fresh("n")
		g.put(p, "var %[1]s int\nfor %[1]s = range 2 {\nrun.Log(%[1]q, %[2]s)\n}", n, g.tensor(p))
		g.sink(p, "float64("+n+")*.5")
	}},
	{name: "local constant in a function called twice", class: crashes, add: func(g *grower) {
		f, p, x := g.fresh("weigh"), g.inside(), g.fresh("x")
		g.decl("func (t *Trainer) %[1]s(run *rl.Run, x rl.Tensor) float64 {\nconst part = .5\nrun.Log(\"%[1]s\", x)\nreturn part * run.Value(rl.Mean(x))\n}", f)
		g.put(p, "%[1]s := t.%[2]s(run, %[3]s) - 2*t.%[2]s(run, %[4]s)", x, f, g.tensor(p), g.tensor(p))
		g.sink(p, x)
	}},
	{name: "local type in a function called twice", class: crashes, add: func(g *grower) {
		f, p, x := g.fresh("weigh"), g.inside(), g.fresh("x")
		g.decl("func (t *Trainer) %[1]s(run *rl.Run, x rl.Tensor) float64 {\ntype pair struct{ a, b float64 }\nrun.Log(\"%[1]s\", x)\nv := pair{.5, run.Value(rl.Mean(x))}\nreturn v.a * v.b\n}", f)
		g.put(p, "%[1]s := t.%[2]s(run, %[3]s) - 2*t.%[2]s(run, %[4]s)", x, f, g.tensor(p), g.tensor(p))
		g.sink(p, x)
	}},
	{name: "rate is a local number", class: crashes, add: func(g *grower) {
		g.rate = true
		p := []place{drained, start}[g.r.IntN(2)]
		if g.apart {
			p = drained
		}
		g.put(p, "scale := 1.\nif %s {\nscale = .5\n}\nrate *= scale", g.cond(p))
	}},
	{name: "integers and numbers mixed", class: crashes, add: func(g *grower) {
		g.rate = true
		g.put(drained, "n := 2\nfor j := 0; j < 3; j++ {\nn += j\n}\nrate = rate * float64(n) / 4")
	}},
	{name: "apply in a branch", class: crashes, slot: "apply", add: func(g *grower) {
		g.applies = "if " + g.one(g.hostCond(), "run.Value(rl.Mean(loss)) > -1", "run.Value(rl.Mean(loss)) > .1") + " {\nt.opt.Apply(g, RATE)\n}"
	}},
	{name: "apply in two branches", class: crashes, slot: "apply", add: func(g *grower) {
		g.applies = "if " + g.hostCond() + " {\nt.opt.Apply(g, RATE)\n} else {\nt.opt.Apply(g, RATE/2)\n}"
	}},
	{name: "helper of the run returns a pair", class: crashes, styles: anyStyle, add: func(g *grower) {
		f, p, x := g.fresh("plan"), g.inside(), g.fresh("x")
		g.decl("func %s(run *rl.Run, base float64) (float64, bool) {\nif run.Progress() > .4 {\nreturn base / 2, true\n}\nreturn base, run.Iter()%%2 == 0\n}", f)
		g.put(p, "%[1]s, %[1]sok := %[2]s(run, %[3]s)\nif %[1]sok {\n%[1]s += .25\n}", x, f, g.num(p))
		g.sink(p, x)
	}},
	{name: "helper of the run returns a struct", class: crashes, styles: anyStyle, add: func(g *grower) {
		f, typ, p, x := g.fresh("plan"), g.fresh("Phase"), g.inside(), g.fresh("x")
		g.decl("type %[1]s struct {\nrate float64\nlate bool\n}\n\nfunc %[2]s(run *rl.Run) %[1]s { return %[1]s{1 - run.Progress(), run.Iter() > 1} }", typ, f)
		g.put(p, "%[1]s := %[2]s(run)\nif %[1]s.late {\n%[1]s.rate += .5\n}", x, f)
		g.sink(p, x+".rate")
	}},
	{name: "helper of the run returns a slice", class: crashes, styles: anyStyle, add: func(g *grower) {
		f, p, x := g.fresh("plan"), g.inside(), g.fresh("x")
		g.decl("func %s(run *rl.Run) []float64 { return []float64{run.Progress(), float64(run.Iter()%%3) * .3} }", f)
		g.put(p, "%[1]s := %[2]s(run)", x, f)
		g.sink(p, x+"[0]+"+x+"[1]")
	}},
	{name: "function literal", class: crashes, styles: anyStyle, add: func(g *grower) {
		p, x := g.inside(), g.fresh("x")
		g.put(p, "%[1]s := .1\n%[1]sadd := func(y float64) { %[1]s += y }\n%[1]sadd(%[2]s)", x, g.num(p))
		g.sink(p, x)
	}},
}

// refusedFeatures are fine.
var refusedFeatures = []feature{
	{name: "loop counts down", class: refused, styles: anyStyle, add: func(g *grower) {
		p, x := g.inside(), g.fresh("x")
		g.put(p, "%[1]s := .1\nfor j := 3 - 1; j >= 0; j-- {\n%[1]s = %[1]s/2 + float64(j)*.1\n}\n%[1]s += %[2]s", x, g.num(p))
		g.sink(p, x)
	}},
	{name: "loop counts down around an operation", class: refused, add: func(g *grower) {
		p, x := g.inside(), g.fresh("x")
		g.put(p, "%[1]s := .1\nfor j := 1; j >= 0; j-- {\n%[1]s = %[1]s/2 + %[2]s\nrun.Log(%[1]q, %[3]s)\n}", x, g.data(p), g.tensor(p))
		g.sink(p, x)
	}},
	{name: "sorting a clone", class: refused, add: func(g *grower) {
		g.slices("ys := slices.Clone(xs)\nys[1] = NUM\nslices.Sort(ys)", "xs[0]+2*ys[0]+3*ys[2]")
	}},
	{name: "copy into a new slice", class: refused, add: func(g *grower) {
		g.slices("ys := make([]float64, 3)\ncopy(ys, xs)\nys[0] = NUM", "xs[0]+2*ys[0]+3*ys[2]")
	}},
	{name: "slice of slices", class: refused, add: func(g *grower) {
		p, m := g.inside(), g.fresh("m")
		g.put(p, "%[1]s := make([][]float64, 2)\nfor j := range %[1]s {\n%[1]s[j] = make([]float64, 2)\n%[1]s[j][1] = %[2]s * float64(j+1)\n}", m, g.num(p))
		g.sink(p, m+"[0][1]+2*"+m+"[1][1]+"+m+"[1][0]")
	}},
	{name: "local accumulator", class: refused, add: func(g *grower) {
		p, acc := g.inside(), g.fresh("acc")
		g.put(p, "var %[1]s yard.Mean\n%[1]s.Add(.2)\n%[1]s.Add(%[2]s)", acc, g.num(p))
		g.sink(p, acc+".Value()")
	}},
	{name: "accumulator over steps", class: refused, add: func(g *grower) {
		g.apart = false
		acc := g.fresh("acc")
		g.put(start, "var %s yard.Mean", acc)
		g.put(step, "%s.Add(%s)", acc, g.data(step))
		g.sink([]place{drained, learned}[g.r.IntN(2)], acc+".Value()")
	}},
	{name: "accumulator made by a function", class: refused, add: func(g *grower) {
		typ, p, acc := g.fresh("Peak"), g.inside(), g.fresh("acc")
		g.decl("type %[1]s struct{ top float64 }\n\nfunc new%[1]s() *%[1]s { return &%[1]s{top: .1} }\n\nfunc (p *%[1]s) see(x float64) { p.top = max(p.top, x) }", typ)
		g.put(p, "%[1]s := new%[2]s()\n%[1]s.see(%[3]s)", acc, typ, g.num(p))
		g.sink(p, acc+".top")
	}},
}

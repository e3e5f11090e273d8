package adversary

// settingFeatures let a constructor or a graph function choose components.
var settingFeatures = []feature{
	{name: "network chosen by if", class: settings, slot: "policy", add: func(g *grower) {
		g.make("behave := t.Net\nif c.Flag {\nbehave = t.Slow\n}")
		g.policy = "behave.Policy"
		g.put(learned, "t.Slow.Params.Blend(t.Net.Params, .5)")
	}},
	{name: "network chosen by if the other way", class: settings, slot: "policy", add: func(g *grower) {
		g.make("behave := t.Slow\nif !c.Flag {\nbehave = t.Net\n}")
		g.policy = "behave.Policy"
		g.put(learned, "t.Slow.Params.Blend(t.Net.Params, .5)")
	}},
	{name: "network chosen by switch", class: settings, slot: "policy", add: func(g *grower) {
		g.make("behave := t.Net\nswitch c.Kind {\ncase 1:\nbehave = t.Slow\ndefault:\n}")
		g.policy = "behave.Policy"
		g.put(learned, "t.Slow.Params.Blend(t.Net.Params, .5)")
	}},
	{name: "network chosen by a helper", class: settings, slot: "policy", add: func(g *grower) {
		f := g.fresh("either")
		g.decl("func %s(yes bool, a, b *kit.Net) *kit.Net {\nif yes {\nreturn a\n}\nreturn b\n}", f)
		g.make("behave := %s(c.Flag, t.Slow, t.Net)", f)
		g.policy = "behave.Policy"
		g.put(learned, "t.Slow.Params.Blend(t.Net.Params, .5)")
	}},
	{name: "function chosen by a setting", class: settings, slot: "policy", add: func(g *grower) {
		g.late = append(g.late, "t.act = rl.NewFunc(s, \"act a\", t.Net.Policy)\nif c.Flag {\nt.act = rl.NewFunc(s, \"act b\", t.Slow.Policy)\n}")
		g.put(learned, "t.Slow.Params.Blend(t.Net.Params, .5)")
	}},
	{name: "graph function picks parameters", class: settings, slot: "policy", add: func(g *grower) {
		f := g.fresh("pick") + "Graph"
		g.decl("func (t *Trainer) %s(c *rl.Ctx, o rl.Obs) kit.Act {\nnet := t.Net\nif t.Flag {\nnet = t.Slow\n}\nreturn net.Policy(c, o)\n}", f)
		g.policy = "t." + f
		g.put(learned, "t.Slow.Params.Blend(t.Net.Params, .5)")
	}},
	{name: "graph function picks by switch", class: settings, slot: "policy", add: func(g *grower) {
		f := g.fresh("pick") + "Graph"
		g.decl("func (t *Trainer) %s(c *rl.Ctx, o rl.Obs) kit.Act {\nswitch t.Kind {\ncase 1:\nreturn t.Slow.Policy(c, o)\n}\nreturn t.Net.Policy(c, o)\n}", f)
		g.policy = "t." + f
		g.put(learned, "t.Slow.Params.Blend(t.Net.Params, .5)")
	}},
	{name: "graph function picks weights", class: settings, slot: "adv", styles: onRollout, add: func(g *grower) { g.scales(drained) }},
	{name: "graph function of the actor picks weights", class: settings, slot: "adv", styles: onRollout, add: func(g *grower) { g.scales(step) }},
	{name: "networks swapped", class: settings, slot: "policy", add: func(g *grower) {
		g.make("if c.Flag {\nt.Net, t.Slow = t.Slow, t.Net\n}")
		g.put(learned, "t.Slow.Params.Blend(t.Net.Params, .5)")
	}},
	{name: "target network chosen", class: settings, styles: onRollout, slot: "adv", add: func(g *grower) {
		g.field("judge *rl.Func[rl.Obs, rl.Tensor]")
		g.make("judge := t.Slow\nif c.Flag {\njudge = t.Net\n}\nt.judge = rl.NewFunc(s, \"judge\", judge.Value)")
		a := g.fresh("adv")
		g.put(drained, "%s := t.sum.Call(rl.Key{}, yard.Many{All: []rl.Tensor{b.Reward, t.judge.Call(rl.Key{}, b.Obs)}})", a)
		g.adv = a
		g.put(learned, "t.Slow.Params.Blend(t.Net.Params, .5)")
	}},
	{name: "networks in a slice literal", class: refused, slot: "policy", add: func(g *grower) {
		g.make("nets := []*kit.Net{t.Net, t.Slow}")
		g.policy = "nets[1].Policy"
		g.put(learned, "t.Slow.Params.Blend(t.Net.Params, .5)")
	}},
	{name: "networks in a slice, by a setting", class: refused, slot: "policy", add: func(g *grower) {
		g.make("nets := []*kit.Net{t.Net, t.Slow}")
		g.policy = "nets[c.Kind].Policy"
		g.put(learned, "t.Slow.Params.Blend(t.Net.Params, .5)")
	}},
	{name: "array of components", class: crashes, add: func(g *grower) {
		g.field("Both [2]*kit.Net")
		g.make("t.Both = [2]*kit.Net{t.Net, t.Slow}")
		g.put(learned, "t.Both[1].Params.Blend(t.Both[0].Params, .5)")
	}},
	{name: "slice of components", class: refused, add: func(g *grower) {
		g.field("Both []*kit.Net")
		g.make("t.Both = []*kit.Net{t.Net, t.Slow}")
		g.put(learned, "t.Both[1].Params.Blend(t.Both[0].Params, .5)")
	}},
	{name: "slice of target networks by range", class: refused, add: func(g *grower) {
		g.field("Old []*kit.Net")
		g.make("t.Old = []*kit.Net{t.Slow, kit.New(s, \"older\", e.Spec())}")
		g.put(learned, "for _, n := range t.Old {\nn.Params.Blend(t.Net.Params, .5)\n}")
	}},
	{name: "network in a child scope", class: aside, slot: "adv", styles: onRollout, add: func(g *grower) {
		g.field("Critic *kit.Net\ncritic *rl.Func[rl.Obs, rl.Tensor]\nfit *rl.Loss[kit.Sample, rl.Tensor]\nfitOpt *rl.Opt")
		g.make(`a := s.Child("aside")
		t.Critic = kit.New(a, "critic", e.Spec())
		t.critic = rl.NewFunc(a, "critic", t.Critic.Value)
		t.fit, t.fitOpt = rl.NewLoss(a, "fit", t.Critic.ValueLoss, t.Critic.Params), rl.NewOpt(a, "fit opt", nn.SGD{}, t.Critic.Params)`)
		g.put(drained, `adv := t.sum.Call(rl.Key{}, yard.Many{All: []rl.Tensor{b.Reward, t.critic.Call(rl.Key{}, b.Obs)}})
		fg, fl := t.fit.Grad(run.Key("fit"), kit.Sample{Obs: b.Obs, Action: b.Act.Action, Adv: b.Reward, Ret: b.Reward})
		t.fitOpt.Apply(fg, .1)
		run.Log("fit", fl)`)
		g.adv = "adv"
	}},
	{name: "component that is not registered", class: aside, add: func(g *grower) {
		g.decl(`// Memo is a component that its constructor does not register.
		//
		//weft:fragment learner
		type Memo struct{ last float64 }

		// Axis of a memo.
		func (m *Memo) Axis() rl.Axis { return rl.None }

		// Save puts the number.
		func (m *Memo) Save(s *rl.State) { rl.PutSlice(s, "last", []float64{m.last}) }

		// Load takes it back.
		func (m *Memo) Load(s *rl.State) error {
			x := rl.GetSliceN[float64](s, "last", 1)
			if s.Err() == nil {
				m.last = x[0]
			}
			return s.Err()
		}

		// Note adds x to half of what was there.
		//
		//weft:op writes
		func (m *Memo) Note(x float64) { m.last = m.last/2 + x }

		// Last returns the number.
		//
		//weft:op reads
		func (m *Memo) Last() float64 { return m.last }`)
		g.field("Memo *Memo")
		g.make("t.Memo = &Memo{}")
		g.put(drained, "t.Memo.Note(%s)", g.data(drained))
		g.put(learned, "if t.Memo.Last() > .5 {\nt.Slow.Params.Blend(t.Net.Params, .5)\n}\nrun.Log(\"memo\", rl.Scalar(t.Memo.Last()))")
	}},
}

// scales adds a graph function that picks one of two weights by a setting, and calls
// it at a place. Both weights change in every iteration.
func (g *grower) scales(p place) {
	f := g.fresh("scale") + "Graph"
	g.field("One, Two *rl.Params\nscale *rl.Func[rl.Tensor, rl.Tensor]")
	g.make("t.One, t.Two = yard.NewScale(s, \"one\"), yard.NewScale(s, \"two\")\nt.scale = rl.NewFunc(s, \"scale\", t.%s)", f)
	g.decl("func (t *Trainer) %s(c *rl.Ctx, x rl.Tensor) rl.Tensor {\np := t.One\nif t.Flag {\np = t.Two\n}\nreturn yard.Scale(c, p, x)\n}", f)
	g.put(learned, "t.Two.Blend(t.One, .5)\nt.One.Blend(t.Two, .3)")
	if p == step {
		g.put(step, "act.Value = t.scale.Call(rl.Key{}, act.Value)")
		g.adv = "b.Act.Value"
		return
	}
	a := g.fresh("adv")
	g.put(drained, "%s := t.scale.Call(rl.Key{}, b.Reward)", a)
	g.adv = a
}

// keyFeatures draw with keys that do not come from the run, or come twice.
var keyFeatures = []feature{
	{name: "zero key", class: keys, slot: "key", add: func(g *grower) { g.actKey = "rl.Key{}" }},
	{name: "zero key with a use", class: keys, slot: "key", add: func(g *grower) { g.actKey = `rl.Key{}.Use("act")` }},
	{name: "zero key folded", class: keys, slot: "key", add: func(g *grower) { g.actKey = `rl.Key{}.Use("act").Fold(uint64(i))` }},
	{name: "key in a field", class: keys, slot: "key", add: func(g *grower) {
		g.field("key rl.Key")
		g.make(`t.key = s.Key("acting")`)
		g.actKey = g.one("t.key", "t.key.Fold(uint64(i))")
	}},
	{name: "new key in a helper", class: keys, slot: "key", add: func(g *grower) {
		f := g.fresh("dice")
		g.decl("func %s(i int) rl.Key { return rl.NewKey(uint64(i) + 3) }", f)
		g.actKey = f + "(i)"
	}},
	{name: "new key", class: keys, slot: "key", add: func(g *grower) { g.actKey = "rl.NewKey(uint64(run.Iter()) + uint64(i))" }},
	{name: "key at a row", class: keys, slot: "key", add: func(g *grower) { g.actKey = `run.Key("act", i).At(3)` }},
	{name: "key derived", class: keys, slot: "key", add: func(g *grower) { g.actKey = `run.Key("act", i).Use("dice").Fold(4)` }},
	{name: "one key for all steps", class: keys, slot: "key", add: func(g *grower) { g.actKey = `run.Key("act")` }},
	{name: "key declared above the steps", class: keys, slot: "key", add: func(g *grower) {
		g.put(start, `once := run.Key("act")`)
		g.actKey = "once"
	}},
	{name: "one key for two operations", class: keys, slot: "key adv", add: func(g *grower) {
		g.field("noisy *rl.Func[rl.Obs, kit.Act]")
		g.make(`t.noisy = rl.NewFunc(s, "noisy", t.Slow.Policy)`)
		g.acting = "k := run.Key(\"act\", i)\nact := t.act.Call(k, obs)\nfirst := t.noisy.Call(k, obs)\nact.Value = first.LogProb"
		g.adv = "b.Act.Value"
		if g.style == table {
			g.adv = "b.Reward"
		}
	}},
	{name: "key as a parameter", class: keys, slot: "key", add: func(g *grower) {
		f := g.fresh("choose")
		g.decl("func (t *Trainer) %s(k rl.Key, obs rl.Obs) kit.Act { return t.act.Call(k, obs) }", f)
		g.acting = "act := t." + f + `(run.Key("act", i), obs)`
	}},
	{name: "loss draws", class: keys, slot: "loss", add: func(g *grower) {
		f, of := g.fresh("jittered"), "Adv"
		if g.style == table {
			of = "Ret"
		}
		g.decl("func (t *Trainer) %s(c *rl.Ctx, s kit.Sample) (loss, weight, aux rl.Tensor) {\ns.%[2]s = yard.Noisy(c, s.%[2]s)\nreturn %[3]s(c, s)\n}", f, of, g.loss)
		g.loss = "t." + f
	}},
	{name: "scope's key for a loss", class: keys, slot: "adv", styles: onRollout, add: func(g *grower) {
		g.field("jitter *rl.Func[rl.Tensor, rl.Tensor]")
		g.make(`t.jitter = rl.NewFunc(s, "jitter", yard.Noisy)`)
		a, k := g.fresh("adv"), g.one(`run.Scope().Key("jitter")`, "rl.Key{}", `rl.NewKey(4)`)
		g.put(drained, "%s := t.jitter.Call(%s, b.Reward)", a, k)
		g.adv = a
	}},
}

// replicaFeatures use values that are not the same at every replica.
var replicaFeatures = []feature{
	{name: "first row of the environments", class: replicas, add: func(g *grower) {
		p, x := g.inside(), g.fresh("x")
		g.put(p, "%s := float64(t.Env.Spec().First) * .2", x)
		g.sink(p, x)
		g.rate = true
		g.put(drained, "rate += 1e-3 * float64(t.Env.Spec().First)")
	}},
	{name: "rows of the environments", class: replicas, add: func(g *grower) {
		p, x := g.inside(), g.fresh("x")
		g.put(p, "%s := float64(t.Env.Spec().Rows) * .1", x)
		g.sink(p, x)
		g.rate = true
		g.put(drained, "rate += 1e-3 * float64(t.Env.Spec().Rows)")
	}},
	{name: "number of all environments", class: replicas, add: func(g *grower) {
		p, x := g.inside(), g.fresh("x")
		g.put(p, "%s := float64(t.Env.Spec().Envs) * .1", x)
		g.sink(p, x)
	}},
	{name: "rows kept by the constructor", class: replicas, add: func(g *grower) {
		g.field("rows int")
		g.make("t.rows = %s", g.one("e.Spec().Rows", "e.Spec().First"))
		p := g.inside()
		g.sink(p, "t.rows")
	}},
	{name: "memory made of the constructor's rows", class: replicas, slot: "slots", add: func(g *grower) {
		g.field("Slots *rl.Slots[rl.Tensor]")
		n := g.one("e.Spec().Rows", "int(s.Envs().Len())", "n")
		if n == "n" {
			g.make("n := %s", g.one("e.Spec().Rows", "len(make([]int, e.Spec().Rows))"))
		}
		f := g.fresh("fill")
		g.decl("func %s(first, n int) []float32 {\nout := make([]float32, n)\n%s\nreturn out\n}", f, g.one(
			"", // zeros
			"for i := range out {\nout[i] = .5\n}",
			"for i := range out {\nout[i] = float32(first+i) * .1\n}",
			"for i := range out {\nif i > 1 {\ncontinue\n}\nout[i] = .5\n}",
			"for i := range out {\ni = 0\nout[i] = .5\n}",
			"for i := range n {\nout[i] = float32(i) * .1\n}",
			"if n > 3 {\nout[0] = 1\n}",
			"view := out[:n-1]\nfor i := range view {\nview[i] = 1\n}",
			"copy(out[1:], []float32{.5, .5, .5, .5, .5, .5, .5, .5})",
			"for i := 0; i < 8; i++ {\nif i == n {\nbreak\n}\nout[i] = .5\n}",
		))
		g.make("t.Slots = rl.NewSlots(s, \"slots\", rl.FromFlat(s, %s(0, %s), %s))", f, n, n)
		g.put(start, "slots := t.Slots.Get()")
		g.put(step, "slots = rl.Keep(t.sum.Call(rl.Key{}, yard.Many{All: []rl.Tensor{slots, out.Reward}}), out.Over)")
		g.apart = false
		g.put(drained, "t.Slots.Set(slots)\nrun.Log(\"slots\", slots)")
	}},
	{name: "tensor made of the constructor's rows", class: replicas, add: func(g *grower) {
		g.field("shift rl.Tensor")
		g.make("shift := make([]float32, e.Spec().Rows)\n%s\nt.shift = rl.FromFlat(s, shift, e.Spec().Rows)", g.one(
			"", "shift[0] = 1", "for i := range shift {\nshift[i] = float32(i)\n}", "shift[len(shift)-1] = 1"))
		g.put(step, "run.Log(\"shift\", t.sum.Call(rl.Key{}, yard.Many{All: []rl.Tensor{t.shift, out.Reward}}))")
	}},
	{name: "graph function made of the constructor's rows", class: replicas, slot: "policy", add: func(g *grower) {
		g.field("times *rl.Func[rl.Tensor, rl.Tensor]")
		f := g.fresh("times")
		g.decl("type %s struct { n int }\n\nfunc (f %s) apply(c *rl.Ctx, x rl.Tensor) rl.Tensor { return yard.Times(x, f.n) }", f, f)
		g.make("t.times = rl.NewFunc(s, \"times\", %s{%s}.apply)", f, g.one("e.Spec().Envs", "e.Spec().Rows", "len(make([]int, e.Spec().Rows))"))
		g.put(step, "run.Log(\"scaled\", t.times.Call(rl.Key{}, out.Reward))")
	}},
	{name: "rows of a tensor", class: replicas, styles: onRollout, add: func(g *grower) {
		p, x := []place{step, drained}[g.r.IntN(2)], g.fresh("x")
		g.put(p, "%s := float64(%s.%s) * .1", x, g.tensor(p), g.one("Rows()", "Shape().Dimensions[0]"))
		g.sink(p, x)
	}},
	{name: "presence of a tensor", class: replicas, add: func(g *grower) {
		p := g.inside()
		what := g.one("obs.First", "obs.State")
		switch {
		case p == step:
			what = g.one("out.Reward", "act.Value", "out.Final.First", "obs.First", "out.Truncated")
		case p > step && g.style != table:
			what = g.one("b.Reward", "b.Terminated", "b.Act.LogProb", "b.Obs.First")
		}
		x := g.fresh("x")
		g.put(p, "%s := .1\nif %s.Ok() {\n%s = .9\n}", x, what, x)
		g.sink(p, x)
	}},
	{name: "number of a row-wise helper", class: replicas, styles: onRollout, add: func(g *grower) {
		f, x := g.fresh("count"), g.fresh("x")
		g.decl("//weft:rows\nfunc %s(x rl.Tensor) float64 { return float64(x.Rows()) * .1 }", f)
		p := []place{step, drained}[g.r.IntN(2)]
		g.put(p, "%s := %s(%s)", x, f, g.tensor(p))
		g.sink(p, x)
	}},
	{name: "mean of a row-wise helper", class: replicas, styles: onRollout, add: func(g *grower) {
		f, x := g.fresh("level"), g.fresh("x")
		g.decl("//weft:rows\nfunc %s(x rl.Tensor) float64 {\nsum, n := rl.Total(x)\nreturn sum / float64(n)\n}", f)
		p := []place{step, drained}[g.r.IntN(2)]
		g.put(p, "%s := %s(%s)", x, f, g.tensor(p))
		g.sink(p, x)
	}},
	{name: "rows that look at each other", class: replicas, slot: "policy adv", add: func(g *grower) {
		f := g.fresh("crowd") + "Graph"
		g.decl("func (t *Trainer) %s(c *rl.Ctx, o rl.Obs) kit.Act {\nact := t.Net.Policy(c, o)\nact.Value = yard.Centred(act.Value)\nreturn act\n}", f)
		g.policy = "t." + f
		g.put(step, "run.Log(\"crowd\", act.Value)")
		if g.style != table {
			g.adv = "b.Act.Value"
		}
	}},
	{name: "function whose rows look at each other", class: replicas, styles: onRollout, slot: "adv", add: func(g *grower) {
		f := g.fresh("centre") + "Graph"
		g.decl("func %s(_ *rl.Ctx, x rl.Tensor) rl.Tensor { return yard.Centred(x) }", f)
		g.field("centre *rl.Func[rl.Tensor, rl.Tensor]")
		g.make(`t.centre = rl.NewFunc(s, "centre", %s)`, f)
		a := g.fresh("adv")
		g.put(drained, "%s := t.centre.Call(rl.Key{}, b.Reward)", a)
		g.adv = a
	}},
	{name: "evaluation in a second environment", class: second, slot: "eval", add: func(g *grower) { g.evaluates("c.Envs") }},
	{name: "evaluation in a smaller environment", class: second, slot: "eval", add: func(g *grower) { g.evaluates("c.Envs-1") }},
	{name: "evaluation in a larger environment", class: second, slot: "eval", add: func(g *grower) { g.evaluates("c.Envs*2") }},
}

// evaluates adds an evaluation in n environments of its own.
func (g *grower) evaluates(n string) {
	g.field("Eval env.Batch")
	g.make("if t.Eval, err = makeEnv.As(\"eval\").Batch(%s); err != nil {\nreturn nil, err\n}", n)
	act, total := "t.act", g.fresh("total")
	g.put(learned, `%[1]s := 0.
	seen := t.Eval.Obs()
	for j := range 2 {
		try := %[2]s.Call(run.Key("eval", j), seen)
		got := t.Eval.Step(try.Action)
		run.Log("eval", got.Reward)
		%[1]s += run.Value(rl.Mean(got.Reward))
		seen = got.Obs
	}
	run.Log("eval end", t.value.Call(rl.Key{}, seen))`, total, act)
	g.sink(learned, total)
}

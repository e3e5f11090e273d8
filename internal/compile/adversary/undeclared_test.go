package adversary

// undeclaredFeatures use types and operations that leave open what their distribution
// depends on: an axis, whose rows, who writes what.
var undeclaredFeatures = []feature{
	{name: "function of a vocabulary's struct", class: undeclared, slot: "act", add: func(g *grower) {
		g.transition("replay.Transition")
	}},
	{name: "function of a vocabulary's struct under another name", class: undeclared, slot: "act", add: func(g *grower) {
		typ := g.fresh("Row")
		g.decl("type %s %s", typ, g.one("replay.Transition", "struct{ replay.Transition }", "struct{ Action rl.Tree; Rest []replay.Transition }"))
		g.transition(typ)
	}},
	{name: "table of a vocabulary's struct", class: undeclared, slot: "store", styles: onTable, add: func(g *grower) {
		g.store("*replay.Table[replay.Transition]", `replay.NewTable[replay.Transition](s, "replay", 40, replay.Options{NStep: `+g.one("1", "2")+`, Discount: .9})`)
		g.row, g.action = "replay.Transition{Obs: obs, Action: act.Action, Reward: out.Reward, Next: out.Final, Terminated: out.Terminated}", "Action"
	}},
	{name: "state of every environment", class: undeclared, slot: "counts", add: func(g *grower) {
		g.counts()
		g.put(step, "t.Counts.Add(out.Reward)")
		g.put(learned, "run.Log(\"counts\", t.Counts.Rows())")
	}},
	{name: "number of an environment's state", class: undeclared, slot: "counts", add: func(g *grower) {
		g.counts()
		g.put(step, "t.Counts.Add(out.Reward)")
		g.sink(learned, "t.Counts.Total()")
	}},
	{name: "draws for an environment's state", class: undeclared, slot: "counts", add: func(g *grower) {
		g.counts()
		g.put(start, "t.Counts.%s(run.Key(\"counts\"))", g.one("Drawn", "Placed", "Placed"))
		g.put(learned, "run.Log(\"counts\", t.Counts.Rows())")
	}},
	{name: "rows of a component without an axis", class: undeclared, slot: "scale", styles: onRollout, add: func(g *grower) {
		f := g.fresh("Scale")
		g.author(f, "by float64", "x := []float64{c.by}\nrl.PutSlice(s, \"by\", x)", "x := rl.GetSliceN[float64](s, \"by\", 1)\nif s.Err() == nil {\nc.by = x[0]\n}\nreturn s.Err()", "return rl.None")
		g.decl("//weft:op writes\n%sfunc (c *%s) Times(x rl.Tensor) rl.Tensor {\nc.by++\nreturn x\n}", g.one("", "//weft:axis environments\n", "//weft:axis rows\n"), f)
		p := []place{step, drained}[g.r.IntN(2)]
		g.put(p, "run.Log(\"scaled\", t.%s.Times(%s))", f, g.tensor(p))
	}},
	{name: "axis that is decided later", class: undeclared, slot: "scale", add: func(g *grower) {
		f := g.fresh("Odd")
		g.author(f, "n float64", "rl.PutSlice(s, \"n\", []float64{c.n})", "x := rl.GetSliceN[float64](s, \"n\", 1)\nif s.Err() == nil {\nc.n = x[0]\n}\nreturn s.Err()",
			g.one("return rl.None", "axis := rl.None\nreturn axis", "if c.n < 0 {\nreturn rl.Envs\n}\nreturn rl.None"))
		g.decl("//weft:op writes\nfunc (c *%[1]s) Add(x float64) { c.n += x }\n\n//weft:op reads\nfunc (c *%[1]s) Level() float64 { return c.n * .1 }", f)
		p := g.inside()
		g.put(p, "t.%s.Add(%s)", f, g.num(p))
		g.sink(learned, "t."+f+".Level()")
	}},
	{name: "operation writes though it says reads", class: undeclared, slot: "scale", add: func(g *grower) {
		f := g.listed(g.one("writes", "reads"), "Push(x float64)", "c.list = append(c.list, x)")
		p := g.inside()
		g.put(p, "t.%s.Push(%s)", f, g.num(p))
		g.sink(learned, "t."+f+".Level()")
	}},
	{name: "operation fills a slice", class: undeclared, slot: "scale", add: func(g *grower) {
		f := g.listed("reads", "Fill(into []float64)", g.one("into[0] = c.Level()", "for i := range into {\ninto[i] += .5\n}", "_ = into"))
		p, xs := g.inside(), g.fresh("xs")
		g.put(p, "%[1]s := []float64{%[2]s, .1}\nt.%[3]s.Fill(%[1]s)", xs, g.num(p), f)
		g.sink(p, xs+"[0]")
	}},
	{name: "operation returns its memory", class: undeclared, slot: "scale", add: func(g *grower) {
		f := g.listed("reads", "List() []float64", g.one("return c.list", "return c.list[:1]", "return slices.Clone(c.list)"))
		g.decl("//weft:op writes\nfunc (c *%s) Set(x float64) { c.list[0] = x }", f)
		p, xs := g.inside(), g.fresh("xs")
		g.put(p, "%[1]s := t.%[2]s.List()\nt.%[2]s.Set(%[3]s)", xs, f, g.num(p))
		g.sink(p, xs+"[0]")
	}},
	{name: "operation uses another component", class: undeclared, slot: "scale", styles: onRollout, add: func(g *grower) {
		f := g.listed("writes", "Note(x rl.Tensor)", g.one("c.seen.Update(x)", "c.list[0] += .1"))
		g.make("t.%s.seen = rl.NewStats(s, \"noted\", 5)", f)
		g.put(learned, "t.%s.Note(b.Reward)", f)
		g.sink(learned, "t."+f+".Level()")
	}},
	{name: "constructor asks how many parts there are", class: undeclared, add: func(g *grower) {
		g.field("parts float64")
		g.make("t.parts = float64(%s)", g.one("s.Parts()", "s.Steps()", "e.Spec().Envs"))
		p := g.inside()
		g.sink(p, "t.parts*.1")
	}},
	{name: "components compared", class: undeclared, add: func(g *grower) {
		same := g.fresh("same")
		g.apart = false
		g.field("other *kit.Net")
		g.make("t.other = t.Slow\nif c.Flag {\nt.other = t.Net\n}\nrl.NewFunc(s, \"other\", t.Slow.Value)")
		g.put(before, "%s := t.other == t.Net", same)
		p := g.inside()
		g.put(p, "if %s {\nrun.Log(\"same\", %s)\n}", g.one(same, "t.other != t.Net", "t.other.Params == t.Net.Params", same+" != t.Flag"), g.tensor(p))
		if g.chance(2) {
			g.put(learned, "if %s {\nt.Slow.Params.Blend(t.Net.Params, .2)\n}", same)
		}
		x := g.fresh("x")
		g.put(p, "%s := .1\nif %s {\n%s = .6\n}", x, same, x)
		g.sink(p, x)
	}},
	{name: "operation's result in an element", class: undeclared, styles: onRollout, add: func(g *grower) {
		xs := g.fresh("list")
		p := []place{step, drained}[g.r.IntN(2)]
		g.put(p, "%[1]s := make([]rl.Tensor, 2)\n%[1]s[0] = %[2]s\nfor j := range 1 {\n%[1]s[j+1] = t.sum.Call(rl.Key{}, yard.Many{All: []rl.Tensor{%[1]s[j], %[2]s}})\n}\nrun.Log(%[1]q, %[1]s[1])", xs, g.tensor(p))
	}},
	{name: "number of an operation in an element", class: undeclared, add: func(g *grower) {
		p, xs := g.inside(), g.fresh("xs")
		g.put(p, "%[1]s := []float64{.1, .2}\n%[1]s[%[3]s] = %[2]s", xs, g.data(p), g.one("1", "t.Kind"))
		g.sink(p, xs+"[0]+2*"+xs+"[1]")
	}},
}

// transition acts by a graph function that returns a struct of tensors, typ.
func (g *grower) transition(typ string) {
	f := g.fresh("chosen")
	g.decl("func (t *Trainer) %[1]s(c *rl.Ctx, o rl.Obs) (out %[2]s) {\nout.Action = t.Net.Policy(c, o).Action\nreturn out\n}", f, typ)
	g.field("choose *rl.Func[rl.Obs, %s]", typ)
	g.make("t.choose = rl.NewFunc(s, \"choose\", t.%s)", f)
	g.acting = "act := t.act.Call(" + g.actKey + ", obs)\nact.Action = t.choose.Call(run.Key(\"choose\", i), obs).Action"
}

// counts adds a component with a number for every environment.
func (g *grower) counts() {
	g.field("Counts *yard.Counts")
	g.make("t.Counts = yard.NewCounts(s, \"counts\", e.Spec().Rows)")
}

// author declares a component of the loop's own, which the trainer has a field of.
func (g *grower) author(name, fields, save, load, axis string) {
	g.decl("// %[1]s is a component.\ntype %[1]s struct{ %[2]s }\n\nfunc (c *%[1]s) Axis() rl.Axis {\n%[3]s\n}\nfunc (c *%[1]s) Save(s *rl.State) {\n%[4]s\n}\nfunc (c *%[1]s) Load(s *rl.State) error {\n%[5]s\n}", name, fields, axis, save, load)
	g.field("%[1]s *%[1]s", name)
	g.make("t.%[1]s = &%[1]s{}\ns.Register(%[2]q, t.%[1]s)", name, "own "+name)
}

// listed declares a component that keeps a list, with an operation of which only the
// directive says what it does.
func (g *grower) listed(does, signature, body string) (name string) {
	name = g.fresh("Lists")
	g.author(name, "list []float64; seen *rl.Stats", "rl.PutSlice(s, \"list\", c.list)", "c.list = rl.GetSlice[float64](s, \"list\")\nreturn s.Err()", "return rl.None")
	g.make("t.%s.list = []float64{.25}", name)
	g.decl("//weft:op reads\nfunc (c *%s) Level() (sum float64) {\nfor i, x := range c.list {\nsum += x / float64(i+1)\n}\nreturn sum * .1\n}", name)
	g.decl("//weft:op %s\nfunc (c *%s) %s {\n%s\n}", does, name, signature, body)
	return name
}

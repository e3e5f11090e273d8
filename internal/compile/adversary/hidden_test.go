package adversary

// hiddenFeatures have helpers whose effects do not show where they are called.
var hiddenFeatures = []feature{
	{name: "write through a range variable", class: hidden, slot: "marks", add: func(g *grower) {
		g.marks("func (t *Trainer) bump(x float64) float64 {\nfor _, m := range []*Marks{t.marks} {\nm.level += x\n}\nreturn x\n}")
	}},
	{name: "write through a second name", class: hidden, slot: "marks", add: func(g *grower) {
		g.marks("func (t *Trainer) bump(x float64) float64 {\nvar u = t\nu.marks.level += x\nreturn x\n}")
	}},
	{name: "write through a local pointer", class: hidden, slot: "marks", add: func(g *grower) {
		g.marks("func (t *Trainer) bump(x float64) float64 {\nm := t.marks\nm.level += x\nreturn x\n}")
	}},
	{name: "method value", class: hidden, slot: "marks", add: func(g *grower) {
		g.marks("func (m *Marks) add(x float64) { m.level += x }\n\nfunc (t *Trainer) bump(x float64) float64 {\nf := t.marks.add\nf(x)\nreturn x\n}")
	}},
	{name: "function in a package variable", class: hidden, slot: "marks", add: func(g *grower) {
		g.marks("var raise = func(m *Marks, x float64) { m.level += x }\n\nfunc (t *Trainer) bump(x float64) float64 {\nraise(t.marks, x)\nreturn x\n}")
	}},
	{name: "function as an argument", class: hidden, slot: "marks", add: func(g *grower) {
		g.marks("func each(f func(float64), x float64) { f(x) }\n\nfunc (m *Marks) add(x float64) { m.level += x }\n\nfunc (t *Trainer) bump(x float64) float64 {\neach(t.marks.add, x)\nreturn x\n}")
	}},
	{name: "package variable of type error", class: hidden, add: func(g *grower) {
		p := g.inside()
		g.decl(`var errHigh error

		func watch(x float64) float64 {
			errHigh = nil
			if x > .3 {
				errHigh = errors.New("high")
			}
			return x / 2
		}

		func wasHigh() bool { return errHigh != nil }`)
		x := g.fresh("x")
		g.put(p, "%[1]s := watch(%[2]s)\nif %[3]s {\n%[1]s += .8\n}", x, g.num(p), g.one("wasHigh()", "errHigh != nil"))
		g.sink(p, x)
	}},
	{name: "package variable of type error, set in another iteration", class: hidden, add: func(g *grower) {
		g.decl("var errLate error\n\nfunc late(x float64) float64 {\nif x > .2 {\nerrLate = errors.New(\"late\")\n}\nif errLate != nil {\nreturn x + 1\n}\nreturn x\n}")
		g.put(learned, "run.Log(\"late\", rl.Scalar(late(%s)))", g.data(learned))
	}},
	{name: "steps of the scope", class: hidden, add: func(g *grower) {
		p, x := g.inside(), g.fresh("x")
		g.decl("func taken(run *rl.Run) float64 { return float64(run.Scope().Steps()%%7) * .2 }")
		g.put(p, "%s := %s", x, g.one("taken(run)", "taken(run)", "float64(run.Scope().Steps()%7) * .2"))
		g.sink(p, x)
	}},
	{name: "scope in a field", class: hidden, add: func(g *grower) {
		p, x := g.inside(), g.fresh("x")
		g.field("scope *rl.Scope")
		g.make("t.scope = s")
		g.decl("func (t *Trainer) taken() float64 { return float64(t.scope.Steps()%%7) * .2 }")
		g.put(p, "%s := t.taken()", x)
		g.sink(p, x)
	}},
	{name: "tensors of a component", class: hidden, add: func(g *grower) {
		p, x := g.inside(), g.fresh("x")
		g.decl("func top(c interface {\nrl.Component\nTensors() []rl.Tensor\n}) rl.Tensor { return c.Tensors()[0] }\n\nfunc size(c interface{ Tensors() []rl.Tensor }) float64 {\nsum, n := rl.Total(c.Tensors()[0])\nreturn sum / float64(n)\n}")
		g.put(p, "%s := %s", x, g.one("run.Value(rl.Mean(top(t.Net.Params)))", "size(t.Net.Params)"))
		g.sink(p, x)
	}},
	{name: "strings.Builder in a helper", class: hidden, add: func(g *grower) {
		f, p, x := g.fresh("text"), g.inside(), g.fresh("x")
		g.decl("func %s(x float64) float64 {\nvar sb strings.Builder\nfor range 3 {\nsb.WriteString(\"ab\")\n}\nif x > .2 {\nsb.WriteByte('c')\n}\nreturn float64(sb.Len()) * .2\n}", f)
		g.put(p, "%s := %s(%s)", x, f, g.num(p))
		g.sink(p, x)
	}},
	{name: "tensors of parameters", class: hidden, add: func(g *grower) {
		p := g.inside()
		g.decl("func first(p *rl.Params) rl.Tensor { return p.Tensors()[0] }")
		x := g.fresh("x")
		g.put(p, "%s := run.Value(rl.Mean(%s))", x, g.one("first(t.Net.Params)", "t.Net.Params.Tensors()[0]"))
		g.sink(p, x)
		g.put(p, "run.Log(%q, %s)", x, g.one("first(t.Net.Params)", "first(t.Slow.Params)"))
	}},
	{name: "version of parameters", class: hidden, add: func(g *grower) {
		p, x := g.inside(), g.fresh("x")
		g.decl("func writes(p *rl.Params) float64 { return float64(p.Version()%%5) * .2 }")
		g.put(p, "%s := writes(t.Net.Params)", x)
		g.sink(p, x)
	}},
	{name: "strings.Builder", class: hidden, add: func(g *grower) {
		p, sb := g.inside(), g.fresh("sb")
		g.put(p, "var %[1]s strings.Builder\nfor range 1 + run.Iter()%%2 {\n%[1]s.WriteString(\"ab\")\n}\nif %[2]s {\n%[1]s.WriteByte('c')\n}", sb, g.cond(p))
		g.sink(p, "float64("+sb+".Len())*.2")
	}},
	{name: "bytes.Buffer", class: hidden, add: func(g *grower) {
		p, sb := g.inside(), g.fresh("buffer")
		g.put(p, "%[1]s := bytes.NewBuffer(nil)\nfmt.Fprint(%[1]s, %[2]s > .2)", sb, g.num(p))
		g.sink(p, "float64("+sb+".Len())*.2")
	}},
	{name: "sorted in place", class: hidden, add: func(g *grower) {
		p, xs := g.inside(), g.fresh("xs")
		g.put(p, "%[1]s := []float64{.3, %[2]s, .1}\n%[3]s(%[1]s)", xs, g.num(p), g.one("slices.Sort", "sort.Float64s", "slices.Reverse"))
		g.sink(p, xs+"[0]+2*"+xs+"[2]")
	}},
	{name: "deleted from a map", class: hidden, add: func(g *grower) {
		p, m := g.inside(), g.fresh("m")
		g.put(p, "%[1]s := map[int]float64{1: .1, 2: %[2]s}\nif %[3]s {\ndelete(%[1]s, 2)\n}\nmaps.DeleteFunc(%[1]s, func(k int, _ float64) bool { return k == 1 })", m, g.num(p), g.cond(p))
		g.sink(p, m+"[2]+float64(len("+m+"))*.2")
	}},
	{name: "field of the trainer counts", class: hidden, add: func(g *grower) {
		g.field("seen int")
		g.put(g.inside(), "t.seen++")
		g.sink(learned, "float64(t.seen%5)*.3")
	}},
}

// marks adds a struct that the trainer points to, a helper bump that writes to it
// unseen, and a use of the number.
func (g *grower) marks(bump string) {
	g.decl("%s", "// Marks is no component.\ntype Marks struct{ level float64 }\n\n"+bump)
	g.field("marks *Marks")
	g.make("t.marks = &Marks{}")
	p := []place{start, step}[g.r.IntN(2)]
	x := g.fresh("x")
	g.put(p, "%s := t.bump(%s)", x, g.num(p))
	g.sink(p, x)
	g.decl("func (t *Trainer) level() float64 { return t.marks.level * .2 }")
	g.sink([]place{drained, learned}[g.r.IntN(2)], g.one("t.marks.level*.2", "t.level()", "t.level()"))
}

package adversary

import "fmt"

// memoryFeatures write to memory that has two names.
var memoryFeatures = []feature{
	{name: "write through another slice", class: memory, add: func(g *grower) {
		g.slices(`ys := xs
		ys[0] = NUM`, "xs[0]+xs[1]")
	}},
	{name: "write through a part of a slice", class: memory, add: func(g *grower) {
		g.slices(`ys := xs[1:]
		ys[0] = NUM
		ys[1] += ys[0]`, "xs[1]+2*xs[2]")
	}},
	{name: "alias in a branch", class: memory, add: func(g *grower) {
		g.slices(`ys := []float64{.1, .2, .3}
		if COND {
			ys = xs
		}
		ys[1] = NUM`, "xs[1]+2*ys[0]")
	}},
	{name: "callee fills a slice", class: memory, add: func(g *grower) {
		f := g.fresh("fill")
		g.decl("func %s(list []float64, x float64) {\nfor j := range list {\nlist[j] += x*float64(j)\n}\n}", f)
		g.slices(f+`(xs, NUM)`, "xs[1]+2*xs[2]")
	}},
	{name: "callee fills a slice and returns", class: memory, add: func(g *grower) {
		f := g.fresh("fill")
		g.decl("func %s(list []float64, x float64) float64 {\nfor j := range list {\nlist[j] += x*float64(j)\n}\nreturn x\n}", f)
		g.slices("one := "+f+"(xs, NUM)\nxs[0] += one", "xs[0]+xs[1]+2*xs[2]")
	}},
	{name: "callee fills a slice and logs", class: memory, add: func(g *grower) {
		f := g.fresh("fill")
		g.decl("func (t *Trainer) %[1]s(run *rl.Run, list []float64, x float64) {\nrun.Log(%[1]q, rl.Scalar(x))\nlist[0] = x\nlist[2] = x/2\n}", f)
		g.slices("t."+f+`(run, xs, NUM)`, "xs[0]+2*xs[2]")
	}},
	{name: "element of an array of arrays", class: memory, add: func(g *grower) {
		p, a := g.inside(), g.fresh("grid")
		g.put(p, "var %[1]s [2][3]float64\nfor j := range 2 {\n%[1]s[j][j+1] = %[2]s\n}\n%[1]s[0][0] += .1", a, g.num(p))
		g.sink(p, fmt.Sprintf("%[1]s[0][0]+%[1]s[0][1]+2*%[1]s[1][2]", a))
	}},
	{name: "array is a copy", class: memory, add: func(g *grower) {
		p, a := g.inside(), g.fresh("three")
		g.put(p, "%[1]s := [3]float64{.1, .2, .3}\n%[1]sb := %[1]s\n%[1]sb[1] = %[2]s", a, g.num(p))
		g.sink(p, fmt.Sprintf("%[1]s[1]+2*%[1]sb[1]", a))
	}},
	{name: "append into another slice's memory", class: memory, add: func(g *grower) {
		g.slices(`ys := append(xs[:1], NUM)`, "xs[1]+2*ys[0]")
	}},
	{name: "struct with a slice, copied", class: memory, add: func(g *grower) {
		typ := g.fresh("Box")
		g.decl("type %s struct{ list []float64 }", typ)
		g.slices(`one := `+typ+`{xs}
		two := one
		two.list[2] = NUM`, "one.list[2]+xs[0]")
	}},
	{name: "slice of a struct's array", class: memory, add: func(g *grower) {
		typ := g.fresh("Box")
		g.decl("type %s struct{ list [3]float64 }", typ)
		g.slices(`one := `+typ+`{}
		part := one.list[1:]
		part[0] = NUM
		xs[0] += one.list[1]`, "xs[0]")
	}},
	{name: "write through a pointer", class: memory, add: func(g *grower) {
		p, x := g.inside(), g.fresh("x")
		f := g.fresh("raise")
		g.decl("func %s(p *float64, x float64) { *p += x }", f)
		g.put(p, "%[1]s := .1\n%[2]s(&%[1]s, %[3]s)", x, f, g.num(p))
		g.sink(p, x)
	}},
	{name: "map of numbers", class: memory, add: func(g *grower) {
		p, m := g.inside(), g.fresh("m")
		g.put(p, "%[1]s := map[string]float64{\"a\": .1}\n%[1]sb := %[1]s\n%[1]sb[\"a\"] += %[2]s", m, g.num(p))
		g.sink(p, m+`["a"]`)
	}},
	{name: "numbers collected over steps", class: memory, add: func(g *grower) {
		xs := g.fresh("xs")
		g.apart = false
		g.put(start, "%[1]s := make([]float64, 3)\n%[1]sb := %[1]s[:2]", xs)
		g.put(step, "%[1]sb[i%%2] += %[2]s", xs, g.data(step))
		p := []place{drained, learned}[g.r.IntN(2)]
		g.sink(p, fmt.Sprintf("%[1]s[0]+2*%[1]s[1]", xs))
		g.put(p, "run.Log(%[1]q, rl.Scalar(%[1]s[2]+%[1]sb[0]))", xs)
	}},
	{name: "buffer of numbers reused", class: crossing, add: func(g *grower) {
		xs := g.fresh("buf")
		g.apart = false
		g.put(start, "%[1]s := make([]float64, 2)", xs)
		g.put(step, "%[1]s[0], %[1]s[1] = %[2]s, float64(i)\nt.Tally.AddAll(%[1]s)", xs, g.data(step))
	}},
	{name: "buffer of tensors reused", class: crossing, add: func(g *grower) {
		xs := g.fresh("buf")
		g.apart = false
		g.put(start, "%[1]s := make([]rl.Tensor, 2)", xs)
		g.put(step, "%[1]s[0], %[1]s[1] = out.Reward, act.Value\nrun.Log(%[1]q, t.sum.Call(rl.Key{}, yard.Many{All: %[1]s}))", xs)
	}},
	{name: "numbers of every step in one buffer", class: crossing, add: func(g *grower) {
		xs := g.fresh("buf")
		g.apart = false
		g.put(start, "%[1]s := make([]float64, 3)", xs)
		g.put(step, "%[1]s[i%%3] = %[2]s\n%[1]s[2]++\nrun.Log(%[1]q, rl.Scalar(%[1]s[0]+2*%[1]s[1]+3*%[1]s[2]))\nif %[1]s[0] > .3 {\nt.Slow.Params.Blend(t.Net.Params, .1)\n}", xs, g.data(step))
	}},
	{name: "buffer decides about a step", class: crossing, add: func(g *grower) {
		xs := g.fresh("buf")
		g.apart = false
		g.put(start, "%[1]s := make([]float64, 2)", xs)
		g.put(step, `%[1]s[i%%2] = run.Value(rl.Mean(%[2]s))
		if %[1]s[0] > %[1]s[1] {
			%[1]smove := t.act.Call(run.Key(%[1]q, i), out.Obs)
			out = t.Env.Step(%[1]smove.Action)
		}`, xs, g.one("act.Value", "act.LogProb", "out.Reward"))
	}},
	{name: "buffer of tensors crosses", class: crossing, styles: onRollout, add: func(g *grower) {
		xs := g.fresh("buf")
		g.apart = false
		g.put(start, "%[1]s := make([]rl.Tensor, 2)", xs)
		g.put(step, "%[1]s[i%%2] = out.Reward\nif i > 0 {\nrun.Log(%[1]q, rl.Select(out.Over, %[1]s[0], %[1]s[1]))\nif run.Value(rl.Mean(%[1]s[0])) > .3 {\nt.Slow.Params.Blend(t.Net.Params, .1)\n}\n}", xs)
		g.put(learned, "run.Log(\"%[1]send\", %[1]s[1])", xs)
	}},
	{name: "buffer crosses and is refilled", class: crossing, add: func(g *grower) {
		xs := g.fresh("buf")
		g.apart = false
		g.put(start, "%[1]s := []float64{0, 0, 0}", xs)
		g.put(step, "for j := range %[1]s {\n%[1]s[j] = %[2]s*float64(j+1)\n}\nrun.Log(%[1]q, rl.Scalar(%[1]s[2]))\nif %[1]s[1] > .4 {\nt.Slow.Params.Blend(t.Net.Params, .1)\n}", xs, g.data(step))
		g.put(drained, "t.Tally.AddAll(%s)", xs)
	}},
}

// slices adds statements on a slice xs of three numbers and uses a number of it.
// NUM and COND stand for expressions; the variables get names of their own.
func (g *grower) slices(text, use string) {
	p := g.inside()
	n := g.fresh("s")
	text = replaced(text, n, "NUM", g.num(p), "COND", g.cond(p))
	g.put(p, "xs%s := []float64{.3, .2, .1}\n%s", n, text)
	g.put(p, "ok%s := %s", n, replaced(use, n))
	g.sink(p, "ok"+n)
}

package adversary

// returnFeatures return from the middle of functions that are read through, because
// they log, act or learn.
var returnFeatures = []feature{
	{name: "return in an inner if", class: returns, add: func(g *grower) {
		g.judged("float64", `if %[2]s {
			if %[3]s {
				return .75
			}
		}
		run.Log("%[1]s", x)
		return run.Value(rl.Mean(x)) / 4`)
	}},
	{name: "return in a switch", class: returns, add: func(g *grower) {
		g.judged("float64", `switch run.Iter() %% 3 {
		case 0:
			return .9
		case 1:
			if %[2]s {
				return 1.5
			}
		}
		run.Log("%[1]s", x)
		return run.Value(rl.Mean(x)) / 4`)
	}},
	{name: "return in a tagless switch", class: returns, add: func(g *grower) {
		g.judged("float64", `switch {
		case %[2]s:
			run.Log("%[1]s a", x)
			return .9
		case %[3]s:
			return .1
		default:
			run.Log("%[1]s", x)
		}
		return run.Value(rl.Mean(x)) / 4`)
	}},
	{name: "return in a loop", class: returns, add: func(g *grower) {
		g.judged("float64", `for j := range 3 {
			run.Log("%[1]s", x)
			if run.Value(rl.Mean(x))*float64(j) > .2 {
				return float64(j)
			}
		}
		return .1`)
	}},
	{name: "return in an else", class: returns, add: func(g *grower) {
		g.judged("float64", `y := .2
		if %[2]s {
			y = .5
		} else {
			if %[3]s {
				return 1.25
			}
			y = .8
		}
		run.Log("%[1]s", x)
		return y`)
	}},
	{name: "bare return with named results", class: returns, add: func(g *grower) {
		f, p := g.fresh("judge"), g.inside()
		g.decl(`func (t *Trainer) %[1]s(run *rl.Run, x rl.Tensor) (y float64, ok bool) {
			y = .1
			if %[2]s {
				if %[3]s {
					y = .7
					return
				}
				ok = true
			}
			run.Log("%[1]s", x)
			y += .3
			return
		}`, f, g.hostCond(), g.hostCond())
		y := g.fresh("y")
		g.put(p, "%[1]s, %[1]sok := t.%[2]s(run, %[3]s)\nif %[1]sok {\n%[1]s *= 2\n}", y, f, g.tensor(p))
		g.sink(p, y)
	}},
	{name: "inner return of a void function", class: returns, add: func(g *grower) {
		f, p := g.fresh("note"), g.inside()
		g.decl(`func (t *Trainer) %[1]s(run *rl.Run, x rl.Tensor) {
			if %[2]s {
				if %[3]s {
					return
				}
				run.Log("%[1]s inner", x)
			}
			run.Log("%[1]s", x)
			t.Slow.Params.Blend(t.Net.Params, .2)
		}`, f, g.hostCond(), g.hostCond())
		g.put(p, "t.%s(run, %s)", f, g.tensor(p))
	}},
	{name: "learning returns early", class: returns, slot: "learn", add: func(g *grower) {
		g.learnApart, g.learnType = true, "int"
		g.learnTop = "if " + g.hostCond() + " {\nif " + g.hostCond() + " {\nreturn 0\n}\nrun.Log(\"half\", rl.Scalar(1))\n}\n"
		g.learnEnd = "return 1\n"
	}},
	{name: "learning returns from its loop", class: returns, slot: "learn", add: func(g *grower) {
		g.learnApart, g.learnType, g.epochs = true, "int", 3
		g.learnMid = "if u == 2 && " + g.hostCond() + " {\nreturn u\n}\n"
		g.learnEnd = "return 9\n"
		if g.style == table {
			g.learnEnd = "return 7\n"
		}
	}},
	{name: "learning is a void function with guards", class: returns, slot: "learn", add: func(g *grower) {
		g.learnApart = true
		g.learnTop = "switch {\ncase " + g.hostCond() + " && run.Iter() > 1:\nreturn\ncase run.Iter() > 90:\nrun.Log(\"late\", rl.Scalar(1))\n}\n"
	}},
}

// judged adds a function of a tensor that returns from its middle, and uses its
// result. The body may name the function and two conditions.
func (g *grower) judged(result, body string) {
	f, p := g.fresh("judge"), g.inside()
	a, b := g.hostCond(), g.hostCond()
	if g.chance(3) {
		b = "run.Value(rl.Mean(x)) > .2"
	}
	g.decl("func (t *Trainer) %[1]s(run *rl.Run, x rl.Tensor) "+result+" {\n"+body+"\n}", f, a, b)
	y := g.fresh("y")
	g.put(p, "%s := t.%s(run, %s)", y, f, g.tensor(p))
	g.sink(p, y)
}

// tupleFeatures assign several variables at once.
var tupleFeatures = []feature{
	{name: "results swapped by a callee", class: tuples, add: func(g *grower) {
		f, p := g.fresh("turn"), g.inside()
		g.decl(`func (t *Trainer) %[1]s(run *rl.Run, p, q float64) (float64, float64) {
			run.Log("%[1]s", rl.Scalar(p))
			return q, p
		}`, f)
		a, b := g.fresh("p"), g.fresh("q")
		g.put(p, "%[1]s, %[2]s := %[3]s, %[4]s\n%[1]s, %[2]s = t.%[5]s(run, %[1]s, %[2]s)", a, b, g.num(p), g.num(p), f)
		g.sink(p, a+"-2*"+b)
	}},
	{name: "tensors swapped by a callee", class: tuples, slot: "adv", styles: onRollout, add: func(g *grower) {
		f, p := g.fresh("turn"), []place{step, drained}[g.r.IntN(2)]
		g.decl(`func (t *Trainer) %[1]s(run *rl.Run, p, q rl.Tensor) (rl.Tensor, rl.Tensor) {
			run.Log("%[1]s", p)
			return q, p
		}`, f)
		a, b := g.fresh("p"), g.fresh("q")
		x, y := "b.Reward", "b.Act.Value"
		if p == step {
			x, y = "out.Reward", "act.Value"
		}
		g.put(p, "%[1]s, %[2]s := %[3]s, %[4]s\n%[1]s, %[2]s = t.%[5]s(run, %[1]s, %[2]s)\nrun.Log(%[1]q, %[1]s)", a, b, x, y, f)
		g.sink(p, "run.Value(rl.Mean("+b+"))")
		if p == drained {
			g.adv = a
		}
	}},
	{name: "results swapped by a callee of several fragments", class: tuples, add: func(g *grower) {
		f, p := g.fresh("turn"), g.inside()
		g.decl(`func (t *Trainer) %[1]s(run *rl.Run, p, q float64) (float64, float64) {
			run.Log("%[1]s", t.value.Call(rl.Key{}, t.Env.Obs()))
			t.Slow.Params.Blend(t.Net.Params, .1)
			return q, p
		}`, f)
		a, b := g.fresh("p"), g.fresh("q")
		g.put(p, "%[1]s, %[2]s := %[3]s, %[4]s\n%[1]s, %[2]s = t.%[5]s(run, %[1]s, %[2]s)", a, b, g.num(p), g.num(p), f)
		g.sink(p, a)
		g.sink(p, b)
	}},
	{name: "index and element at once", class: tuples, add: func(g *grower) {
		p := g.inside()
		xs, j := g.fresh("xs"), g.fresh("j")
		g.put(p, "%[1]s, %[2]s := []float64{.1, .2, .3}, 0\n%[2]s, %[1]s[%[2]s] = 1, %[3]s", xs, j, g.num(p))
		g.sink(p, xs+"[0]*3+"+xs+"[1]+float64("+j+")")
	}},
	{name: "numbers swapped", class: tuples, styles: anyStyle, add: func(g *grower) {
		p := g.inside()
		a, b := g.fresh("p"), g.fresh("q")
		g.put(p, "%[1]s, %[2]s := %[3]s, %[4]s\n%[1]s, %[2]s = %[2]s, %[1]s+%[2]s", a, b, g.num(p), g.num(p))
		g.sink(p, a+"-2*"+b)
	}},
	{name: "elements swapped", class: tuples, add: func(g *grower) {
		p := g.inside()
		xs := g.fresh("xs")
		g.put(p, "%[1]s := []float64{%[2]s, .5, %[3]s}\n%[1]s[0], %[1]s[2] = %[1]s[2], %[1]s[0]", xs, g.num(p), g.num(p))
		g.sink(p, xs+"[0]-2*"+xs+"[2]")
	}},
	{name: "fields rotated", class: tuples, add: func(g *grower) {
		p, typ, v := g.inside(), g.fresh("Three"), g.fresh("v")
		g.decl("type %s struct{ A, B, C float64 }", typ)
		g.put(p, "%[1]s := %[2]s{%[3]s, .5, %[4]s}\n%[1]s.A, %[1]s.B, %[1]s.C = %[1]s.B, %[1]s.C, %[1]s.A", v, typ, g.num(p), g.num(p))
		g.sink(p, v+".A-2*"+v+".B+3*"+v+".C")
	}},
}

package adversary

// exitFeatures leave the loop early, do something around it, or read other roles.
var exitFeatures = []feature{
	{name: "return on steps", class: exits, slot: "exit", styles: anyStyle, add: func(g *grower) { g.leaves("run.Steps() > 30", "return run.Err()") }},
	{name: "return on progress", class: exits, slot: "exit", styles: anyStyle, add: func(g *grower) { g.leaves("run.Progress() > .4", "return nil") }},
	{name: "return on a value", class: exits, slot: "exit", add: func(g *grower) { g.leaves("run.Iter() > 0 && HIGH > -9", "return run.Err()") }},
	{name: "break on steps", class: around, slot: "exit", styles: anyStyle, add: func(g *grower) { g.leaves("run.Steps() > 30", "break") }},
	{name: "break on progress", class: around, slot: "exit", styles: anyStyle, add: func(g *grower) { g.leaves("run.Progress() > .4", "break") }},
	{name: "break on a value", class: around, slot: "exit", add: func(g *grower) { g.leaves("run.Iter() > 0 && HIGH > -9", "break") }},
	{name: "steps before the loop", class: around, add: func(g *grower) {
		g.put(before, "for j := range 2 {\nwarm := t.act.Call(run.Key(\"warm\", j), t.Env.Obs())\nt.Env.Step(warm.Action)\n}")
	}},
	{name: "weights copied before the loop", class: around, add: func(g *grower) {
		g.put(before, "t.Slow.Params.Blend(t.Net.Params, .5)")
		g.put(learned, "run.Log(\"slow\", t.slow.Call(rl.Key{}, obs))")
	}},
	{name: "weights copied behind the loop", class: around, add: func(g *grower) {
		g.put(after, "t.Slow.Params.Blend(t.Net.Params, .5)")
	}},
	{name: "update behind the loop", class: around, styles: onRollout, add: func(g *grower) {
		g.put(after, `last := t.Env.Obs()
		move := t.act.Call(run.Key("final"), last)
		end := t.Env.Step(move.Action)
		fg, fl := t.loss.Grad(run.Key("final loss"), kit.Sample{Obs: last, Action: move.Action, Adv: end.Reward, Ret: end.Reward})
		t.opt.Apply(fg, .1)
		run.Log("final", fl)`)
	}},
	{name: "log behind the loop", class: around, styles: anyStyle, add: func(g *grower) {
		g.put(after, "run.Log(\"total\", rl.Scalar(float64(run.Steps())))")
	}},
	{name: "tally behind the loop", class: around, add: func(g *grower) {
		g.put(after, "t.Tally.Add(1)")
	}},
	{name: "role whose rate depends on the first role", class: exits, slot: "reading", styles: onRoles, add: func(g *grower) {
		g.reading = "t.Rate + .01*run.Value(rl.Mean(t.Roles[0].value.Call(rl.Key{}, obs[0])))"
	}},
	{name: "roles mixed behind their loop", class: exits, slot: "reading", styles: onRoles, add: func(g *grower) {
		g.put(learned, "t.Roles[1].Net.Params.Blend(t.Roles[2].Net.Params, .5)")
	}},
	{name: "role's weights copied to the next", class: exits, slot: "reading", styles: onRoles, add: func(g *grower) {
		g.memberTop = "if j == 2 {\nt.Roles[1].Net.Params.Blend(t.Roles[0].Net.Params, .5)\n}"
	}},
	{name: "role that judges another's observations", class: exits, slot: "reading", styles: onRoles, add: func(g *grower) {
		g.memberTop = "run.At(\"role\", j).Log(\"judged\", t.Roles[0].value.Call(rl.Key{}, obs[0]))"
	}},
}

// leaves ends the loop under a condition, in which HIGH stands for a number that an
// operation computed.
func (g *grower) leaves(cond, how string) {
	p := []place{start, drained, learned}[g.r.IntN(3)]
	if g.style == roles {
		p = []place{start, learned}[g.r.IntN(2)]
	}
	if p == start {
		g.apart = false
	}
	g.put(p, "if %s {\n%s\n}", replaced(cond, "", "HIGH", g.data(p)), how)
}

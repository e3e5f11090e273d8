package adversary

// storeFeatures learn from the kinds of replay, in place of a plain table or beside a
// rollout.
var storeFeatures = []feature{
	{name: "n-step rows", class: usual, slot: "store", styles: onTable, add: func(g *grower) {
		g.element = "yard.Row"
		g.store("*replay.Table[yard.Row]", `replay.NewTable[yard.Row](s, "replay", 40, replay.Options{NStep: `+g.one("2", "3")+`, Discount: .9})`)
		g.applies += "\nrun.Log(\"discount\", rows.Discount)"
	}},
	{name: "prioritised rows", class: usual, slot: "store", styles: onTable, add: func(g *grower) {
		g.element = "yard.Row"
		g.store("*replay.Table[yard.Row]", `replay.NewTable[yard.Row](s, "replay", 40, replay.Options{Priority: true, NStep: `+g.one("1", "2")+`, Discount: .9})`)
		g.prioritise("kit.Rank")
	}},
	{name: "sequences of a table", class: usual, slot: "store", styles: onTable, add: func(g *grower) {
		g.store("*replay.Table[kit.Step]", `replay.NewTable[kit.Step](s, "replay", 60, replay.Options{Sequence: `+g.one("2", "3")+`})`)
	}},
	{name: "sequences", class: usual, slot: "store", styles: onTable, add: func(g *grower) {
		g.sequences("false")
		if g.chance(2) {
			g.applies += "\nrun.Log(\"probability\", rows.Prob)"
		}
	}},
	{name: "prioritised sequences", class: usual, slot: "store", styles: onTable, add: func(g *grower) {
		g.sequences("true")
		f := g.fresh("rank")
		g.decl("func %s(c *rl.Ctx, reward rl.Tensor) rl.Tensor { return kit.Rank(c, kit.Last(reward)) }", f)
		g.prioritise(f)
	}},
	{name: "reservoir", class: usual, slot: "store", styles: onTable, add: func(g *grower) {
		g.store("*replay.Reservoir[kit.Step]", `replay.NewReservoir[kit.Step](s, "replay", 12)`)
	}},
	{name: "sequences beside a rollout", class: usual, slot: "store", styles: onRollout, add: func(g *grower) {
		g.sequences("false")
		g.beside("out.Over")
	}},
	{name: "reservoir beside a rollout", class: usual, slot: "store", styles: onRollout, add: func(g *grower) {
		g.store("*replay.Reservoir[kit.Step]", `replay.NewReservoir[kit.Step](s, "replay", 12)`)
		g.beside(g.one("out.Over", "out.Terminated"))
	}},
}

var onTable = []style{table}

// store sets what t.Replay is.
func (g *grower) store(typ, made string) { g.replay = component{"Replay", typ, made} }

// sequences makes t.Replay a table of sequences.
func (g *grower) sequences(priority string) {
	g.store("*replay.Sequences[kit.Step]", `replay.NewSequences[kit.Step](s, "replay", 60, replay.SequenceOptions{Length: 3, Stride: `+g.one("1", "2")+`, BurnIn: `+g.one("0", "1")+`, Priority: `+priority+`})`)
}

// prioritise gives the rows of a sample priorities, once they were learned from.
func (g *grower) prioritise(rank string) {
	g.field("rank *rl.Func[rl.Tensor, rl.Tensor]")
	g.make("t.rank = rl.NewFunc(s, \"rank\", %s)", rank)
	g.applies += "\nt.Replay.Prioritise(rows.Index, t.rank.Call(rl.Key{}, rows.Data.Reward))"
}

// beside learns from t.Replay what a critic of its own makes of it.
func (g *grower) beside(done string) {
	g.field("past *rl.Loss[kit.Sample, rl.Tensor]\npastOpt *rl.Opt")
	g.make("t.past, t.pastOpt = rl.NewLoss(s, \"past\", t.Slow.ValueLoss, t.Slow.Params), rl.NewOpt(s, \"past opt\", nn.SGD{}, t.Slow.Params)")
	g.put(step, "t.Replay.Insert(kit.Step{Obs: obs, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Over}, %s)", done)
	g.put(learned, `if t.Replay.Ready(%s) {
		old := t.Replay.Sample(run.Key("past"), 4).Data
		pg, pl := t.past.Grad(run.Key("past loss"), kit.Sample{Obs: old.Obs, Action: old.Act.Action, Adv: old.Reward, Ret: old.Reward})
		t.pastOpt.Apply(pg, .1)
		run.Log("past", pl)
	}`, g.one("1", "3"))
}

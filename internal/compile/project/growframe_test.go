package project

import (
	"fmt"
	"strings"
)

// component is a field of a trainer: its type, how the constructor makes it, and what
// that needs before.
type component struct{ name, typ, made, needs string }

var components = []component{
	{"Env", "env.Batch", "", ""},
	{"Rollout", "*replay.Rollout[kit.Step]", `replay.NewRollout[kit.Step](s, "rollout")`, ""},
	{"Replay", "*replay.Table[kit.Step]", `replay.NewTable[kit.Step](s, "replay", 40, replay.Options{PRIORITY})`, ""},
	{"Memory", "*rl.Slots[pair]", `rl.NewSlots(s, "memory", pair{zero, half})`, "pair"},
	{"Seen", "*rl.Stats", `rl.NewStats(s, "seen", 5)`, ""},
	{"Net", "*kit.Net", `kit.New(s, "net", e.Spec())`, ""},
	{"Slow", "*kit.Net", `kit.New(s, "slow", e.Spec())`, ""},
	{"act", "*rl.Func[rl.Obs, kit.Act]", `rl.NewFunc(s, "act", t.Net.Policy)`, "Net"},
	{"play", "*rl.Func[rl.Obs, kit.Act]", `rl.NewFunc(s, "play", t.Slow.Policy)`, "Slow"},
	{"value", "*rl.Func[rl.Obs, rl.Tensor]", `rl.NewFunc(s, "value", t.Net.Value)`, "Net"},
	{"slow", "*rl.Func[rl.Obs, rl.Tensor]", `rl.NewFunc(s, "slow value", t.Slow.Value)`, "Slow"},
	{"sum", "*rl.Func[many, rl.Tensor]", `rl.NewFunc(s, "sum", t.sumGraph)`, "many Seen"},
	{"rank", "*rl.Func[rl.Tensor, rl.Tensor]", `rl.NewFunc(s, "rank", kit.Rank)`, ""},
	{"loss", "*rl.Loss[kit.Sample, rl.Tensor]", `rl.NewLoss(s, "loss", t.Net.PolicyLoss, t.Net.Params)`, "Net opt"},
	{"fit", "*rl.Loss[kit.Sample, rl.Tensor]", `rl.NewLoss(s, "fit", t.Net.ValueLoss, t.Net.Params)`, "Net opt"},
	{"slowFit", "*rl.Loss[kit.Sample, rl.Tensor]", `rl.NewLoss(s, "slow fit", t.Slow.ValueLoss, t.Slow.Params)`, "Slow slowOpt"},
	{"opt", "*rl.Opt", `rl.NewOpt(s, "opt", RULE, t.Net.Params)`, "Net"},
	{"slowOpt", "*rl.Opt", `rl.NewOpt(s, "slow opt", RULE, t.Slow.Params)`, "Slow"},
	{"Members", "[]*Member", "", "Member"},
}

// declared lists declarations that a loop may have beside its trainer.
var declared = []struct{ name, text string }{
	{"pair", "// pair is two tensors of all environments.\ntype pair struct{ A, B rl.Tensor }\n"},
	{"many", "// many are added up.\ntype many struct{ All []rl.Tensor }\n"},
	{"mixed", "// mixed has fields of several fragments.\ntype mixed struct {\nbatch kit.Step\nlast rl.Obs\nseen, weight rl.Tensor\nmean float64\n}\n"},
	{"turned", "// turned changes its copy.\nfunc turned(p pair) pair {\np.A, p.B = p.B, p.A\nreturn p\n}\n"},
	{"sum", "func (t *Trainer) sumGraph(c *rl.Ctx, m many) rl.Tensor {\nreturn rl.Wrap(t.Seen.Norm(c, kit.Plus(m.All...).Node()))\n}\n"},
	{"Member", `// Member is one of several value functions.
type Member struct {
	Net, Old *kit.Net
	vote *rl.Func[rl.Obs, rl.Tensor]
	loss *rl.Loss[kit.Sample, rl.Tensor]
	opt *rl.Opt
}

func newMember(s *rl.Scope, name string, spec env.Spec) *Member {
	m := &Member{Net: kit.New(s, name, spec), Old: kit.New(s, name+" old", spec)}
	m.vote = rl.NewFunc(s, name+" vote", m.Old.Value)
	m.loss = rl.NewLoss(s, name+" loss", m.Net.ValueLoss, m.Net.Params)
	m.opt = rl.NewOpt(s, name+" opt", nn.SGD{}, m.Net.Params)
	return m
}
`},
}

// file returns the package of a loop.
func (g *grower) file(train string) string {
	for _, always := range []string{"opt", "Net", "Env"} {
		g.need[always] = true
	}
	for range 2 { // what is needed may need something itself
		for _, p := range components {
			for n := range strings.FieldsSeq(p.needs) {
				g.need[n] = g.need[n] || g.need[p.name]
			}
		}
	}
	g.need["pair"] = g.need["pair"] || g.need["turned"]
	var fields, made strings.Builder
	rule := g.one("nn.SGD{}", "nn.SGD{Momentum: .9}", "nn.Adam{Eps: .01}", "nn.RMSProp{Eps: .01}")
	priority := ""
	if g.need["priority"] {
		priority = "Priority: true"
	}
	for _, p := range components {
		if g.need[p.name] {
			fmt.Fprintf(&fields, "%s %s\n", p.name, p.typ)
			if p.made != "" {
				fmt.Fprintf(&made, "t.%s = %s\n", p.name, strings.NewReplacer("RULE", rule, "PRIORITY", priority).Replace(p.made))
			}
		}
	}
	zero := ""
	if g.need["Memory"] {
		zero = "zero := rl.FromFlat(s, make([]float32, e.Spec().Rows), e.Spec().Rows)\nhalf := rl.FromFlat(s, kit.Halves(e.Spec().Rows), e.Spec().Rows)\n"
	}
	if g.need["Members"] {
		made.WriteString("for _, name := range []string{\"a\", \"b\", \"c\"} {\nt.Members = append(t.Members, newMember(s, name, e.Spec()))\n}\n")
	}
	body := fmt.Sprintf(`
// Trainer has what the loop uses.
type Trainer struct {
%s}

// New makes a trainer of n environments.
func New(s *rl.Scope, makeEnv algo.MakeEnv, n int) (*Trainer, error) {
	e, err := makeEnv.Batch(n)
	if err != nil {
		return nil, err
	}
	t := &Trainer{Env: e}
	%s%sreturn t, nil
}

// Agent is not asked for.
func (t *Trainer) Agent() rl.Agent { return nil }

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
%sreturn run.Err()
}

%s
`, &fields, zero, &made, train, strings.Join(g.methods, "\n"))
	for _, t := range declared {
		if g.need[t.name] {
			body += t.text + "\n"
		}
	}
	return headed(body) + body
}

// imports of a loop, by the name that it uses them with.
var imports = []string{"algo", "env", "internal/compile/analyze/testdata/src/kit", "nn", "replay", "rl"}

// headed returns the beginning of a file with what it imports.
func headed(body string) string {
	var b strings.Builder
	b.WriteString("// Package random is a loop that was written at random.\npackage random\n\nimport (\n")
	for _, path := range imports {
		if name := path[strings.LastIndex(path, "/")+1:]; strings.Contains(body, name+".") {
			fmt.Fprintf(&b, "%q\n", module+path)
		}
	}
	return b.String() + ")\n"
}

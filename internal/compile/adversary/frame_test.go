package adversary

import (
	"fmt"
	"regexp"
	"strings"
)

// component is a field of every trainer that mentions it: its type, and how the
// constructor makes it.
type component struct{ name, typ, made string }

// networks come first in a constructor.
var networks = []component{
	{"Net", "*kit.Net", `kit.New(s, "net", e.Spec())`},
	{"Slow", "*kit.Net", `kit.New(s, "slow", e.Spec())`},
}

// functions come behind the features' own statements.
var functions = []component{
	{"Rollout", "*replay.Rollout[kit.Step]", `replay.NewRollout[kit.Step](s, "rollout")`},
	{"Replay", "*replay.Table[kit.Step]", `replay.NewTable[kit.Step](s, "replay", 40, replay.Options{})`},
	{"Seen", "*rl.Stats", `rl.NewStats(s, "seen", 5)`},
	{"Tally", "*yard.Tally", `yard.NewTally(s, "tally")`},
	{"act", "*rl.Func[rl.Obs, kit.Act]", `rl.NewFunc(s, "act", POLICY)`},
	{"value", "*rl.Func[rl.Obs, rl.Tensor]", `rl.NewFunc(s, "value", t.Net.Value)`},
	{"slow", "*rl.Func[rl.Obs, rl.Tensor]", `rl.NewFunc(s, "slow value", t.Slow.Value)`},
	{"sum", "*rl.Func[yard.Many, rl.Tensor]", `rl.NewFunc(s, "sum", yard.Sum)`},
	{"loss", "*rl.Loss[kit.Sample, rl.Tensor]", `rl.NewLoss(s, "loss", LOSS, t.Net.Params)`},
	{"opt", "*rl.Opt", `rl.NewOpt(s, "opt", RULE, t.Net.Params)`},
}

// file returns the source of the whole package.
func (g *grower) file() string {
	if g.style == roles {
		return g.family()
	}
	train := g.train()
	extra := strings.Join(g.makes, "\n") + "\n" + strings.Join(g.late, "\n") + "\n"
	all := train + extra + strings.Join(g.decls, "\n") + g.policy + g.loss
	var fields, made strings.Builder
	rule := g.one("nn.SGD{}", "nn.SGD{Momentum: .9}", "nn.Adam{Eps: .01}", "nn.RMSProp{Eps: .01}")
	fill := strings.NewReplacer("RULE", rule, "POLICY", g.policy, "LOSS", g.loss)
	for _, list := range [][]component{networks, functions} {
		for _, c := range list {
			if c.name == g.replay.name {
				c = g.replay
			}
			if c.name == "Slow" && mentions(all, "slow") || mentions(all, c.name) || c.name == "Net" {
				fmt.Fprintf(&fields, "%s %s\n", c.name, c.typ)
				fmt.Fprintf(&made, "t.%s = %s\n", c.name, fill.Replace(c.made))
			}
		}
		if len(list) == len(networks) {
			made.WriteString(strings.Join(g.makes, "\n") + "\n")
		}
	}
	made.WriteString(strings.Join(g.late, "\n") + "\n")
	body := fmt.Sprintf(`
// Trainer has what the loop uses.
type Trainer struct {
	Horizon, Kind int
	Flag bool
	Rate float64
	Env env.Batch
%s%s
}

// New makes a trainer.
func New(s *rl.Scope, makeEnv algo.MakeEnv, c *job.Config) (*Trainer, error) {
	e, err := makeEnv.Batch(c.Envs)
	if err != nil {
		return nil, err
	}
	t := &Trainer{Env: e, Horizon: c.Horizon, Kind: c.Kind, Flag: c.Flag, Rate: 2e-2}
	%s
	return t, nil
}

// Agent is not asked for.
func (t *Trainer) Agent() rl.Agent { return nil }

%s

%s
`, &fields, strings.Join(g.fields, "\n"), &made, train, strings.Join(g.decls, "\n"))
	return headed(body) + body
}

// train returns the loop with the methods that it is split into.
func (g *grower) train() string {
	if !usesIndex.MatchString(g.act() + g.section(step)) {
		g.head = strings.Replace(g.head, "for i := range", "for range", 1)
	}
	collect := fmt.Sprintf(`obs := t.Env.Obs()
%s
%s
%s
out := t.Env.Step(act.Action)
%s
%s
obs = out.Obs
}
`, g.section(start), g.head, g.act(), g.section(step), g.insert())
	var methods string
	if g.apart {
		methods = "func (t *Trainer) collect(run *rl.Run) rl.Obs {\n" + collect + "return obs\n}\n\n"
		collect = "obs := t.collect(run)\n"
	}
	if g.style != table {
		collect += "b := t.Rollout.Drain()\n"
	}
	rate, local := g.one("1e-2", "t.Rate", "t.Rate", "t.Rate*(1-run.Progress()/2)"), ""
	if g.rate {
		rate, local = "rate", "rate := t.Rate\n"
	}
	drain, end := g.section(drained), g.section(learned)
	learn, method := g.learn(rate)
	if !mentionsObs(drain + learn + end) {
		end += "run.Log(\"end\", t.value.Call(rl.Key{}, obs))\n"
	}
	return fmt.Sprintf(`//weft:train
func (t *Trainer) Train(run *rl.Run) error {
%sfor run.Next() {
%s%s%s%s%s}
%sreturn run.Err()
}

%s%s`, g.section(before), local, collect, drain, learn, end, g.section(after), methods, method)
}

var usesIndex = regexp.MustCompile(`\bi\b`)

// act returns the statements that declare act.
func (g *grower) act() string {
	if g.acting != "" {
		return g.acting
	}
	return fmt.Sprintf("act := t.act.Call(%s, obs)", g.actKey)
}

// insert stores a step.
func (g *grower) insert() string {
	element := g.element + "{Obs: obs, Act: act, Reward: out.Reward, Terminated: out.Terminated, Over: out.Over}"
	if g.row != "" {
		element = g.row
	}
	if g.style == table {
		return fmt.Sprintf("t.Replay.Insert(%s, out.Over)", element)
	}
	return fmt.Sprintf("t.Rollout.Insert(%s)", element)
}

// learn returns the statements that learn, and the method that they call.
func (g *grower) learn(rate string) (text, method string) {
	update := func(sample, key string) string {
		apply := strings.ReplaceAll(g.applies, "RATE", rate)
		if g.learnApart {
			apply = strings.ReplaceAll(g.applies, "RATE", "rate")
		}
		return fmt.Sprintf("g, loss := t.loss.Grad(%s, %s)\n%s%s\nrun.Log(\"loss\", loss)\n", key, sample, g.learnMid, apply)
	}
	sample := fmt.Sprintf("kit.Sample{Obs: b.Obs, Action: b.Act.Action, Adv: %s, Ret: %s}", g.adv, g.ret)
	args, params := "run, b, "+rate, "run *rl.Run, b kit.Step, rate float64"
	if g.adv != "b.Reward" || g.ret != "b.Reward" {
		args, params = "run, b, "+g.adv+", "+g.ret+", "+rate, "run *rl.Run, b kit.Step, adv, ret rl.Tensor, rate float64"
		if g.learnApart {
			sample = "kit.Sample{Obs: b.Obs, Action: b.Act.Action, Adv: adv, Ret: ret}"
		}
	}
	switch {
	case g.style == table:
		args, params = "run, "+rate, "run *rl.Run, rate float64"
		data := "rows.Data"
		text = fmt.Sprintf("if t.Replay.Ready(6) {\nfor u := range %d {\nrows := t.Replay.Sample(run.Key(\"sample\", u), 5)\n%s}\n}\n", g.epochs,
			update(fmt.Sprintf("kit.Sample{Obs: %[1]s.Obs, Action: %[1]s.%[2]s, Adv: %[1]s.Reward, Ret: %[1]s.Reward}", data, g.action), `run.Key("loss", u)`))
	case g.style == minibatch:
		text = fmt.Sprintf("all := %s\nfor u := range %d {\nfor m := range 2 {\npart := replay.Take(all, run.Key(\"shuffle\", u), %s, m, 2)\n%s}\n}\n",
			sample, g.epochs, g.one("replay.ByStep", "replay.ByEnv"), update("part", `run.Key("loss", u, m)`))
	case g.epochs > 1:
		text = fmt.Sprintf("for u := range %d {\n%s}\n", g.epochs, update(sample, `run.Key("loss", u)`))
	default:
		text = update(sample, `run.Key("loss")`)
	}
	if !g.learnApart {
		return text, ""
	}
	method = fmt.Sprintf("func (t *Trainer) learn(%s) %s {\n%s%s%s}\n", params, g.learnType, g.learnTop, text, g.learnEnd)
	call := fmt.Sprintf("t.learn(%s)\n", args)
	if g.learnType != "" {
		call = fmt.Sprintf("did := t.learn(%s)\nrun.Log(\"did\", rl.Scalar(float64(did)))\n", args)
	}
	return call, method
}

func mentionsObs(text string) bool {
	for _, w := range []string{", obs)", "(obs)", "obs,", "obs."} {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

const module = "github.com/weft-rl/weft/"

// imports lists what a loop may import, by path.
var imports = []string{
	"bytes", "errors", "fmt", "maps", "math", "slices", "sort", "strconv", "strings",
	module + "algo", module + "env", module + "internal/compile/adversary/testdata/src/job",
	module + "internal/compile/adversary/testdata/src/yard", module + "internal/compile/analyze/testdata/src/kit",
	module + "nn", module + "replay", module + "rl",
}

// headed returns the beginning of a file, with the imports that its body needs.
func headed(body string) string {
	var b strings.Builder
	b.WriteString("// Package frame is a generated loop.\npackage frame\n\nimport (\n")
	for _, path := range imports {
		if name := path[strings.LastIndex(path, "/")+1:]; qualifies(body, name) {
			fmt.Fprintf(&b, "%q\n", path)
		}
	}
	return b.String() + ")\n"
}

// qualifies reports whether a body names something of a package.
func qualifies(body, name string) bool {
	for at := 0; ; at++ {
		i := strings.Index(body[at:], name+".")
		if i < 0 {
			return false
		}
		if at += i; at == 0 || !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._\"", rune(body[at-1])) {
			return true
		}
	}
}

package export_test

import (
	"cmp"
	"math"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/rl"
)

// TestReturn: a policy that onnxruntime runs has the return that weft eval finds, for every
// algorithm.
func TestReturn(t *testing.T) {
	run := startRuntime(t)
	done := map[string]bool{}
	for _, s := range subjects(t) {
		if done[s.algorithm.Name] {
			continue // the first one is the trial itself
		}
		done[s.algorithm.Name] = true
		s.env = cmp.Or(s.env, played(s))
		t.Run(s.String(), func(t *testing.T) {
			p, j := trained(t, s)
			g, err := p.Graph(1)
			if err != nil {
				t.Fatal(err)
			}
			want, err := runner.EvaluateRun(t.Context(), j, runner.PreferBest, true, 20)
			if err != nil {
				t.Fatal(err)
			}
			scope := rl.NewScope(j.Device, j.Seed)
			var team rl.Team
			for i, spec := range p.Specs() {
				team = append(team, &elsewhere{run, written(t, s, p), scope, g, i, prefix(p, spec)})
			}
			got, err := runner.Evaluate(t.Context(), scope, j, team, 20, true)
			if err != nil {
				t.Fatal(err)
			}
			if got.Episodes != want.Episodes || got.Length != want.Length || !(math.Abs(got.Mean-want.Mean) <= 1e-3*max(1, math.Abs(want.Mean))) {
				t.Errorf("onnxruntime: %+v, weft eval: %+v", got, want)
			}
		})
	}
}

// played returns the environment that the data are of which a subject learns from alone.
func played(s subject) string {
	for _, x := range s.set {
		switch data, _ := strings.CutPrefix(x, "data=debug:"); {
		case strings.HasPrefix(data, "continuous"):
			return "IdentityContinuous-v0"
		case strings.HasPrefix(data, "identity"):
			return "Identity-v0"
		}
	}
	return ""
}

// elsewhere is an agent that onnxruntime runs. The model acts for all kinds; what other kinds see
// does not matter to this one.
type elsewhere struct {
	run    *onnxruntime
	model  string
	scope  *rl.Scope
	graph  runner.Graph
	kind   int
	prefix string
}

// Memory returns what the graph says.
func (e *elsewhere) Memory(n int) rl.Tree {
	var names []string
	var leaves []rl.Tensor
	for _, in := range e.graph.In {
		if name, ok := strings.CutPrefix(in.Name, e.prefix+"memory"); ok && in.Fresh.Ok() {
			parts := make([]rl.Tensor, n)
			for i := range parts {
				parts[i] = in.Fresh
			}
			names, leaves = append(names, strings.TrimPrefix(name, ".")), append(leaves, rl.System.Concat(parts))
		}
	}
	return rl.NewTree(names, leaves)
}

func (e *elsewhere) Act(_ rl.Key, obs rl.Obs, mem rl.Tree, _ bool) (action, next rl.Tree) {
	in := e.inputs(obs, mem)
	out, _ := e.run.run(e.model, in)
	var names, memories []string
	var leaves, remembered []rl.Tensor
	for _, o := range e.graph.Out {
		t := out[o.Name].tensor(e.scope.Device())
		if name, ok := strings.CutPrefix(o.Name, e.prefix+"action"); ok {
			names, leaves = append(names, strings.TrimPrefix(name, ".")), append(leaves, t)
		}
		if name, ok := strings.CutPrefix(o.Name, e.prefix+"next_memory"); ok {
			memories, remembered = append(memories, strings.TrimPrefix(name, ".")), append(remembered, t)
		}
	}
	return rl.NewTree(names, leaves), rl.NewTree(memories, remembered)
}

// inputs returns what the model takes. Other kinds see zeros.
func (e *elsewhere) inputs(obs rl.Obs, mem rl.Tree) (in []array) {
	own := map[string]rl.Tensor{}
	put := func(name string, t rl.Tree) {
		for i, leaf := range t.Names() {
			own[strings.TrimSuffix(e.prefix+name+"."+leaf, ".")] = t.At(i)
		}
	}
	put("obs", obs.X)
	put("legal", obs.Legal)
	put("memory", mem)
	own[e.prefix+"first"], own[e.prefix+"state"], own[e.prefix+"alive"], own[e.prefix+"turn"] = obs.First, obs.State, obs.Alive, obs.Turn
	rows := obs.First.Rows()
	for _, x := range e.graph.In {
		if t, ok := own[x.Name]; ok && t.Ok() {
			in = append(in, arrayOf(x.Name, t))
			continue
		}
		shape := x.Shape.Clone()
		shape.Dimensions[0] = rows
		in = append(in, arrayOf(x.Name, rl.System.Adopt(e.scope.Device(), shape, make([]byte, shape.ByteSize()))))
	}
	return in
}

package nn_test

import (
	"strings"
	"testing"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// two returns a kind of two agents that choose, and one agent that acts in a box.
func two(kind int) nn.JointActorCritic {
	return nn.JointActorCritic{
		Kind: kind, Critics: 2, MLP: nn.MLP{Hidden: []int{4}}, Number: true, Temperature: 1,
		Kinds: []nn.KindView{
			{Obs: rl.Box{Dims: []int{1}}, Action: rl.Discrete{N: 2, Start: 3}, Agents: 2},
			{Obs: rl.Box{Dims: []int{2}}, Action: rl.Box{Low: []float64{0}, High: []float64{4}, Dims: []int{1}}},
		},
	}
}

// TestJoin: critics see the observations of all agents and then their actions, as numbers; each
// agent of the own kind sees itself doing what its policy does now and the others what they did.
func TestJoin(t *testing.T) {
	s := scope(t)
	obs := []rl.Obs{{X: rl.One(rl.FromFlat(s, []float32{.1, .2}, 1, 2, 1))}, {X: rl.One(rl.FromFlat(s, []float32{.3, .4}, 1, 2))}}
	actions := []rl.Tree{rl.One(rl.FromFlat(s, []int32{4, 3}, 1, 2)), rl.One(rl.FromFlat(s, []float32{3}, 1, 1))}
	type in struct {
		Obs    []rl.Obs
		Action []rl.Tree
		Mine   rl.Tensor
	}
	for _, x := range []struct {
		name string
		kind int
		mine rl.Tensor
		want []float64
	}{
		{"did, of two", 0, rl.Tensor{}, []float64{.1, .2, .3, .4, 0, 1, 1, 0, .5, .1, .2, .3, .4, 0, 1, 1, 0, .5}},
		{"did, of one", 1, rl.Tensor{}, []float64{.1, .2, .3, .4, 0, 1, 1, 0, .5}},
		{"does, of two", 0, rl.FromFlat(s, []float32{.9, .8, .7, .6}, 1, 2, 2), []float64{
			.1, .2, .3, .4, .9, .8, 1, 0, .5,
			.1, .2, .3, .4, 0, 1, .7, .6, .5,
		}},
		{"does, of one", 1, rl.FromFlat(s, []float32{-.5}, 1, 1), []float64{.1, .2, .3, .4, 0, 1, 1, 0, -.5}},
	} {
		j := two(x.kind)
		f := rl.NewFunc(s, x.name, func(_ *rl.Ctx, x in) rl.Tensor {
			var mine *node
			if x.Mine.Ok() {
				mine = x.Mine.Node()
			}
			return rl.Wrap(j.Join(x.Obs, j.Actions(x.Action), mine))
		})
		near(t, x.name, rl.Floats(f.Call(rl.Key{}, in{obs, actions, x.mine})), x.want, 1e-6)
	}
}

// TestJointActorCritic: networks have an output for every agent, and numbers tell agents apart.
func TestJointActorCritic(t *testing.T) {
	s := scope(t)
	for kind, rows := range []int{2, 1} {
		j := two(kind)
		policy, critics := rl.NewParams(s, "policy "+string(rune('a'+kind)), j.InitPolicy), rl.NewParams(s, "critics "+string(rune('a'+kind)), j.InitCritics)
		if inputs := 9 + 2*(rows-1); len(weights(critics)["q1/hidden_0/weights"]) != inputs*4 || len(weights(critics)["q2/out/weights"]) != 4 {
			t.Errorf("kind %d: critics %v, want %d inputs", kind, critics.Paths(), inputs)
		}
		f := rl.NewFunc(s, policy.Name(), func(c *rl.Ctx, obs rl.Obs) rl.Tensor { return rl.Wrap(j.Policy(c, c.Scope(policy), obs)) })
		see := rl.FromFlat(s, []float32{.5, .5}, 1, 2, 1)
		if kind == 1 {
			see = rl.FromFlat(s, []float32{.5, .5}, 1, 2)
		}
		if got := rl.Floats(f.Call(rl.Key{}, rl.Obs{X: rl.One(see)})); kind == 0 && (len(got) != 4 || got[0] == got[2]) || kind == 1 && len(got) != 1 {
			t.Errorf("kind %d: outputs %v", kind, got)
		}
	}
	j := two(0)
	j.Kinds[1].Action = rl.MultiBinary{N: 2}
	if err := j.Check(); err == nil || !strings.Contains(err.Error(), "boxes") || two(0).Check() != nil {
		t.Errorf("got %v", err)
	}
}

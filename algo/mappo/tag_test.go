package mappo_test

import (
	"testing"

	"github.com/weft-rl/weft/algo/mappo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/tag"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// tagEnvs is how many games are played to know what taggers get.
const tagEnvs = 200

// taggers returns what all taggers of a game get in an episode of 50 steps, on average.
func taggers(g env.Groups, act func(step int, obs []rl.Obs) []rl.Tree) (mean float64) {
	alive := make([]bool, tagEnvs)
	for i := range alive {
		alive[i] = true
	}
	obs := g.Obs()
	for step := range 50 {
		out := g.Step(act(step, obs))
		reward := rl.Floats(out[0].Reward)
		over := rl.Read[bool](out[0].Over)
		for i := range alive {
			for _, r := range reward[i*len(reward)/tagEnvs : (i+1)*len(reward)/tagEnvs] {
				if alive[i] {
					mean += r / tagEnvs
				}
			}
			alive[i] = alive[i] && !over[i]
		}
		obs = make([]rl.Obs, len(out))
		for j := range out {
			obs[j] = out[j].Obs
		}
	}
	return mean
}

// TestTagLearns: two taggers and eight runners, each kind with a policy that its
// agents share. A tag is worth 10, so 80 is all of them; moves at random come to 23.
func TestTagLearns(t *testing.T) {
	for _, policy := range []string{"learned", "random"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			o := tag.Tag.Options().(*tag.Options)
			o.Taggers, o.Runners, o.Size, o.Length, o.Reach, o.RunnerPolicy = 2, 8, 8, 50, .05, policy
			open := func() (*rl.Scope, env.Groups) {
				s := rl.NewScope(algotest.Device(t), 2)
				g, err := env.OpenGroups(s, tag.Tag, tagEnvs, o)
				if err != nil {
					t.Fatal(err)
				}
				return s, g
			}
			s, g := open()
			random := taggers(g, func(step int, obs []rl.Obs) []rl.Tree {
				return env.SampleGroups(s, g.Spec(), obs, s.Key("act").Fold(uint64(step)))
			})
			x := algotest.Trained(t, mappo.Algorithm, tag.Tag, o, 25_000, "horizon=50", "epochs=4", "agent_id=false", "learning_rate=3e-3")
			s, g = open()
			team := rl.TeamOf(x.Agent())
			trained := taggers(g, func(step int, obs []rl.Obs) (out []rl.Tree) {
				for j, member := range team {
					a, _ := member.Act(s.Key("act").Fold(uint64(step)), obs[j], rl.Tree{}, false)
					out = append(out, a)
				}
				return out
			})
			t.Logf("taggers get %.1f after training, %.1f at random", trained, random)
			if random > 30 || trained < 60 {
				t.Errorf("taggers get %.1f after training, want 60; %.1f at random, want no more than 30", trained, random)
			}
		})
	}
}

// TestTagLowered: the whole loop as one device program is the plain loop, to the bit.
func TestTagLowered(t *testing.T) {
	for _, c := range []struct {
		name    string
		options []string
	}{
		{"leave", nil}, {"stay", []string{"leave=false", "mates=2", "edge_penalty=0.1"}},
		{"random", []string{"runner_policy=random"}}, {"everybody", []string{"neighbours=0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run := func(policy string) app.Result {
				r, err := app.Train(t.Context(), app.Job{
					Algorithm: mappo.Algorithm, Env: tag.Tag, Seed: 1, Steps: 5 * 6 * 12,
					Options:    append([]string{"taggers=2", "runners=5", "size=5", "length=20", "reach=0.1"}, c.options...),
					Set:        []string{"envs=6", "horizon=12", "epochs=2", "minibatches=2", "hidden=16", "agent_id=false"},
					Deployment: plan.Deployment{Policy: policy, Workers: 1},
				})
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			want, got := run("plain"), run("gpu-only")
			if got.WeightsSHA256 != want.WeightsSHA256 || got.StateSHA256 != want.StateSHA256 || want.Episodes == 0 || got.Episodes != want.Episodes {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

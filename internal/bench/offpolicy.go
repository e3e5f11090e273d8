package bench

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// OffPolicy compares training loops that learn from a table: one environment, and an update of a
// batch every few steps.
var OffPolicy = Benchmark{
	Name:       "offpolicy",
	Doc:        "SAC and TD3 on HalfCheetah-v5, DQN on CartPole-v1: Weft beside SBX, SB3 and a torch loop",
	names:      []string{"weft", "sbx", "sb3", "torch"},
	cases:      offPolicyCases,
	contenders: offPolicyContenders,
	turn:       turn{4 * time.Second, time.Second},
}

// OffPolicySpec is the recipe of all contenders. A call takes Steps steps of the environment with
// the updates that belong to them, after Starts steps at random.
type OffPolicySpec struct {
	Algorithm string `json:"algorithm"`
	Env       string `json:"env"`
	Steps     int    `json:"steps"`
	Every     int    `json:"every"` // steps between updates
	Starts    int    `json:"starts"`
	Batch     int    `json:"batch"`
	Buffer    int    `json:"buffer"`
	Hidden    []int  `json:"hidden"`
	Preset    string `json:"-"` // preset of Weft's algorithm for all other settings; "" is the default
	Library   bool   `json:"-"` // the environment's library is installed in the peers' interpreter
}

func offPolicyCases(quick bool) []Case {
	starts := 1000
	if quick {
		starts = 300
	}
	cheetah := OffPolicySpec{
		Env: "HalfCheetah-v5", Steps: 1, Every: 1, Starts: starts, Batch: 256, Buffer: 100_000, Hidden: []int{256, 256}, Library: true,
	}
	sac, td3 := cheetah, cheetah
	sac.Algorithm, td3.Algorithm = "sac", "td3"
	dqn := OffPolicySpec{
		Algorithm: "dqn", Env: "CartPole-v1", Steps: 10, Every: 10, Starts: starts, Batch: 128, Buffer: 10_000, Hidden: []int{120, 84}, Preset: "cleanrl",
	}
	return []Case{sac.of("2x256"), td3.of("2x256"), dqn.of("120x84")}
}

// of returns the case of a recipe.
func (s OffPolicySpec) of(net string) Case {
	return Case{
		ID:    fmt.Sprintf("%s,%s", s.Algorithm, s.Env),
		Title: fmt.Sprintf("%s on %s, 1 environment, an update of %d rows every %d steps, layers of %s", s.Algorithm, s.Env, s.Batch, s.Every, net),
		Work:  float64(s.Steps), Unit: "steps/s", Spec: s,
	}
}

// tableSettings returns Weft's settings that all algorithms with a table share.
func tableSettings(envs, every, starts, batch, buffer int, hidden []int) []string {
	widths := make([]string, len(hidden))
	for i, n := range hidden {
		widths[i] = strconv.Itoa(n)
	}
	return []string{
		fmt.Sprint("envs=", envs), fmt.Sprint("train_every=", every), fmt.Sprint("learning_starts=", starts), fmt.Sprint("batch=", batch),
		fmt.Sprint("buffer=", buffer), "hidden=" + strings.Join(widths, ","),
	}
}

func offPolicyContenders(ctx context.Context, o Options) (field, error) {
	f, err := startPeers(ctx, o, offPolicyPeers)
	if err != nil || !o.wants("weft") {
		return f, err
	}
	weft := &inProcess{label: Label{Name: "weft", Path: "train"}, make: func(ctx context.Context, c Case) (program, error) {
		s := c.Spec.(OffPolicySpec)
		l := LoopSpec{Algorithm: s.Algorithm, Env: s.Env, Preset: s.Preset, Set: tableSettings(1, s.Every, s.Starts, s.Batch, s.Buffer, s.Hidden)}
		if s.Library {
			l.Options = []string{"python=" + o.Python}
		}
		t := begin(ctx, func(ctx context.Context, after func()) error {
			return o.Loop(ctx, l, LoopWay{Policy: "plain"}, "", after)
		})
		for done := 0; done < s.Starts; done += s.Every { // which are at random, as those of the peers
			if err := t.Run(); err != nil {
				t.Close()
				return nil, err
			}
		}
		return t, nil
	}}
	f.present = append([]Contender{weft}, f.present...)
	return f, nil
}

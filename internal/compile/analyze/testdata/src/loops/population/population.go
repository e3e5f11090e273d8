// Package population trains several of another package's trainers, each with its
// environments, and now and then copies the first one's weights to the others.
package population

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/base"
	"github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	"github.com/weft-rl/weft/rl"
)

type Trainer struct {
	Every   int64
	Members []*Member
	Best    *kit.Net
}

// Member is a trainer by embedding.
type Member struct {
	*base.Trainer
	Fitness *rl.Stats
}

func New(s *rl.Scope, make algo.MakeEnv, n int) (*Trainer, error) {
	t := &Trainer{Every: 32}
	for _, name := range []string{"a", "b"} {
		b, err := base.Named(s, name, make, n)
		if err != nil {
			return nil, err
		}
		t.Members = append(t.Members, &Member{b, rl.NewStats(s, name+" fitness", 0)})
		t.Best = b.Other
	}
	return t, nil
}

//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		for i, m := range t.Members {
			mine := run.At("member", i)
			roll := m.Collect(mine)
			m.Learn(mine, roll)
			m.Fitness.Update(roll.Reward)
		}
		if run.Every(t.Every) {
			t.exploit()
		}
	}
	return run.Err()
}

func (t *Trainer) exploit() {
	for _, m := range t.Members {
		m.Net.Params.Blend(t.Best.Params, .5)
	}
}

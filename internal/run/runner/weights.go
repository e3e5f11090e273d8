package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/rl"
)

// Weights says which of a run's weights are taken.
type Weights int

// The choices. Whoever takes weights from a run, to evaluate them, to start from them or to load
// them, has the first unless another is asked for.
const (
	PreferBest  Weights = iota // those that evaluated best; the newest of a run that was never evaluated
	OnlyBest                   // those that evaluated best, or an error
	NewestAlone                // those of the newest good checkpoint
)

// taken are weights that were read.
type taken struct {
	checkpoint.File
	what string // best or newest
	step int64
}

func (t taken) String() string { return fmt.Sprintf("%s weights, of step %d", t.what, t.step) }

// takeWeights reads weights of a run's folder. What it passes over it notes.
func takeWeights(ctx context.Context, dir string, which Weights, w Watcher) (t taken, err error) {
	k, err := openKept(ctx, dir, 1)
	if err != nil {
		return t, err
	}
	if which != NewestAlone {
		t.what = "best"
		t.File, _, t.step, err = k.Best()
		none := errors.Is(err, checkpoint.ErrNone)
		switch {
		case err == nil:
			return t, nil
		case which == OnlyBest && none:
			return t, fmt.Errorf("run %s has no best policy: none was evaluated yet", dir)
		case which == OnlyBest || ctx.Err() != nil:
			return t, err
		case !none:
			w.Note(fmt.Sprintf("passed over: the best weights of %s: %v", dir, err))
		}
	}
	t.what = "newest"
	var skipped []error
	t.File, t.step, skipped, err = k.Latest()
	noteSkipped(w, skipped)
	if errors.Is(err, checkpoint.ErrNone) {
		err = fmt.Errorf("run %s has no checkpoint yet", dir)
	}
	return t, err
}

// withAgent builds what a run's agent is part of, with some of its weights.
func withAgent(ctx context.Context, j Job, which Weights) (a *assembly, t taken, err error) {
	if t, err = takeWeights(ctx, j.Dir, which, j.Watch); err != nil {
		return nil, t, err
	}
	a, err = agentOf(j, t)
	return a, t, err
}

// agentOf builds what an agent is part of, with weights that were read.
func agentOf(j Job, t taken) (*assembly, error) {
	j.Plan = nil // an agent is whole wherever it was trained
	if err := withoutData(j, t.File.Meta[dataKey]); err != nil {
		return nil, err
	}
	a, err := assemble(j, nil, nil)
	if err != nil {
		return nil, err
	}
	if err = a.loadWeights(t.File); err != nil {
		return nil, errors.Join(err, a.world.Close())
	}
	return a, nil
}

// LoadPlayer loads the agent of a run. Environments outside of this program, such as Python's, need
// not be there: the checkpoint describes them. The player has what the others hold until it is
// closed.
func LoadPlayer(ctx context.Context, j Job, which Weights) (p *Player, what string, step int64, err error) {
	j = j.withDefaults()
	t, err := takeWeights(ctx, j.Dir, which, j.Watch)
	if err != nil {
		return nil, "", 0, err
	}
	a, err := agentOf(described(j, t.File.Meta[specsKey]), t)
	if err != nil {
		return nil, "", 0, err
	}
	if p, err = newPlayer(a.world.Scope(), a.world.Trainer().Agent(), a.specs); err != nil {
		return nil, "", 0, errors.Join(fmt.Errorf("algorithm %s: %w", j.Algorithm.Name, err), a.world.Close())
	}
	p.close = a.world.Close
	return p, t.what, t.step, nil
}

// errAgentless is the error of a trainer that offers no agent.
var errAgentless = errors.New("it offers no agent: its trainer's Agent returns nil")

// checkAgent returns an error if there is no agent.
func checkAgent(a rl.Agent) error {
	if a == nil {
		return errAgentless
	}
	for _, m := range rl.TeamOf(a) {
		if m == nil {
			return errAgentless
		}
	}
	return nil
}

package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/runner"
)

// Resumption says how a run goes on. The zero value goes on as it was.
type Resumption struct {
	Steps           int64 // steps to train to, those before included; 0: as many as the run was started with
	LostRecord      bool  // go on although lines of the run's record (metrics.jsonl) are lost
	OrBegin         bool  // begin again if no good checkpoint is left, and keep the old record in replaced-N of the folder
	RestartEpisodes bool  // go on with new episodes if the environment cannot save its state
	// Watch is told after every iteration, and Note in a sentence what a user should know. Both may
	// be nil.
	Watch func(Progress)
	Note  func(text string)
}

// Resume goes on with the run of a folder in this process, exactly where it stopped, to the bits of
// a run that was never interrupted. Set knows its algorithm, environment and policy: weft.Builtin()
// has the built-in ones. A finished run gives its result again. Without a good checkpoint Resume
// fails and changes nothing.
func Resume(ctx context.Context, set Set, dir string, o Resumption) (Result, error) {
	x, err := resumeIn(ctx, set, dir, o)
	if errors.As(err, new(runner.NoCheckpoint)) {
		err = fmt.Errorf("%w: with Resumption.OrBegin it begins again, and what is there is kept", err)
	}
	return resultOf(x), forGo(err, resumptionFields)
}

func resumeIn(ctx context.Context, set Set, dir string, o Resumption) (x runner.Result, err error) {
	var flags []config.Assignment
	if o.Steps != 0 {
		flags = append(flags, config.Assignment{Key: "steps", Value: fmt.Sprint(o.Steps), Source: "resumption"})
	}
	if o.RestartEpisodes {
		flags = append(flags, config.Assignment{Key: "resume", Value: "restart-episodes", Source: "resumption"})
	}
	before, err := set.Saved(dir, nil)
	if err != nil {
		return x, err
	}
	r, err := set.Saved(dir, flags)
	if err != nil {
		return x, err
	}
	kept, err := part.ReadCommitted(dir)
	if err != nil {
		return x, err
	}
	r.KeepShards(before, kept.Shards)
	release, err := request.Lock(dir)
	if err != nil {
		return x, err
	}
	defer release()
	s, err := r.GoOn(ctx, before, dir, request.Again{Begin: o.OrBegin, Lost: o.LostRecord}, observer{watch: o.Watch, note: o.Note})
	if err != nil {
		return x, err
	}
	defer func() { _ = s.Close() }() // done already, with its error, if the session ran
	return s.Run(ctx)
}

// Weights says which weights of a run are taken.
type Weights int

// The choices. weft eval and --from follow the same rule.
const (
	BestWeights   Weights = iota // those that evaluated best; the newest of a run that was never evaluated
	NewestWeights                // those of the newest good checkpoint
)

// which returns the runtime's name of the choice.
func (w Weights) which() runner.Weights {
	if w == NewestWeights {
		return runner.NewestAlone
	}
	return runner.PreferBest
}

// Trial says how a run's policy is evaluated. The zero value plays 100 episodes greedily.
type Trial struct {
	Episodes int // complete ones to play; 0: 100
	Weights  Weights
	Sample   bool // act as in training instead of greedily
	// Note is told in a sentence what a user should know; it may be nil.
	Note func(text string)
}

// Score holds the returns of a policy over complete episodes, every one in an environment of its
// own.
type Score struct {
	Steps      int64 // training steps when the weights were saved
	Episodes   int
	Unfinished int // episodes that did not end, and are not counted
	Mean, Std  float64
	Min, Max   float64
	Length     float64 // mean, in steps
}

// Evaluate plays complete episodes with the policy of a run's folder, as weft eval does.
func Evaluate(ctx context.Context, set Set, dir string, t Trial) (Score, error) {
	if t.Episodes == 0 {
		t.Episodes = 100
	}
	if t.Episodes < 0 {
		return Score{}, fmt.Errorf("Trial.Episodes: %d is not a number of episodes", t.Episodes)
	}
	j, err := agentJob(&set, dir, t.Note)
	if err != nil {
		return Score{}, forGo(err, savedFields)
	}
	e, err := runner.EvaluateRun(ctx, j, t.Weights.which(), !t.Sample, t.Episodes)
	if err != nil {
		return Score{}, forGo(err, savedFields)
	}
	return Score(e), nil
}

// Loading says how the agent of a run is loaded. The zero value has the best weights.
type Loading struct {
	Weights Weights
	// Wrapped says that the program gives observations as the run's wrappers make them, and takes
	// actions as they are before these wrappers. A run with wrappers that change either cannot be
	// loaded otherwise.
	Wrapped bool
	// Note is told in a sentence what a user should know; it may be nil.
	Note func(text string)
}

// Load loads the agent of a run's folder, wherever it was trained. Close releases its environments
// and device memory.
func Load(ctx context.Context, set Set, dir string, o Loading) (*Agent, error) {
	dir = request.RunFolder(dir)
	r, err := set.Saved(dir, nil)
	if err != nil {
		return nil, forGo(err, savedFields)
	}
	if changing := r.Found.Wrap.Changing(); len(changing) > 0 && !o.Wrapped {
		return nil, fmt.Errorf("run %s was trained with wrappers that change what its agent sees or does (%s): set Loading.Wrapped and "+
			"give it observations as they make them, or let Evaluate play it", dir, strings.Join(changing, ", "))
	}
	j, err := agentJob(&set, dir, o.Note)
	if err != nil {
		return nil, forGo(err, savedFields)
	}
	p, _, step, err := runner.LoadPlayer(ctx, j, o.Weights.which())
	if err != nil {
		return nil, forGo(err, savedFields)
	}
	return &Agent{Step: step, player: p}, nil
}

// agentJob returns the job of a run's folder, to build its agent alone.
func agentJob(s *Set, dir string, note func(string)) (j runner.Job, err error) {
	dir = request.RunFolder(dir)
	r, err := s.Saved(dir, nil)
	if err != nil {
		return j, err
	}
	r.Single = true
	if j, err = r.Job(); err != nil {
		return j, err
	}
	j.Dir, j.Watch = dir, observer{note: note}
	return j, nil
}

// Package runner runs the plain loop: one trainer, one process, everything it
// owns in one scope. It keeps the run's folder, writes checkpoints and metrics
// at consistent points, evaluates, and resumes exactly.
package runner

import (
	"context"
	"time"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/wrap"
	"github.com/weft-rl/weft/internal/profile"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/run/phase"
	"github.com/weft-rl/weft/internal/run/replicas"
	"github.com/weft-rl/weft/internal/run/timing"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// Job is one training run, completely configured.
type Job struct {
	Algorithm  algo.Algorithm
	Config     any // settings of the algorithm, set
	Env        env.Entry
	EnvOptions any       // settings of the environment, set
	Wrap       wrap.List // around the environments, in training and evaluation
	EvalWrap   wrap.List // wrappers in evaluation alone: recorders
	Device     *rl.Device
	// Open is the device of a name, where a plan gives groups devices of their own; nil
	// leaves everything to Device.
	Open  func(name string) (*rl.Device, error)
	Seed  uint64
	Steps int64
	// Pause saves and stops the run at its first cut with so many steps, as an interruption does;
	// 0 is never.
	Pause int64
	// Plan decides how the loop is distributed; nil is as it stands.
	Plan func(on plan.Problem) (plan.Plan, error)

	Dir    string // run folder; empty: nothing is kept
	Files  string // folder of what recorders in Wrap write; empty is Dir
	Resume bool   // go on from Dir's newest good checkpoint
	// OrBegin begins a run again that is to be resumed and has no good checkpoint, instead of
	// failing. What it has left is set aside.
	OrBegin bool
	// RestartEpisodes resumes with new episodes where an environment cannot save
	// its state, instead of not at all.
	RestartEpisodes bool
	// LostRecord resumes a run although lines of its record are lost.
	LostRecord bool
	From       string // run folder whose weights to start from

	// Reading ends the reading of what the run goes on or starts from, which may be in a store that
	// does not answer; nil is never.
	Reading context.Context

	CheckpointEvery time.Duration // most work that is done again after a crash, as a time
	CheckpointSteps int64         // most steps that are done again after a crash; 0: no bound
	Keep            int           // checkpoints kept

	// Storage is where stores live; nil is memory. Without a folder it is the run's.
	Storage *rl.Storage

	EvalEvery    int64 // steps between evaluations; 0: none
	EvalEpisodes int   // episodes of one; 0: none at the end either

	Part *Part // this process's part of a run; nil is the whole run

	// Profile has the time of every replica recorded. The result has it, and so has the file
	// profile.json in Dir, or else in Files.
	Profile bool

	// Trace is told of the run's phases; nil is nobody.
	Trace phase.Tracer
	// TraceParent is the W3C traceparent of the trace that the run belongs to; empty if it is not
	// traced.
	TraceParent string

	Probe *Probe // looks into the run; nil for runs that are for their own sake

	Watch Watcher
	Now   func() time.Time // the clock that paces checkpoints; it never enters a result
}

// Probe looks into a run that is made to be looked at. All functions may be nil.
type Probe struct {
	// Observe returns the observer of a replica's operations, or nil for none. The
	// plain loop is the replica 0 of group "".
	Observe func(group string, rank int) rl.Observer
	// Record returns what is to see all that a replica does, by its number.
	Record func(replica int) timing.Watch
	// Cut is called at every consistent point; rl.ErrStop ends the run there.
	Cut func(rl.Cut) error
	// Until is a number of steps that a device program stops at, so that Cut sees its
	// state; 0 is none.
	Until int64
	// Abort ends the replicas of a distributed run at once.
	Abort context.Context
	// State is called with the state that the run leaves.
	State func([]checkpoint.Array)
}

// Watcher is told how a run gets on.
type Watcher interface {
	// Begin tells how many of how many steps are done.
	Begin(done, total int64)
	// Iteration is told after every iteration.
	Iteration(Report)
	// Evaluating is told before the last evaluation, which may take long.
	Evaluating(episodes int)
	// Evaluated is told after every evaluation.
	Evaluated(Evaluation)
	// Note is told what a user should know.
	Note(text string)
	// End is told when the training is over, before the last evaluation.
	End()
}

// Report is where a run stands.
type Report struct {
	Steps, Iter, Episodes int64
	Seconds               float64
	Return                float64 // mean over the last episodes; NaN before the first
	Logs                  []rl.Logged
	Figures               []replicas.Figures // figures of replicas since the run began; valid only during the call
}

// Result is how a run ended.
type Result struct {
	Steps, Iter, Episodes      int64
	Began                      int64 // steps that were done before this process took over
	Seconds                    float64
	StepsPerSecond             float64 // rate of this process's own work, if it did any
	ReturnMean                 float64 // mean of the last episodes; NaN without any
	WeightsSHA256, StateSHA256 string  // hashes; the first is empty for an algorithm without parameters
	Interrupted                bool
	Exact                      bool               // synchronous, so that it can be repeated to the bit
	Figures                    []replicas.Figures // figures of replicas; none for the plain loop
	Dropped                    int                // items in flight that saving an asynchronous run cost
	Profile                    *profile.Profile   // how replicas spent their time; nil if it was not recorded
	Evaluation                 *Evaluation        // the last one
	Player                     *Player            // acts with the weights that it ended with; nil if there is no agent for one environment
}

func (j Job) withDefaults() Job {
	if j.CheckpointEvery == 0 {
		j.CheckpointEvery = 15 * time.Second
	}
	if j.Keep == 0 {
		j.Keep = 3
	}
	if j.Now == nil {
		j.Now = time.Now
	}
	if j.Reading == nil {
		j.Reading = context.Background()
	}
	if j.Watch == nil {
		j.Watch = Silent{}
	}
	return j
}

// Silent is a Watcher that passes nothing on.
type Silent struct{}

// Begin does nothing.
func (Silent) Begin(int64, int64) {}

// Iteration does nothing.
func (Silent) Iteration(Report) {}

// Evaluating does nothing.
func (Silent) Evaluating(int) {}

// Evaluated does nothing.
func (Silent) Evaluated(Evaluation) {}

// Note does nothing.
func (Silent) Note(string) {}

// End does nothing.
func (Silent) End() {}

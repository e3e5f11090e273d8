package runner

import (
	"time"

	"github.com/weft-rl/weft/internal/run/phase"
	"github.com/weft-rl/weft/rl"
)

// The phases of a run, as a tracer is told of them.
const (
	phasePrepare    = "prepare" // construct, plan and load
	phaseRecover    = "recover" // load a checkpoint
	phaseCompile    = "compile" // make the device program
	phaseIteration  = "iteration"
	phaseCheckpoint = "checkpoint" // from the copy of the state to the file
	phaseEvaluation = "evaluation"
)

// tracedIterations is how many iterations at the beginning of a run are traced. Of later ones it is
// one every tracedEvery.
const (
	tracedIterations = 10
	tracedEvery      = time.Second
)

// laps has the iterations of a run traced.
type laps struct {
	begun  time.Time // when the present iteration began; zero before the first
	traced time.Time // when the newest that was traced ended
	n      int       // iterations seen
}

// lap traces the iteration that ends with a cut, if it is its turn.
func (s *Session) lap(c rl.Cut) {
	if s.Trace == nil || s.laps.begun.IsZero() {
		return
	}
	now := s.Now()
	if s.laps.n++; s.laps.n > tracedIterations && now.Sub(s.laps.traced) < tracedEvery {
		return
	}
	s.laps.traced = now
	s.Trace.Begin(phaseIteration, s.laps.begun, phase.Int("iteration", c.Iter), phase.Int("step", c.Steps))(nil)
}

// lapped begins the next iteration.
func (s *Session) lapped() {
	if s.Trace != nil {
		s.laps.begun = s.Now()
	}
}

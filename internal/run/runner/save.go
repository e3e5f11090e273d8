package runner

import (
	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/run/phase"
	"github.com/weft-rl/weft/rl"
)

// A checkpoint is written while the run goes on: at the cut its state is copied, but for
// stores, of which a block is copied if it changes before it is written, and a goroutine
// encodes and writes it. There is one at a time: who wants to save
// again waits for it, and so does whoever ends the run.

// save begins to write a checkpoint of the present state.
func (s *Session) save() error {
	if err := s.settle(); err != nil {
		return err
	}
	end := phase.Begin(s.Trace, phaseCheckpoint, phase.Int("step", s.run.Steps()))
	f, state, err := s.content()
	if err != nil {
		end(err)
		return err
	}
	sync := func() error { return nil }
	if b, ok := s.sink.(metrics.Barrier); ok {
		if sync, err = b.Barrier(); err != nil {
			end(err)
			return err
		}
	}
	step, written := s.run.Steps(), make(chan error, 1)
	release := func() {}
	if s.last == nil {
		release = func() { rl.System.Release(state) }
	}
	s.taken, s.savedAt, s.writing = step, s.Now(), written
	go func() {
		err := sync() // a checkpoint must not outlive the lines before it
		if err == nil {
			err = s.vault.Save(step, f)
		}
		release()
		end(err)
		written <- err
	}()
	return nil
}

// settle waits for the checkpoint that is being written, if there is one.
func (s *Session) settle() error {
	if s.writing == nil {
		return nil
	}
	err := <-s.writing
	if s.writing = nil; err == nil {
		s.saved = s.taken
	}
	return err
}

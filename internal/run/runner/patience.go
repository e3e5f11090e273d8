package runner

import (
	"fmt"
	"sync"
	"time"

	"github.com/weft-rl/weft/rl"
)

// patience says what takes so long while a device compiles, which nothing else of
// the run can: its loop stands still meanwhile.
type patience struct {
	said map[*rl.Device]time.Duration // length of the compilation under way when it was last reported
}

// firstWord is after how long a compilation is mentioned; then it is whenever it has
// taken twice as long.
const firstWord = 10 * time.Second

// look returns what is to be said of a device that has been compiling what for so long; 0
// is one that does not.
func (p *patience) look(d *rl.Device, what string, took time.Duration) (text string, ok bool) {
	last := p.said[d]
	if took < last { // another one
		last = 0
	}
	if ok = took >= max(firstWord, 2*last); ok {
		last = took
	}
	p.said[d] = last
	return fmt.Sprintf("compiling %q, %.0f s so far", what, took.Seconds()), ok
}

// patiently runs f, and tells of compilations that take long meanwhile.
func (s *Session) patiently(f func() error) error {
	devices := s.world.Devices()
	var done sync.WaitGroup
	over := make(chan struct{})
	done.Go(func() {
		p := patience{map[*rl.Device]time.Duration{}}
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			for _, d := range devices {
				what, took := rl.System.Compiling(d)
				if text, ok := p.look(d, what, took); ok {
					s.Watch.Note(text)
				}
			}
		}
	})
	defer done.Wait()
	defer close(over)
	return f()
}

// serial is a watcher whose calls are made one after the other, from any goroutine.
type serial struct {
	mu sync.Mutex
	to Watcher
}

func (s *serial) tell(f func(Watcher)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.to)
}

func (s *serial) Begin(done, total int64) { s.tell(func(w Watcher) { w.Begin(done, total) }) }
func (s *serial) Iteration(r Report)      { s.tell(func(w Watcher) { w.Iteration(r) }) }
func (s *serial) Evaluating(n int)        { s.tell(func(w Watcher) { w.Evaluating(n) }) }
func (s *serial) Evaluated(e Evaluation)  { s.tell(func(w Watcher) { w.Evaluated(e) }) }
func (s *serial) Note(text string)        { s.tell(func(w Watcher) { w.Note(text) }) }
func (s *serial) End()                    { s.tell(func(w Watcher) { w.End() }) }

package serve

import (
	"maps"
	"sync"
	"time"
)

// Bounds are the upper bounds of Stats.Took, in seconds.
var Bounds = []float64{.0001, .0002, .0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1}

// Stats are the counts of a policy since it was first loaded.
type Stats struct {
	Policy   string
	Version  int64         // version of the newest weights
	Loads    int64         // number of times that weights were loaded
	Requests map[int]int64 // number of requests, by status
	Seconds  float64       // time that all requests took, in seconds
	Took     []uint64      // how many requests took at most Bounds[i], not counted before
	Batches  int64
	Rows     int64 // rows of all batches
}

// stats counts.
type stats struct {
	mu sync.Mutex
	Stats
}

func newStats() *stats {
	return &stats{Stats: Stats{Requests: map[int]int64{}, Took: make([]uint64, len(Bounds))}}
}

func (s *stats) loaded(step int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Version, s.Loads = step, s.Loads+1
}

func (s *stats) batch(rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Batches, s.Rows = s.Batches+1, s.Rows+int64(rows)
}

func (s *stats) request(status int, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Requests[status]++
	s.Seconds += took.Seconds()
	for i, b := range Bounds {
		if took.Seconds() <= b {
			s.Took[i]++
			return
		}
	}
}

// Stats returns the counts of all policies.
func (s *Server) Stats() (out []Stats) {
	for _, p := range s.Policies {
		p.stats.mu.Lock()
		x := p.stats.Stats
		x.Policy, x.Requests, x.Took = p.Name, maps.Clone(x.Requests), append([]uint64{}, x.Took...)
		p.stats.mu.Unlock()
		out = append(out, x)
	}
	return out
}

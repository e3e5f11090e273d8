package edge

import "time"

// Stat counts one replica's use of one edge.
type Stat struct {
	Edge     string        // its name
	Messages int64         // sent
	Received int64         // taken
	Bytes    int64         // bytes of tensors sent
	Wait     time.Duration // time spent waiting for room or for a message
	Depth    int           // most messages that waited of one sender
	Dropped  int64         // too old, or in flight when the run was saved
	// Stale and MaxStale are how many versions behind what was taken was, summed
	// and at most.
	Stale, MaxStale int64
}

// Stats returns the replica's own figures, edge by edge. The time that it did not
// wait it was busy.
func (x *X) Stats() []Stat {
	out := make([]Stat, len(x.top.Edges))
	for i := range out {
		out[i] = x.stats[i]
		out[i].Edge = x.top.Edges[i].Name
	}
	return out
}

// Wait returns how long the replica waited in all, for its runner's messages too.
func (x *X) Wait() (d time.Duration) {
	for _, s := range x.stats {
		d += s.Wait
	}
	return d
}

// stale notes how old something taken was.
func (s *Stat) stale(by int64) {
	s.Stale += by
	s.MaxStale = max(s.MaxStale, by)
}

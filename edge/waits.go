package edge

import "sync/atomic"

// waits records which replicas of a process wait, and for what. A replica that has been given what
// it waits for goes on when the machine lets it, which may be long after: by the clock it cannot be
// told from one that waits for ever. So a wait names a count that others raise above zero before
// they wake its replica, and that the replica lowers after it has noted that its wait is over.
type waits struct {
	of    []atomic.Pointer[atomic.Int32] // by replica, the count that it waits for; nil if it does not
	idle  atomic.Int32                   // replicas that wait
	ended atomic.Int64                   // waits that have ended
}

func newWaits(replicas int) waits {
	return waits{of: make([]atomic.Pointer[atomic.Int32], replicas)}
}

// begin notes that a replica waits until a count is above zero, and returns how many replicas wait.
func (w *waits) begin(replica int, count *atomic.Int32) int32 {
	w.of[replica].Store(count)
	return w.idle.Add(1)
}

// end notes that a replica's wait has ended, and returns how many replicas still wait.
func (w *waits) end(replica int) int32 {
	left := w.idle.Add(-1)
	w.ended.Add(1)
	w.of[replica].Store(nil)
	return left
}

// Stuck reports whether this process's replicas, of which so many run, all wait for each other. It
// is certain of it: if no wait has ended between its first and its last line, then nobody ran in
// between, and each count was what it read.
func (l *Local) Stuck(running int) bool {
	w := &l.waits
	ended := w.ended.Load()
	if idle := int(w.idle.Load()); idle == 0 || idle < running {
		return false
	}
	for i := range w.of {
		if count := w.of[i].Load(); count != nil && count.Load() > 0 {
			return false
		}
	}
	return w.ended.Load() == ended
}

package cost

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-rl/weft/rl"
)

// tape records one replica's program as what it computes, sends and takes, in order. It implements
// timing.Watch.
//
// Replicas that are recorded together take turns: only the one that has the baton computes, and it
// is laid down whenever a replica sends or waits. So what is recorded is the time of a computation
// by itself, whatever else the machine would have to do in a real run.
type tape struct {
	*baton
	steps []taped
	marks []int // steps before each iteration
	// learned is the iteration, counted from 0, in which a gradient was first applied; -1 before.
	learned int
	held    bool
	since   time.Time
	spent   float64 // cpuTime at that time
	own     float64 // seconds of every computation that are the tape's own
}

// taped is a step of a tape: a computation, or one message.
type taped struct {
	Step
	cpu  float64 // seconds of all threads, of a computation
	peer int     // replica, by number
}

// baton is the right to compute, which replicas that take turns hand on.
type baton struct {
	taken chan struct{} // holds one while somebody computes
	free  chan struct{} // closed when nobody takes turns any more
	once  sync.Once
	off   atomic.Bool // nothing is recorded any more
}

func newBaton() *baton { return &baton{taken: make(chan struct{}, 1), free: make(chan struct{})} }

// drop lets all replicas run as they like.
func (b *baton) drop() { b.once.Do(func() { close(b.free) }) }

// stop ends the recording: all replicas run as they do without tapes.
func (b *baton) stop() {
	b.off.Store(true)
	b.drop()
}

// patience is how long a replica may hold the baton: one that has failed never lays it down.
const patience = 20 * time.Second

func newTape(b *baton) *tape { return &tape{baton: b, learned: -1, own: taping()} }

// taping measures, once, what a computation of nothing seems to take.
var taping = sync.OnceValue(func() float64 {
	least := 1.0
	for range 8 {
		t := &tape{baton: newBaton()}
		t.drop()
		t.take()
		for range 64 {
			t.computed()
		}
		total := 0.0
		for _, s := range t.steps {
			total += s.Seconds
		}
		least = min(least, total/float64(len(t.steps)))
	}
	return least
})

// take waits for the baton, and begins to measure.
func (t *tape) take() {
	if t.off.Load() {
		return
	}
	if !t.held {
		select {
		case t.taken <- struct{}{}:
			t.held = true
		case <-t.free:
		case <-time.After(patience):
			t.drop()
		}
	}
	t.since, t.spent = time.Now(), cpuTime()
}

// lay lays the baton down.
func (t *tape) lay() {
	if t.held {
		t.held = false
		<-t.taken
	}
}

// computed records what was computed since the last step.
func (t *tape) computed() {
	if t.off.Load() {
		return
	}
	now, cpu := time.Now(), cpuTime()
	took := max(0, now.Sub(t.since).Seconds()-t.own)
	t.steps = append(t.steps, taped{Step: Step{Do: Compute, Seconds: took}, cpu: max(0, cpu-t.spent-t.own)})
	t.since, t.spent = now, cpu
}

// add records a message.
func (t *tape) add(s taped) {
	if !t.off.Load() {
		t.steps = append(t.steps, s)
	}
}

// Next begins an iteration.
func (t *tape) Next(int64) {
	if len(t.marks) > 0 {
		t.computed()
	}
	t.marks = append(t.marks, len(t.steps))
	t.take()
}

// Begin does nothing: what lies between messages is one computation.
func (t *tape) Begin() {}

// End notes whether the loop learns.
func (t *tape) End(op rl.Operation) {
	if op.Kind == "rl.Opt.Apply" && t.learned < 0 {
		t.learned = len(t.marks) - 1
	}
}

// Enter does nothing.
func (t *tape) Enter(int) {}

// Leave does nothing.
func (t *tape) Leave(int) {}

// Pause ends a computation.
func (t *tape) Pause() {
	t.computed()
	t.lay()
}

// Sent records a message.
func (t *tape) Sent(edge, to int, bytes int64, _ time.Time, _ time.Duration) {
	t.add(taped{Step: Step{Do: Send, Edge: edge, Bytes: float64(bytes)}, peer: to})
	t.take()
}

// Waited goes on after a wait.
func (t *tape) Waited(int, int, time.Time, time.Duration) { t.take() }

// Took records that a message was taken.
func (t *tape) Took(edge, from int) {
	t.computed()
	t.add(taped{Step: Step{Do: Take, Edge: edge}, peer: from})
}

package engine

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// job is a piece of work that can be cut anywhere between 0 and its size: it does [lo, hi) with the scratch memory of
// the given worker. What it computes must not depend on where it is cut or on who does it.
type job func(fr *frame, lo, hi, worker int)

// workers is the fixed pool of goroutines that help with large jobs. One execution uses it at a time; others that run
// meanwhile do their work alone, which is what they would want on a busy machine anyhow.
//
// The owner of a job works too, and waits only for chunks that somebody has begun: a helper that wakes late finds
// nothing left and costs nothing.
type workers struct {
	threads int
	busy    sync.Mutex
	started bool
	helpers []*helper
	wg      sync.WaitGroup
	stopped atomic.Bool

	// state is the number of the job (upper half) and its chunks not yet begun (lower half), in one word so that
	// nobody can begin a chunk of a job that is over.
	state       atomic.Uint64
	fn          job // these four belong to whoever has begun a chunk
	fr          *frame
	size, chunk int

	pending  atomic.Int32  // chunks not yet done
	waiting  atomic.Bool   // the owner has stopped spinning
	finished chan struct{} // wakes the owner
}

type helper struct {
	id     int
	parked atomic.Bool
	wake   chan struct{}
}

// spins is how long a goroutine looks for news before it sleeps: the steps of one program follow each other within
// microseconds, and waking a goroutine takes several.
const spins = 4000

func newWorkers(threads int) *workers {
	return &workers{threads: threads, finished: make(chan struct{}, 1)}
}

// start runs on first use, so that a backend that never meets a large operation has no goroutines.
func (w *workers) start() {
	w.started = true
	for id := 1; id < w.threads; id++ {
		h := &helper{id: id, wake: make(chan struct{}, 1)}
		w.helpers = append(w.helpers, h)
		w.wg.Add(1)
		go w.help(h)
	}
}

// stop ends the helpers and waits for them.
func (w *workers) stop() {
	w.busy.Lock()
	defer w.busy.Unlock()
	w.stopped.Store(true)
	w.rouse()
	w.wg.Wait()
}

func (w *workers) rouse() {
	for _, h := range w.helpers {
		if h.parked.CompareAndSwap(true, false) {
			h.wake <- struct{}{}
		}
	}
}

// run does the job, cut into chunks, alone if it is a single chunk.
func (w *workers) run(fr *frame, fn job, size, chunk int) {
	if size <= chunk || w.threads == 1 || !w.busy.TryLock() {
		if size > 0 {
			fn(fr, 0, size, 0)
		}
		return
	}
	defer w.busy.Unlock()
	if !w.started {
		w.start()
	}
	chunks := (size + chunk - 1) / chunk
	w.fn, w.fr, w.size, w.chunk = fn, fr, size, chunk
	w.pending.Store(int32(chunks))
	w.state.Store((w.state.Load()>>32+1)<<32 | uint64(chunks))
	w.rouse()
	for w.work(0) {
	}
	w.wait()
	w.fn, w.fr = nil, nil
}

// work begins and does one chunk; false means there was none.
func (w *workers) work(id int) bool {
	s := w.state.Load()
	left := int(uint32(s))
	if left == 0 {
		return false
	}
	if !w.state.CompareAndSwap(s, s-1) {
		return true
	}
	lo := (left - 1) * w.chunk
	w.fn(w.fr, lo, min(lo+w.chunk, w.size), id)
	if w.pending.Add(-1) == 0 && w.waiting.Load() {
		select {
		case w.finished <- struct{}{}:
		default:
		}
	}
	return true
}

func (w *workers) wait() {
	for range spins {
		if w.pending.Load() == 0 {
			return
		}
	}
	w.waiting.Store(true)
	for w.pending.Load() != 0 {
		<-w.finished
	}
	w.waiting.Store(false)
	select {
	case <-w.finished:
	default:
	}
}

func (w *workers) help(h *helper) {
	defer w.wg.Done()
	for idle := 0; !w.stopped.Load(); idle++ {
		if w.work(h.id) {
			idle = 0
			continue
		}
		if idle%64 == 63 {
			runtime.Gosched()
		}
		if idle > spins {
			w.sleep(h)
			idle = 0
		}
	}
}

// sleep parks the helper until there is work. Parking is announced before the last look, so no signal is lost.
func (w *workers) sleep(h *helper) {
	h.parked.Store(true)
	if uint32(w.state.Load()) == 0 && !w.stopped.Load() || !h.parked.CompareAndSwap(true, false) {
		<-h.wake
	}
}

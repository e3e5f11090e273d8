package engine

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// job is a piece of work that can be cut anywhere between 0 and its size: it does [lo, hi) with the
// scratch memory of the given worker. What it computes must not depend on where it is cut or on who
// does it.
type job func(fr *frame, lo, hi, worker int)

// workers is the fixed pool of goroutines that help with large jobs. One execution uses it at a
// time; others that run meanwhile do their work alone, which is what they would want on a busy
// machine anyhow.
//
// The owner of a job works too, and waits only for chunks that somebody has begun: a helper that
// wakes late finds nothing left and costs nothing.
type workers struct {
	threads int
	busy    sync.Mutex
	started bool
	helpers []*helper
	wg      sync.WaitGroup
	stopped atomic.Bool
	// others tells how many other processes compute on this machine now; nil is none.
	others atomic.Pointer[func() int]
	// share is how many goroutines, the owner included, do the job at hand; core is where the owner
	// began it.
	share, core atomic.Int32

	// state is the number of the job (upper half) and its chunks not yet begun (lower half), in one
	// word so that nobody can begin a chunk of a job that is over.
	state       atomic.Uint64
	fn          job // these four may be used by a goroutine that has begun a chunk
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
	seen   uint64    // the number of the job that it last saw
	moved  time.Time // when it last moved to another core
}

// patience is how long a goroutine looks for news before it sleeps. The steps of a program follow
// each other within microseconds, the programs of a training step within some tens of them, while
// waking a sleeping thread takes fifty or more on a virtual machine: longer than most steps.
const patience = 200 * time.Microsecond

// courtesy is how often a goroutine that looks lets others run. Oftener costs more than it is
// worth: a goroutine that yields is put at the end of a queue that all processors share.
const courtesy = 50 * time.Microsecond

// look calls ready until it is true or patience is at an end, and says which. enough ends it
// earlier.
func look(ready, enough func() bool) bool {
	var begun, yielded time.Time
	for i := 1; ; i++ {
		if ready() {
			return true
		}
		if i%64 != 0 {
			continue
		}
		now := time.Now()
		switch {
		case begun.IsZero():
			begun, yielded = now, now
		case now.Sub(begun) > patience || enough():
			return false
		case now.Sub(yielded) > courtesy:
			runtime.Gosched()
			yielded = now
		}
	}
}

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
	w.share.Store(int32(w.threads))
	w.rouse()
	w.wg.Wait()
}

func (w *workers) rouse() {
	for _, h := range w.helpers[:max(0, min(len(w.helpers), int(w.share.Load())-1))] {
		if h.parked.CompareAndSwap(true, false) {
			h.wake <- struct{}{}
		}
	}
}

// short is how many chunks a job has at most that is over before it is known whether there will be
// help.
const short = 4

// run does the job, cut into chunks, alone if it is a single chunk. While other processes compute
// it is alone too, with a job that is not short only for as long as they do.
func (w *workers) run(fr *frame, fn job, size, chunk int) {
	share := w.fair()
	if size <= chunk || w.threads == 1 || share == 1 && size <= short*chunk || !w.busy.TryLock() {
		if size > 0 {
			fn(fr, 0, size, 0)
		}
		return
	}
	defer w.busy.Unlock()
	if !w.started {
		w.start()
	}
	w.share.Store(int32(share))
	w.core.Store(int32(core()))
	chunks, chunk := even(size, chunk, w.threads)
	w.fn, w.fr, w.size, w.chunk = fn, fr, size, chunk
	w.pending.Store(int32(chunks))
	w.state.Store((w.state.Load()>>32+1)<<32 | uint64(chunks))
	w.rouse()
	for w.work(0) {
		if now := w.fair(); now != share {
			share = now
			w.share.Store(int32(share))
			w.rouse()
		}
	}
	w.wait()
	w.fn, w.fr = nil, nil
}

// Beside lets the backend know how many other processes compute on this machine, as it asks for it
// with every large operation, so that all together do not use more threads than there are cores.
// What is computed does not depend on it.
func (b *Backend) Beside(others func() int) {
	if others == nil {
		b.workers.others.Store(nil)
		return
	}
	b.workers.others.Store(&others)
}

// fair returns how many goroutines may work: where other processes compute meanwhile, this one's
// part of the cores. More would not be faster, and whoever waits for a chunk waits until its thread
// has a core again.
func (w *workers) fair() int {
	if others := w.others.Load(); others != nil {
		return max(1, w.threads/(1+(*others)()))
	}
	return w.threads
}

// even makes the chunks of a job alike, and as many for every goroutine as for the others: with two
// of them, chunks of 5, 5, 5 and 1 take as long as 10. Chunks in multiples of vectors stay so.
func even(size, chunk, threads int) (chunks, _ int) {
	chunks = (size + chunk - 1) / chunk
	if odd := chunks % threads; odd != 0 {
		chunks += threads - odd
	}
	unit := 1
	if chunk%16 == 0 {
		unit = 16
	}
	chunk = ((size+chunks-1)/chunks + unit - 1) / unit * unit
	return (size + chunk - 1) / chunk, chunk
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
	if look(func() bool { return w.pending.Load() == 0 }, func() bool { return false }) {
		return
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
	crowded := func() bool { return w.fair() <= h.id } // somebody else wants the core
	for !w.stopped.Load() {
		if !look(func() bool { return h.id < int(w.share.Load()) && w.assist(h) || w.stopped.Load() }, crowded) {
			w.sleep(h)
		}
	}
}

// stay is how long a helper keeps to its core at least: where cores are taken by others, moving
// does not end.
const stay = time.Millisecond

// assist begins and does one chunk; false means there was none. A helper on its owner's core is
// none: the two take turns there, until the kernel balances its queues. It does not look for an
// idle core for a thread that wakes where all cores were busy of late, as they are here, and
// goroutines change threads whenever the process has something else to do. In a process with
// connections that was a tenth of its time.
func (w *workers) assist(h *helper) bool {
	s := w.state.Load()
	if uint32(s) == 0 {
		return false
	}
	if h.seen != s>>32 {
		h.seen = s >> 32
		if here := core(); here >= 0 && here == int(w.core.Load()) && time.Since(h.moved) > stay {
			leave(here)
			h.moved = time.Now()
		}
	}
	return w.work(h.id)
}

// sleep parks the helper until there is work. Parking is announced before the last look, so no
// signal is lost.
func (w *workers) sleep(h *helper) {
	h.parked.Store(true)
	idle := uint32(w.state.Load()) == 0 || h.id >= int(w.share.Load())
	if idle && !w.stopped.Load() || !h.parked.CompareAndSwap(true, false) {
		<-h.wake
	}
}

package process

import (
	"context"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/run/part"
)

// record is a sink that hands rows to the coordinator, behind the run's back: who
// writes waits only when many rows are on their way.
type record struct {
	ctx context.Context
	to  part.Reporter
	in  chan entry
	end sync.WaitGroup
	off sync.Once

	mu   sync.Mutex
	err  error // first error
	size int64 // bytes of all lines
}

// entry is a line, or the wish to hear when all before it are handed over.
type entry struct {
	line []byte
	done chan struct{}
}

const (
	mostLines = 1024     // most lines on their way
	mostBatch = 64 << 10 // bytes handed over at once
	// company is how long a line waits for others. Every message takes time from the
	// cores that train: two or three processes look at it.
	company = 100 * time.Millisecond
)

func newRecord(ctx context.Context, to part.Reporter) *record {
	r := &record{ctx: ctx, to: to, in: make(chan entry, mostLines)}
	r.end.Go(r.hand)
	return r
}

// Write implements metrics.Sink.
func (r *record) Write(row metrics.Row) error {
	line, err := row.AppendJSON(nil)
	if err != nil {
		return err
	}
	if err := r.put(entry{line: line}); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.size += int64(len(line))
	return r.err
}

// Size returns the bytes of the epoch's lines so far.
func (r *record) Size() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.size
}

func (r *record) put(e entry) error {
	select {
	case r.in <- e:
		return nil
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

// flush waits until all that was written is handed over.
func (r *record) flush() error {
	done := make(chan struct{})
	if err := r.put(entry{done: done}); err != nil {
		return err
	}
	select {
	case <-done:
		return r.failure()
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

// hand hands lines over, as many at once as there are.
func (r *record) hand() {
	for e := range r.in {
		var b batch
		b.add(e)
		r.fill(&b)
		if len(b.lines) > 0 && r.failure() == nil {
			r.fail(r.to.Record(r.ctx, b.lines)) // it may be kept by who has it now
		}
		for _, c := range b.waiting {
			close(c)
		}
	}
}

// batch is lines, and who waits for them to be handed over.
type batch struct {
	lines   []byte
	waiting []chan struct{}
}

func (b *batch) add(e entry) {
	b.lines = append(b.lines, e.line...)
	if e.done != nil {
		b.waiting = append(b.waiting, e.done)
	}
}

// fill adds lines until the batch is full, or a caller waits and no line is left, or the first line
// has waited long enough.
func (r *record) fill(b *batch) {
	late := time.NewTimer(company)
	defer late.Stop()
	for len(b.lines) < mostBatch {
		select {
		case e, ok := <-r.in:
			if !ok {
				return
			}
			b.add(e)
			continue
		default:
		}
		if len(b.waiting) > 0 {
			return
		}
		select {
		case e, ok := <-r.in:
			if !ok {
				return
			}
			b.add(e)
		case <-late.C:
			return
		case <-r.ctx.Done():
			return
		}
	}
}

func (r *record) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
}

func (r *record) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Close implements metrics.Sink: it hands over what is left.
func (r *record) Close() error {
	r.off.Do(func() { close(r.in) })
	r.end.Wait()
	return r.failure()
}

package coordinator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/protocol"
)

func sameVersion(v int) error {
	if v != protocol.Version {
		return protocol.Refusal(fmt.Sprintf("the client speaks version %d of the protocol, the coordinator version %d: use the same weft", v, protocol.Version))
	}
	return nil
}

// Submit takes a run on.
func (c *coordinator) Submit(ctx context.Context, q *protocol.Submit) (*protocol.OK, error) {
	if err := sameVersion(q.Version); err != nil {
		return nil, err
	}
	if !names.MatchString(q.Name) {
		return nil, protocol.Refusal(fmt.Sprintf("%q is no name for a run: letters, digits, dots, dashes, underscores, at most 100", q.Name))
	}
	a, err := c.acting(ctx)
	if err != nil {
		return nil, err
	}
	done, err := a.admit(q)
	if err != nil {
		a.gate.Refused(protocol.Caller(ctx), protocol.Reason(err))
		return nil, err
	}
	defer done()
	s, _ := a.news.latest()
	if err := a.staged(s, q); err != nil {
		return nil, protocol.Refusal(err.Error())
	}
	e := core.Submitted{Name: q.Name, ID: q.ID, Config: q.Config, Programs: q.Programs, Secret: rand.Text(), Split: q.Split, Lost: q.Lost}
	switch old, known := find(s, q.Name); {
	case q.Resume:
		e.Again, err = a.again(q, known, old)
	case !known || old.Blank() && old.ID != q.ID:
		err = a.records.begin(q.Name, q.ID, q.Config)
	}
	if err != nil {
		return nil, protocol.Refusal(err.Error())
	}
	ok, err := a.ask(ctx, func() core.Event { return e })
	if err == nil && q.Resume {
		err = a.records.of(q.Name).configure(q.Config)
	}
	return ok, err
}

// Stop ends a run.
func (c *coordinator) Stop(ctx context.Context, q *protocol.Named) (*protocol.OK, error) {
	if err := sameVersion(q.Version); err != nil {
		return nil, err
	}
	a, err := c.acting(ctx)
	if err != nil {
		return nil, err
	}
	return a.ask(ctx, func() core.Event { return core.StopAsked{Run: q.Run, Now: q.Now} })
}

// ask tells the loop of a wish, and waits for what becomes of it.
func (a *acting) ask(ctx context.Context, wish func() core.Event) (*protocol.OK, error) {
	reply := make(chan string, 1)
	gone := protocol.Idle("it has just stopped acting")
	if !a.put(event{Event: wish(), reply: reply}) {
		return nil, gone
	}
	select {
	case text, ok := <-reply:
		switch {
		case !ok:
			return nil, gone
		case text != "":
			return nil, protocol.Refusal(text)
		}
		return &protocol.OK{}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-a.done:
		return nil, gone
	}
}

// Status tells what is known.
func (c *coordinator) Status(ctx context.Context, q *protocol.Named) (*protocol.Status, error) {
	if err := sameVersion(q.Version); err != nil {
		return nil, err
	}
	a, err := c.acting(ctx)
	if err != nil {
		return nil, err
	}
	s, _ := a.news.latest()
	s.Platform = part.Platform()
	if q.Run != "" {
		r, ok := find(s, q.Run)
		if !ok {
			r, ok = a.records.left(q.Run)
		}
		if !ok {
			return nil, unknownRun(q.Run)
		}
		s.Runs = []core.Run{r}
		return &s, a.closed(ctx, r)
	}
	s.Runs = slices.Clone(s.Runs)
	for i := range s.Runs {
		s.Runs[i] = overview(s.Runs[i])
	}
	return &s, nil
}

// closed blocks until the folder of a finished run says so and its lock is released.
func (a *acting) closed(ctx context.Context, r core.Run) error {
	if x := a.records.known(r.Name); x != nil && r.Phase.Over() {
		return x.lane.wait(ctx)
	}
	return nil
}

func unknownRun(name string) error {
	return protocol.Refusal(fmt.Sprintf("there is no run %s: weft status shows them", name))
}

// Watch sends a run whenever it has changed, until it is over.
func (c *coordinator) Watch(q *protocol.Named, to protocol.Sender[core.Run]) error {
	if err := sameVersion(q.Version); err != nil {
		return err
	}
	a, err := c.acting(to.Context())
	if err != nil {
		return err
	}
	var last core.Run
	for first := true; ; first = false {
		s, changed := a.news.latest()
		r, ok := find(s, q.Run)
		if !ok {
			return unknownRun(q.Run)
		}
		r.Config, r.Plan = "", nil
		if err := a.closed(to.Context(), r); err != nil {
			return err
		}
		if first || !reflect.DeepEqual(r, last) {
			if err := to.Send(&r); err != nil {
				return err
			}
		}
		if last = r; r.Phase.Over() {
			return nil
		}
		select {
		case <-changed:
		case <-to.Context().Done():
			return to.Context().Err()
		case <-a.done:
			return protocol.Idle("it has just stopped acting")
		}
	}
}

// Logs sends a run's log, to its end or to the run's.
func (c *coordinator) Logs(q *protocol.Named, to protocol.Sender[protocol.Chunk]) error {
	if err := sameVersion(q.Version); err != nil {
		return err
	}
	a, err := c.acting(to.Context())
	if err != nil {
		return err
	}
	s, _ := a.news.latest()
	if _, ok := find(s, q.Run); !ok {
		return unknownRun(q.Run)
	}
	file, err := os.Open(a.records.log(q.Run))
	if errors.Is(err, fs.ErrNotExist) {
		return protocol.Refusal(fmt.Sprintf("the log of run %s is not here: it is where the coordinator was that ran it", q.Run))
	}
	if err != nil {
		return err
	}
	defer file.Close()
	return a.tail(file, q, to)
}

// Record sends the lines of a run's record, as far as they are written.
func (c *coordinator) Record(q *protocol.Named, to protocol.Sender[protocol.Chunk]) error {
	if err := sameVersion(q.Version); err != nil {
		return err
	}
	a, err := c.acting(to.Context())
	if err != nil {
		return err
	}
	s, _ := a.news.latest()
	r, ok := find(s, q.Run)
	if !ok {
		r, ok = a.records.left(q.Run)
	}
	if !ok {
		return unknownRun(q.Run)
	}
	x := a.records.known(r.Name)
	if x == nil {
		x = &record{dir: filepath.Join(a.records.dir, r.Name)}
	} else if err := x.lane.wait(to.Context()); err != nil {
		return err
	}
	lines, closeAll, err := x.read()
	if err != nil {
		return err
	}
	defer closeAll()
	buffer := make([]byte, 64<<10)
	for {
		n, err := lines.Read(buffer)
		if n > 0 {
			if err := to.Send(&protocol.Chunk{Tail: buffer[:n]}); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// tail sends what a file holds, and what is added to it for as long as is asked for.
func (a *acting) tail(file io.Reader, q *protocol.Named, to protocol.Sender[protocol.Chunk]) error {
	buffer := make([]byte, 64<<10)
	for {
		s, changed := a.news.latest() // before reading: what is told at the end is there then
		if x := a.records.known(q.Run); x != nil {
			if err := x.lane.wait(to.Context()); err != nil {
				return err
			}
		}
		for {
			n, err := file.Read(buffer)
			if n > 0 {
				if err := to.Send(&protocol.Chunk{Tail: buffer[:n]}); err != nil {
					return err
				}
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
		}
		if r, ok := find(s, q.Run); !q.Follow || !ok || r.Phase.Over() {
			return nil
		}
		select {
		case <-changed:
		case <-to.Context().Done():
			return to.Context().Err()
		case <-a.done:
			return protocol.Idle("it has just stopped acting")
		}
	}
}

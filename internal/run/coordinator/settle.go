package coordinator

import (
	"errors"
	"fmt"
	"os"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/journal"
	"github.com/weft-rl/weft/internal/run/protocol"
)

// receipt is a message of a worker that was taken, and that is acknowledged, or decided
// upon, once the lines that came before it are on the disk: what is acknowledged is not
// sent again.
type receipt struct {
	message *protocol.Up
	record  *record // record of the message's run; nil if that is unknown
}

// settling limits the receipts that wait for the disk. A worker has no more messages
// under way.
const settling = 2048

// settle handles receipts in order until there are no more. As many as there are wait
// for one sync. It is apart from the reader, so that signs of life are heard while the
// disk is slow.
func (a *acting) settle(s *session, receipts <-chan receipt) {
	for first := range receipts {
		batch := []receipt{first}
		for more := true; more; {
			select {
			case x, ok := <-receipts:
				if more = ok; ok {
					batch = append(batch, x)
				}
			default:
				more = false
			}
		}
		if err := a.settleAll(s, batch); err != nil {
			a.Log.Warn(err.Error(), journal.Worker, s.name)
			s.end()
			for range receipts { // so that the reader is not kept waiting
			}
		}
	}
}

// settleAll handles some receipts after one sync.
func (a *acting) settleAll(s *session, batch []receipt) error {
	failed := map[*record]bool{}
	for _, x := range batch {
		if _, done := failed[x.record]; done || x.record == nil {
			continue
		}
		err := x.record.sync()
		if failed[x.record] = err != nil; err != nil && !errors.Is(err, os.ErrClosed) && !a.lose(x.message, err) {
			return ErrDeposed
		}
	}
	for _, x := range batch {
		if failed[x.record] {
			continue // the run or its epoch is over
		}
		if err := a.conclude(s, x); err != nil {
			return err
		}
	}
	return nil
}

// conclude acknowledges a message, or has it decided upon. What it is about is on the
// disk.
func (a *acting) conclude(s *session, x receipt) error {
	m := x.message
	switch m.Kind {
	case protocol.KindRecord, protocol.KindNote:
		a.acknowledge(s, m.Seq)
		return nil
	case protocol.KindCommit, protocol.KindDone:
		if err := x.complete(); err != nil {
			if !a.lose(m, err) {
				return ErrDeposed
			}
			return nil // the epoch is over
		}
	}
	e := s.told(m)
	if e == nil {
		return fmt.Errorf("a message of unknown kind %q", m.Kind)
	}
	if !a.put(event{Event: e}) {
		return ErrDeposed
	}
	if m.Kind != protocol.KindCommit { // which is answered
		a.acknowledge(s, m.Seq)
	}
	return nil
}

// complete checks that the record has all lines up to a checkpoint, or up to the end, and
// writes into the checkpoint's manifest how many bytes that are.
func (x receipt) complete() (err error) {
	m := x.message
	switch {
	case x.record == nil:
		return nil
	case m.Kind == protocol.KindDone:
		return x.record.whole(m.Epoch, m.Offset)
	case m.Manifest != nil:
		m.Manifest.Record, err = x.record.commit(m.Epoch, *m.Manifest)
	}
	return err
}

// lose tells the loop that lines of a run are missing, or that its record cannot be kept;
// false if the term is over.
func (a *acting) lose(m *protocol.Up, err error) bool {
	if errors.As(err, new(gap)) {
		return a.put(event{Event: core.RecordGap{Run: m.Run, Epoch: m.Epoch, Why: err.Error()}})
	}
	return a.put(event{Event: core.RecordLost{Run: m.Run, Why: err.Error()}})
}

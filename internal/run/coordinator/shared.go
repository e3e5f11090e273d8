package coordinator

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/run/durable"
	"github.com/weft-rl/weft/internal/run/protocol"
)

// All workers must have the same store: one that has another folder would fail the runs that it has
// a part in, long after it joined. So the first worker leaves a mark in its store, and every other
// one must find it there. The coordinator itself may be without access to the store.

const (
	markFile = ".mark"          // the mark in the folder of runs, for the coordinator that takes over; the store may be the same folder
	looking  = 15 * time.Second // time for a worker to read or write the mark
	absence  = 10 * time.Second // time that a new coordinator waits for workers that have the mark: as long as their leases last
)

// shared remembers which workers have seen the mark in their store.
type shared struct {
	mu      sync.Mutex
	mark    string
	who     string        // a worker that found the mark, and where
	writing chan struct{} // closed when the worker is done that is about to leave it; nil: none is
	members int           // members that have it
	until   time.Time     // when workers of an earlier coordinator have come back, or do not
}

// recall reads the mark that an earlier coordinator kept, some of whose workers may be alive.
func (s *shared) recall(dir string, alive int) {
	text, err := os.ReadFile(filepath.Join(dir, markFile))
	if err != nil || alive == 0 { // then the next worker leaves a mark
		return
	}
	s.mark, s.who, s.until = strings.TrimSpace(string(text)), "the workers that were there before have", time.Now().Add(absence)
}

// need decides what a worker has to do: nothing, to leave a mark, to look for it, or to wait for
// another that leaves one.
func (s *shared) need(h *protocol.Hello) (write, read bool, wait <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writing != nil {
		return false, false, s.writing
	}
	if s.members == 0 && time.Now().After(s.until) {
		s.mark = h.Shared.Mark // of a worker that returns; the coordinator before did not keep it
	}
	if s.mark == "" {
		s.writing = make(chan struct{})
		return true, false, nil
	}
	return false, h.Shared.Mark != s.mark, nil
}

// joined counts a worker that has the mark.
func (s *shared) joined(h *protocol.Hello, mark string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mark = mark
	s.members++
	s.who = fmt.Sprintf("worker %s has (%s on %s)", h.Name, h.Shared.Place, h.Host)
}

// wrote lets other workers look for the mark, or leave one.
func (s *shared) wrote() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.writing)
	s.writing = nil
}

// left counts a worker less.
func (s *shared) left() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members--
}

// known returns the mark, and who has it.
func (s *shared) known() (mark, who string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mark, s.who
}

// share refuses a worker whose store is not that of the others. It returns what is to be called
// when the worker has left.
func (a *acting) share(s *session, h *protocol.Hello) (left func(), err error) {
	if h.Shared == nil {
		return func() {}, nil
	}
	write, read, wait := a.shared.need(h)
	for wait != nil {
		select {
		case <-wait:
		case <-s.stream.Context().Done():
			return nil, s.stream.Context().Err()
		}
		write, read, wait = a.shared.need(h)
	}
	mark, who := a.shared.known()
	switch {
	case write:
		defer a.shared.wrote()
		mark = rand.Text()
		found, err := a.look(s, mark)
		if err == nil && found != mark {
			err = fmt.Errorf("%q is read where %q was written", found, mark)
		}
		if err == nil {
			dir := filepath.Join(a.Runs, a.Marks)
			err = errors.Join(os.MkdirAll(dir, 0o755), durable.Replace(filepath.Join(dir, markFile), []byte(mark+"\n")))
		}
		if err != nil {
			return nil, unusable(h, err)
		}
	case read:
		found, err := a.look(s, "")
		if err != nil {
			return nil, unusable(h, err)
		}
		if found != mark {
			return nil, protocol.Refusal(fmt.Sprintf("its --store (%s on %s) is not the one that %s: all workers must see the same files; mount that folder here and name it with --store, or give all of them one s3:// address", h.Shared.Place, h.Host, who))
		}
	}
	a.shared.joined(h, mark)
	return a.shared.left, nil
}

// unusable returns the answer to a worker that cannot use its store now.
func unusable(h *protocol.Hello, err error) error {
	return protocol.Idle(fmt.Sprintf("worker %s cannot use its --store (%s on %s): %v", h.Name, h.Shared.Place, h.Host, err))
}

// look asks a worker to leave a mark in its store, if mark is not empty, and returns the mark that
// the worker finds there then.
func (a *acting) look(s *session, mark string) (found string, err error) {
	if err := s.stream.Send(&protocol.Down{Kind: protocol.KindLook, Text: mark}); err != nil {
		return "", err
	}
	answer := make(chan *protocol.Up, 1)
	a.readers.Go(func() { // until the stream ends, which it does when nobody waits any more
		if m, err := s.stream.Recv(); err == nil {
			answer <- m
		}
		close(answer)
	})
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return "", errors.New("the connection broke")
		case m.Kind == protocol.KindFailed:
			return "", errors.New(m.Text)
		case m.Kind != protocol.KindMark:
			return "", fmt.Errorf("it says %q instead of what it found", m.Kind)
		}
		return m.Text, nil
	case <-time.After(looking):
		return "", fmt.Errorf("it did not answer within %v", looking)
	case <-s.stream.Context().Done():
		return "", s.stream.Context().Err()
	case <-a.done:
		return "", ErrDeposed
	}
}

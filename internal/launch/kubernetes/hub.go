package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/launch/local"
)

// net5 dials within five seconds.
var net5 = net.Dialer{Timeout: 5 * time.Second}

// hub has the leading pod's links to the others.
type hub struct {
	job   string
	seats []*seat // by index; that of the leading pod is not used

	mu      sync.Mutex
	changed chan struct{} // closed, and made anew, when a pod comes or goes
}

// seat is the place of a pod, which may be made anew.
type seat struct {
	hub  *hub
	pod  *link // nil while no pod is there
	node string
	runs *remote // process that the pod was told to run, and has not ended
	left bool    // the pod is told to leave its node
}

// remote is a process of another pod.
type remote struct {
	tail *local.Tail
	end  chan ended // receives how it ended; closed when its pod is lost
}

func newHub(job string, n int) *hub {
	h := &hub{job: job, changed: make(chan struct{})}
	for range n {
		h.seats = append(h.seats, &seat{hub: h})
	}
	return h
}

// serve takes pods until the listener is closed.
func (h *hub) serve(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go h.attend(newLink(conn)) // until the pod or this process ends
	}
}

// attend hears what a pod says, until it is lost.
func (h *hub) attend(l *link) {
	defer l.conn.Close()
	m, err := l.hear()
	if err != nil || m.Hello == nil || m.Hello.Job != h.job || m.Hello.Index < 1 || m.Hello.Index >= len(h.seats) {
		return // no pod of this job
	}
	s := h.seats[m.Hello.Index]
	h.update(func() {
		if s.pod != nil {
			_ = s.pod.conn.Close() // its successor is here
			s.lose()
		}
		s.pod, s.node, s.left = l, m.Hello.Node, false
	})
	done := make(chan struct{})
	defer close(done)
	go l.tick(done)
	for {
		m, err := l.hear()
		if err != nil {
			break
		}
		h.update(func() { s.take(l, m) })
	}
	h.update(func() {
		if s.pod == l {
			s.lose()
		}
	})
}

// update changes something, and tells those that wait for it.
func (h *hub) update(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
	close(h.changed)
	h.changed = make(chan struct{})
}

// take takes a message of a pod that is there.
func (s *seat) take(l *link, m message) {
	if s.pod != l {
		return
	}
	s.left = s.left || m.Leave
	if s.runs == nil {
		return
	}
	if m.Tail != "" {
		_, _ = s.runs.tail.Write([]byte(m.Tail)) // it never fails
	}
	if m.Ended != nil {
		s.runs.end <- *m.Ended
		s.runs = nil
	}
}

// lose forgets the pod of a seat.
func (s *seat) lose() {
	if s.runs != nil {
		close(s.runs.end)
	}
	s.pod, s.runs = nil, nil
}

// await blocks until something holds, which is asked under the lock.
func (h *hub) await(ctx context.Context, holds func() bool) error {
	for {
		h.mu.Lock()
		ok, changed := holds(), h.changed
		h.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// gathered blocks until so many other pods are there.
func (h *hub) gathered(ctx context.Context, n int) error {
	return h.await(ctx, func() bool {
		there := 0
		for _, s := range h.seats[1:] {
			if s.pod != nil {
				there++
			}
		}
		return there >= n
	})
}

// errLost is how a process ends whose pod is lost.
var errLost = errors.New("its pod is lost")

// launch has the seat's pod start a process, once there is one that stays.
func (s *seat) launch(ctx context.Context, what start) (*remote, error) {
	var r *remote
	err := s.hub.await(ctx, func() bool {
		if s.pod == nil || s.left || s.runs != nil {
			return false
		}
		r = &remote{tail: &local.Tail{}, end: make(chan ended, 1)}
		s.runs = r
		return true
	})
	if err != nil {
		return nil, err
	}
	s.tell(r, message{Start: &what})
	return r, nil
}

// tell sends the pod a message about a process, if it still runs.
func (s *seat) tell(r *remote, m message) {
	s.hub.mu.Lock()
	l := s.pod
	if s.runs != r {
		l = nil
	}
	s.hub.mu.Unlock()
	if l != nil {
		l.say(m)
	}
}

// wait blocks until a process has ended, and returns why, and whether that was asked for or is a
// loss of its pod.
func (r *remote) wait() (forgiven bool, err error) {
	e, ok := <-r.end
	switch {
	case !ok:
		return true, errLost
	case e.Err != "":
		return e.Killed, errors.New(e.Err)
	}
	return e.Killed, nil
}

// patience is how long a pod that is told to leave waits for the leading pod to be told the same,
// which is then a request to end the run.
const patience = 3 * time.Second

// drains calls drain for each pod that is told to leave its node, until ctx is done.
func (h *hub) drains(ctx context.Context, drain func(slot int)) {
	told := make([]*link, len(h.seats))
	for {
		var slot int
		err := h.await(ctx, func() bool {
			for i, s := range h.seats {
				if s.left && s.pod != nil && told[i] != s.pod {
					slot, told[i] = i, s.pod
					return true
				}
			}
			return false
		})
		if err != nil {
			return
		}
		select {
		case <-time.After(patience):
			drain(slot)
		case <-ctx.Done():
			return
		}
	}
}

// host returns the stable name of a pod.
func host(job string, index int) string { return fmt.Sprintf("%s-%d.%s", job, index, job) }

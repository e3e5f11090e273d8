package coordinator

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/weft-rl/weft/internal/plain"
	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/protocol"
)

// Bounds are how much clients and workers may have a coordinator keep. What goes beyond them is
// refused.
type Bounds struct {
	Runs       int   // maximum of runs that wait or are under way; 200 by default
	Submission int   // bytes of a run's configuration; 64 KiB
	Waiting    int   // bytes of the configurations of all runs that wait or are under way; 8 MiB
	Log        int64 // bytes of a run's log; 64 MiB
	Program    int64 // bytes of a program that a run brings; 512 MiB
	Programs   int64 // bytes of all of them; 4 GiB
}

// largestSubmission is well below what etcd takes of a run, of which it is a part.
const largestSubmission = 256 << 10

// Check reports bounds that a coordinator cannot work with.
func (b Bounds) Check() error {
	if b.Runs < 0 || b.Submission < 0 || b.Waiting < 0 || b.Log < 0 || b.Program < 0 || b.Programs < 0 {
		return fmt.Errorf("a bound is below 0: %+v", b)
	}
	if b.Submission > largestSubmission {
		return fmt.Errorf("a submission may have %d KiB at most, not %d", largestSubmission>>10, b.Submission>>10)
	}
	return nil
}

func (b Bounds) withDefaults() Bounds {
	return Bounds{
		cmp.Or(b.Runs, 200), cmp.Or(b.Submission, 64<<10), cmp.Or(b.Waiting, 8<<20), cmp.Or(b.Log, 64<<20),
		cmp.Or(b.Program, 512<<20), cmp.Or(b.Programs, 4<<30),
	}
}

// queue admits submissions. Those that the loop has not decided upon yet count as well, so that
// many at once do not get by.
type queue struct {
	mu    sync.Mutex
	under map[submission]int // bytes of those under way
}

// submission tells submissions apart, of which several may have one name.
type submission struct{ name, id string }

// admit takes a submission into account, or refuses it. Whoever was admitted calls done when it is
// decided upon.
func (a *acting) admit(q *protocol.Submit) (done func(), err error) {
	b := a.Bounds
	if len(q.Config) > b.Submission {
		return nil, protocol.Refusal(fmt.Sprintf("a configuration of %d bytes: at most %d are taken (--max-submission of weft coordinator)", len(q.Config), b.Submission))
	}
	a.queue.mu.Lock()
	defer a.queue.mu.Unlock()
	s, _ := a.news.latest()
	runs, bytes := 1, len(q.Config)
	for _, r := range s.Runs {
		switch {
		case r.Phase.Over():
		case r.Name == q.Name: // it is refused, or there already
			return func() {}, nil
		default:
			runs++
			bytes += len(r.Config)
		}
	}
	for key, n := range a.queue.under {
		if _, known := find(s, key.name); !known {
			runs++
			bytes += n
		}
	}
	switch {
	case runs > b.Runs:
		err = fmt.Errorf("%d runs wait or are under way, and no more are taken (--max-runs of weft coordinator): submit it when others are over, or stop some", runs-1)
	case bytes > b.Waiting:
		err = fmt.Errorf("with this one, the configurations of the runs that wait or are under way have %d bytes, and at most %d are kept (--max-waiting of weft coordinator): submit it when others are over, or stop some", bytes, b.Waiting)
	}
	if err != nil {
		return nil, protocol.Refusal(err.Error())
	}
	if a.queue.under == nil {
		a.queue.under = map[submission]int{}
	}
	key := submission{q.Name, q.ID}
	a.queue.under[key] = len(q.Config)
	return func() {
		a.queue.mu.Lock()
		defer a.queue.mu.Unlock()
		delete(a.queue.under, key)
	}, nil
}

// Bounds of what workers say.
const (
	maxNote    = 64 << 10 // bytes of a note in a run's log
	maxDevices = 64
	maxWord    = 1 << 10 // bytes of an address or a name
)

// brief returns the beginning of a text that may be long.
func brief(text string, most int) string {
	if len(text) > most {
		text = text[:most] + " [...]"
	}
	return text
}

// sane refuses a worker whose introduction holds unprintable text or claims unreasonable resources.
func sane(h *protocol.Hello) error {
	words := append([]string{h.Instance, h.Host, h.Data, h.Binary, h.Platform, h.Guest}, h.Devices...)
	if h.Shared != nil {
		words = append(words, h.Shared.Place, h.Shared.Mark)
	}
	if len(h.Devices) > maxDevices {
		return protocol.Refusal(fmt.Sprintf("worker %s has %d devices: at most %d are taken", h.Name, len(h.Devices), maxDevices))
	}
	for _, w := range words {
		if len(w) > maxWord || plain.Line(w) != w {
			return protocol.Refusal(fmt.Sprintf("worker %s introduces itself with %.100q", h.Name, w))
		}
	}
	return nil
}

// overview leaves out of a run what is for those who ask about it alone.
func overview(r core.Run) core.Run {
	r.Config, r.Plan, r.History, r.Fault, r.Progress.Metrics = "", nil, nil, "", nil
	r.Why = brief(r.Why, maxWord)
	members := make([]core.Member, len(r.Members))
	for i, m := range r.Members {
		m.Fault = ""
		members[i] = m
	}
	r.Members = members
	return r
}

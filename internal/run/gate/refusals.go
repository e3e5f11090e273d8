package gate

import (
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/plain"
)

const (
	most   = 10          // refusals that are logged in a window; the others are counted
	window = time.Minute // time in which nothing is logged twice
)

// refusals logs who was refused, without a flood.
type refusals struct {
	log func(string)

	mu    sync.Mutex
	since time.Time // beginning of the window
	said  map[string]bool
	more  int // refusals in it that were not logged
}

// note logs a refusal, or counts it.
func (r *refusals) note(who Caller, why string, now time.Time) {
	if r.log == nil {
		return
	}
	r.turn(now)
	host, _, err := net.SplitHostPort(who.Address)
	if err != nil {
		host = who.Address
	}
	key := host + " " + who.Name + " " + why
	r.mu.Lock()
	fresh := !r.said[key] && len(r.said) < most
	if fresh {
		r.said[key] = true
	} else {
		r.more++
	}
	r.mu.Unlock()
	if fresh {
		r.log(fmt.Sprintf("refused %s: %.400s", plain.Text(who.String()), plain.Text(why)))
	}
}

// turn begins another window if the last one is over, and logs how many refusals it only counted.
func (r *refusals) turn(now time.Time) {
	r.mu.Lock()
	over := now.Sub(r.since) >= window
	more, since := r.more, r.since
	if over {
		r.since, r.said, r.more = now, map[string]bool{}, 0
	}
	r.mu.Unlock()
	if over && more > 0 && r.log != nil {
		r.log(fmt.Sprintf("refused %d more since %s", more, since.Format("15:04:05")))
	}
}

package cost

import (
	"runtime"
	"slices"
	"sync"
	"time"
)

// laneLatency measures, once, the seconds from the sending of a message on a channel until its
// receiver goes on, while the sender goes on as well: another thread has to wake up.
var laneLatency = sync.OnceValue(func() float64 {
	const rounds, rest = 64, 30 * time.Microsecond
	if runtime.GOMAXPROCS(0) == 1 {
		return Here.Lane.Latency
	}
	sent, took := make(chan time.Time), make(chan float64, rounds)
	go func() {
		for t := range sent {
			took <- time.Since(t).Seconds()
		}
		close(took)
	}()
	for range rounds {
		spin(rest) // the receiver's thread goes to sleep
		sent <- time.Now()
		spin(rest)
	}
	close(sent)
	var all []float64
	for s := range took {
		all = append(all, s)
	}
	slices.Sort(all)
	return all[len(all)/4] // the machine's other work can only make it longer
})

// spin computes for some time.
func spin(d time.Duration) {
	for begin := time.Now(); time.Since(begin) < d; {
	}
}

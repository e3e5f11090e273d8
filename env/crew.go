package env

import (
	"runtime"
	"sync"
	"time"

	"github.com/weft-rl/weft/rl"
)

// crew spreads work on environments over goroutines. How many there are changes
// no result: every environment is one goroutine's, and writes its own row. They
// live as long as one step, which costs less than a microsecond each, so that
// there are none to be closed; and there is only one, the caller's, as long as a
// step is so short that others would only slow it down.
type crew struct {
	cost  time.Duration // time of all environments' last step, one after another
	hands int           // goroutines, if their number is fixed; 0: by cost
}

// worth is the work for which another goroutine is worth its start.
const worth = 50 * time.Microsecond

// size returns how many goroutines are to do n environments.
func (c *crew) size(n int) int {
	if c.hands > 0 {
		return min(n, c.hands)
	}
	return max(1, min(n, runtime.GOMAXPROCS(0), int(c.cost/worth)))
}

// do calls f for 0 to n-1. Of those that fail, the first is returned with its
// error.
func (c *crew) do(n int, f func(i int)) (failed int, err error) {
	k := c.size(n)
	shares := make([]share, k)
	var wg sync.WaitGroup
	for r := 1; r < k; r++ {
		wg.Go(func() { shares[r].run(r*n/k, (r+1)*n/k, f) })
	}
	shares[0].run(0, n/k, f)
	wg.Wait()
	c.cost = 0
	for _, s := range shares {
		c.cost += s.cost
		if err == nil && s.err != nil {
			failed, err = s.at, s.err
		}
	}
	return failed, err
}

// share is one goroutine's part of a step.
type share struct {
	at   int // environment
	cost time.Duration
	err  error
}

func (s *share) run(lo, hi int, f func(i int)) {
	begun := time.Now()
	s.err = rl.Catch(func() error {
		for s.at = lo; s.at < hi; s.at++ {
			f(s.at)
		}
		return nil
	})
	s.cost = time.Since(begun)
}

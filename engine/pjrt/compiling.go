//go:build xla

package pjrt

import (
	"slices"
	"sync"
	"time"
)

// compilations lists the compilations under way, for messages about what a call waits for.
type compilations struct {
	mu   sync.Mutex
	list []*compilation // compilations in the order in which they began
}

type compilation struct {
	name  string
	begun time.Time
}

// begin notes a compilation; end is to be called when it is over.
func (c *compilations) begin(name string) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := &compilation{name, time.Now()}
	c.list = append(c.list, x)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.list = slices.DeleteFunc(c.list, func(y *compilation) bool { return y == x })
	}
}

// Compiling returns the computation that has been compiled for longest of those that are now, and
// for how long; 0 if there is none.
func (b *Backend) Compiling() (name string, took time.Duration) {
	c := &b.compiling
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) == 0 {
		return "", 0
	}
	return c.list[0].name, time.Since(c.list[0].begun)
}

//go:build !linux

package chaos

import (
	"errors"
	"time"
)

// stepClock sets the machine's clock by d, which it can on Linux alone.
func stepClock(time.Duration) error { return errors.New("it can be set on Linux alone") }

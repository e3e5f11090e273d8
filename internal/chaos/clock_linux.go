package chaos

import (
	"time"

	"golang.org/x/sys/unix"
)

// stepClock sets the machine's clock by d.
func stepClock(d time.Duration) error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &now); err != nil {
		return err
	}
	to := unix.NsecToTimespec(now.Nano() + d.Nanoseconds())
	return unix.ClockSettime(unix.CLOCK_REALTIME, &to)
}

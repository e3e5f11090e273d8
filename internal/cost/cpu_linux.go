package cost

import "golang.org/x/sys/unix"

// cpuTime returns the seconds that all threads of this process have computed.
func cpuTime() float64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) != nil {
		return 0
	}
	return float64(t.Sec) + float64(t.Nsec)*1e-9
}

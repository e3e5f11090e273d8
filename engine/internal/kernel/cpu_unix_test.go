//go:build unix

package kernel

import "syscall"

// cpuSeconds returns the processor time this process has used: it does not count time lost to
// others on a shared machine.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + 1e-6*float64(u.Utime.Usec+u.Stime.Usec)
}

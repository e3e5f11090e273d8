package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Signals that processes are sent.
const (
	sigKill   = syscall.SIGKILL
	sigFreeze = syscall.SIGSTOP
	sigThaw   = syscall.SIGCONT
	sigDump   = syscall.SIGQUIT // has a Go program print what all its goroutines are at
)

// possible returns why faults cannot be injected here.
func possible() error { return nil }

// survived reports whether anything is left of a process's group.
func survived(cmd *exec.Cmd) bool { return syscall.Kill(-cmd.Process.Pid, 0) == nil }

// owner returns which of some processes has the local end of a TCP connection at a port; -1 if none
// has.
func owner(port int, pids []int) int {
	text, _ := os.ReadFile("/proc/net/tcp") // of this network namespace
	inode := ""
	for line := range strings.Lines(string(text)) {
		// sl local_address rem_address st queues tr:when retrnsmt uid timeout inode
		if f := strings.Fields(line); len(f) > 9 && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) && f[9] != "0" {
			inode = f[9]
		}
	}
	return slices.IndexFunc(pids, func(pid int) bool {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)) // the pattern is a good one
		return slices.ContainsFunc(files, func(file string) bool {
			to, err := os.Readlink(file)
			return err == nil && to == "socket:["+inode+"]"
		})
	})
}

package local

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Bind makes a process end with this one, even if this one is killed, and ignore the signals of its
// terminal.
func Bind(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// EndGroup kills a process that was bound, and all of its children that are left.
func EndGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // or it has ended

// Resident returns how many bytes of memory a process and its descendants have.
func Resident(pid int) (bytes int64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid)) // not there: it has ended
	if f := strings.Fields(string(text)); len(f) > 1 {
		pages, _ := strconv.ParseInt(f[1], 10, 64)
		bytes = pages * int64(os.Getpagesize())
	}
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is a good one
	for _, path := range tasks {
		text, _ := os.ReadFile(path)
		for _, child := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(child); err == nil {
				bytes += Resident(n)
			}
		}
	}
	return bytes
}

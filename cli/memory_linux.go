package cli

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// memory returns what this machine has, in bytes, or as much of it as this process's control
// group may use; 0 is unknown.
func memory() int64 {
	var all unix.Sysinfo_t
	if unix.Sysinfo(&all) != nil {
		return 0
	}
	have := int64(all.Totalram) * int64(all.Unit)
	text, _ := os.ReadFile("/sys/fs/cgroup/memory.max") // not there, or "max": no limit
	if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
		return min(have, limit)
	}
	return have
}

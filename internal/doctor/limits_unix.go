//go:build linux || darwin || freebsd

package doctor

import "golang.org/x/sys/unix"

// free returns the bytes that this user may still write into a folder.
func free(dir string) (bytes int64, known bool) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}

// openFiles returns how many files this process may have open.
func openFiles() (n uint64, known bool) {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 0, false
	}
	return uint64(l.Cur), true
}

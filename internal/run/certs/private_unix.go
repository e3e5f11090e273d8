//go:build unix

package certs

import (
	"io/fs"
	"os"
	"syscall"
)

// private reports whether a folder is this user's, and nobody else's.
func private(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Getuid() && info.Mode().Perm()&0o077 == 0
}

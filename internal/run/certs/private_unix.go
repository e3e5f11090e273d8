//go:build unix

package certs

import (
	"io/fs"
	"os"
	"syscall"
)

// private reports whether this user owns a folder and no other user can read or write it.
func private(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Getuid() && info.Mode().Perm()&0o077 == 0
}

//go:build !unix

package scratch

import "io/fs"

// owned: the folder for temporary files is the user's own.
func owned(fs.FileInfo) bool { return true }

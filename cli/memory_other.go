//go:build !linux

package cli

// memory is what this machine has, in bytes; 0 is unknown.
func memory() int64 { return 0 }

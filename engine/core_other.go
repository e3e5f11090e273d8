//go:build !linux

package engine

// core returns the core that the caller's thread runs on now; -1 is unknown.
func core() int { return -1 }

// leave would move the caller's thread from a core to another one.
func leave(int) {}

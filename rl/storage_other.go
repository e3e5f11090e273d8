//go:build !linux

package rl

import "errors"

// mapFile refuses: setting the space of a file aside has no portable form, and without
// it a full disk would kill the process.
func mapFile(string, int64) ([]byte, error) {
	return nil, errors.New("stores on disk need Linux")
}

func unmapFile([]byte) {}

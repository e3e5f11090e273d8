//go:build !linux

package rl

import "errors"

// mapFile refuses: setting the space of a file aside has no portable form, and without
// it a full disk would kill the process.
func mapFile(string, int64) ([]byte, error) {
	return nil, errors.New("replays on disk need Linux: use --storage memory")
}

func unmapFile([]byte) {}

//go:build !unix

package parquet

import "os"

// mapFile reads a file, where it cannot be mapped.
func mapFile(path string) (mapped []byte, unmap func() error, err error) {
	mapped, err = os.ReadFile(path)
	return mapped, func() error { return nil }, err
}

//go:build !unix

package parquet

import "os"

// mapFile reads a file, where it cannot be mapped.
func mapFile(f *os.File) (mapped []byte, unmap func() error, err error) {
	mapped, err = os.ReadFile(f.Name())
	return mapped, func() error { return nil }, err
}

package main

import (
	"crypto/sha256"
	"fmt"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/rl"
)

// digest returns the hash of arrays, and appends their numbers to values unless it
// is nil.
func digest(arrays []rl.Array, values *[]float64) string {
	h := sha256.New()
	for _, a := range arrays {
		fmt.Fprintln(h, a.Name, a.Shape)
		h.Write(dtypes.UnsafeByteSliceFromAny(a.Flat))
		if flat, ok := a.Flat.([]float32); ok && values != nil {
			for _, x := range flat {
				*values = append(*values, float64(x))
			}
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))[:16]
}

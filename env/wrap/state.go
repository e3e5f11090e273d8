package wrap

import (
	"fmt"

	"github.com/weft-rl/weft/rl"
)

// put saves the tensors of a struct by number: rows, one for each environment.
func put[T any](s *rl.State, v T) {
	for i, t := range rl.Leaves(v) {
		s.PutRows(fmt.Sprint(i), t)
	}
}

// get returns a value like the given one with what put saved.
func get[T any](s *rl.State, like T) T {
	leaves := rl.Leaves(like)
	for i, t := range leaves {
		if t.Ok() {
			leaves[i] = s.GetRows(fmt.Sprint(i), t)
		}
	}
	if s.Err() != nil {
		return like
	}
	return rl.Rebuild(like, leaves)
}

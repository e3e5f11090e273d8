package runner

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/rl"
)

// Adopt copies the state that the run of folder from goes on from into the folder to, for a run of
// another seed: weights, state of optimisers, replays, statistics and environments. It is the only
// checkpoint there afterwards, beside the best one. The state must be of a given step, and the
// folder to be locked. An Adopt that was interrupted is completed by calling it again.
func Adopt(ctx context.Context, from, to string, step int64, seed uint64) error {
	f, at, skipped, err := Newest(ctx, from)
	if err == nil && at != step {
		err = errors.Join(append(skipped, fmt.Errorf("run %s has no good checkpoint of step %d, but one of step %d", from, step, at))...)
	}
	if err != nil {
		return err
	}
	f.Arrays = slices.Clone(f.Arrays)
	i := slices.IndexFunc(f.Arrays, func(a checkpoint.Array) bool { return a.Name == "key" })
	if i < 0 {
		return fmt.Errorf("the checkpoint of step %d of run %s has no key", step, from)
	}
	f.Arrays[i].Data, f.Arrays[i].Source = keyBytes(seed), nil
	f.Meta = maps.Clone(f.Meta)
	f.Meta["seed"] = fmt.Sprint(seed)
	delete(f.Meta, "recorded") // the record is another one
	dir, err := checkpoint.Open(checkpoints(to), 1)
	if err != nil {
		return err
	}
	return dir.SaveOnly(step, f)
}

// keyBytes returns the key of a run as its state has it.
func keyBytes(seed uint64) (out []byte) {
	words := rl.System.Words(rl.NewKey(seed))
	for _, w := range words[:4] {
		out = binary.LittleEndian.AppendUint32(out, w)
	}
	return out
}

// Shapes returns what the state of the session consists of: the dtype and the dimensions of every
// array, by name. A run can go on from the state of another if these are the same.
func (s *Session) Shapes() (map[string]string, error) {
	f, state, err := s.content()
	if err != nil {
		return nil, err
	}
	defer s.release(state)
	out := map[string]string{}
	for _, a := range f.Arrays {
		out[a.Name] = fmt.Sprint(a.DType, a.Shape)
	}
	return out, nil
}

// Exact reports whether the run can be resumed exactly, and if not, why.
func (s *Session) Exact() (exact bool, why string) {
	switch {
	case !s.world.Exact():
		return false, "it is asynchronous"
	case !s.exact:
		return false, s.inexact()
	}
	return true, ""
}

package runner

import (
	"fmt"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/rl"
)

// names are the dtypes as safetensors spells them.
var names = map[dtypes.DType]string{
	dtypes.Bool: "BOOL", dtypes.Uint8: "U8", dtypes.Int8: "I8", dtypes.Uint16: "U16", dtypes.Int16: "I16",
	dtypes.Int32: "I32", dtypes.Uint32: "U32", dtypes.Int64: "I64", dtypes.Uint64: "U64",
	dtypes.Float16: "F16", dtypes.BFloat16: "BF16", dtypes.Float32: "F32", dtypes.Float64: "F64",
}

// DType returns the name of a dtype in checkpoints, or "" if it cannot be saved.
func DType(d dtypes.DType) string { return names[d] }

func dtypeOf(name string) (dtypes.DType, bool) {
	for d, n := range names {
		if n == name {
			return d, true
		}
	}
	return dtypes.InvalidDType, false
}

// arrays returns a state as a checkpoint holds it.
func arrays(s *rl.State) ([]checkpoint.Array, error) {
	var out []checkpoint.Array
	for _, a := range s.Arrays() {
		name, ok := names[a.Shape.DType]
		if !ok {
			return nil, fmt.Errorf("state %q: %s cannot be saved", a.Name, a.Shape.DType)
		}
		out = append(out, checkpoint.Array{
			Name: a.Name, DType: name, Shape: append([]int{}, a.Shape.Dimensions...),
			Data: dtypes.UnsafeByteSliceFromAny(a.Flat),
		})
	}
	return out, nil
}

// state returns a checkpoint as components load it.
func state(s *rl.Scope, f checkpoint.File) (*rl.State, error) {
	st := rl.NewState(s)
	for _, a := range f.Arrays {
		d, ok := dtypeOf(a.DType)
		if !ok {
			return nil, fmt.Errorf("array %q: dtype %s is not known", a.Name, a.DType)
		}
		shape := shapes.Make(d, a.Shape...)
		flat := dtypes.MakeAnySlice(d, shape.Size())
		copy(dtypes.UnsafeByteSliceFromAny(flat), a.Data)
		st.Add(rl.Array{Name: a.Name, Shape: shape, Flat: flat})
	}
	return st, nil
}

// capture returns what save puts, to be written or hashed.
func capture(s *rl.Scope, save func(*rl.State)) (out []checkpoint.Array, err error) {
	st := rl.NewState(s)
	if err := rl.Catch(func() error { save(st); return nil }); err != nil {
		return nil, err
	}
	return arrays(st)
}

// weights returns the parameters among a state's arrays.
func weights(s *rl.Scope, all []checkpoint.Array) (out []checkpoint.Array) {
	names := map[string]bool{}
	for _, p := range s.Params() {
		names[p.Name()] = true
	}
	for _, a := range all {
		if name, _, _ := strings.Cut(a.Name, "/"); names[name] {
			out = append(out, a)
		}
	}
	return out
}

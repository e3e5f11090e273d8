package runner

import (
	"bytes"
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

// arrays returns arrays of a state as a checkpoint has them.
func arrays(state []rl.Array) ([]checkpoint.Array, error) {
	var out []checkpoint.Array
	for _, a := range state {
		name, ok := names[a.Shape.DType]
		if !ok {
			return nil, fmt.Errorf("state %q: %s cannot be saved", a.Name, a.Shape.DType)
		}
		x := checkpoint.Array{Name: a.Name, DType: name, Shape: append([]int{}, a.Shape.Dimensions...), Source: a.Source}
		if x.Source == nil {
			x.Data = dtypes.UnsafeByteSliceFromAny(a.Flat)
		}
		out = append(out, x)
	}
	return out, nil
}

// state returns a checkpoint as components load it: data are copied when they are asked for.
func state(s *rl.Scope, f checkpoint.File) (*rl.State, error) {
	st := rl.NewState(s)
	for _, a := range f.Arrays {
		d, ok := dtypeOf(a.DType)
		if !ok {
			return nil, fmt.Errorf("array %q: dtype %s is not known", a.Name, a.DType)
		}
		x := rl.Array{Name: a.Name, Shape: shapes.Make(d, a.Shape...), Source: a.Source}
		if x.Source == nil {
			x.Source = bytes.NewReader(a.Data)
		}
		st.Add(x)
	}
	return st, nil
}

// capture returns what save puts, to be written or hashed. Stores are not copied.
func capture(s *rl.Scope, save func(*rl.State)) ([]rl.Array, error) {
	st := rl.System.Viewing(rl.NewState(s))
	if err := rl.Catch(func() error { save(st); return nil }); err != nil {
		return nil, err
	}
	return st.Arrays(), nil
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

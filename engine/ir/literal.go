package ir

import (
	"fmt"
	"hash/fnv"
	"reflect"
	"strings"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// AlignedBytes returns n zero bytes aligned for every element type.
func AlignedBytes(n int) []byte {
	if n == 0 {
		return nil
	}
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), n)
}

// NewConst makes a constant node from row-major bytes, which it keeps.
func NewConst(shape shapes.Shape, data []byte) *Node {
	return NewNode(compute.OpTypeConstant, Literal{data}, nil, shape)
}

// BytesOf returns the bytes of a flat slice of any supported element type, sharing its memory.
func BytesOf(flat any) []byte {
	v := reflect.ValueOf(flat)
	if v.Len() == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(v.UnsafePointer()), v.Len()*int(v.Type().Elem().Size()))
}

// FlatSlice returns data as a flat slice of the Go type of dtype, sharing its memory.
func FlatSlice(dtype dtypes.DType, data []byte) any {
	n := len(data) / dtype.Size()
	if n == 0 {
		return dtypes.MakeAnySlice(dtype, 0)
	}
	return dtypes.UnsafeAnySliceFromBytes(unsafe.Pointer(&data[0]), dtype, n)
}

// literalText prints short constants whole, splats as one value, and the rest as a hash.
func literalText(v *Value, l Literal) string {
	flat := reflect.ValueOf(FlatSlice(v.DType(), l.Data))
	if flat.Len() > 0 && flat.Len() <= 8 {
		parts := make([]string, flat.Len())
		for i := range parts {
			parts[i] = fmt.Sprint(flat.Index(i).Interface())
		}
		return "{" + strings.Join(parts, " ") + "}"
	}
	if Splat(v, l) {
		return fmt.Sprintf("{%v...}", flat.Index(0).Interface())
	}
	h := fnv.New64a()
	h.Write(l.Data)
	return fmt.Sprintf("{#%016x}", h.Sum64())
}

// Splat reports whether all elements of the constant have the same bits.
func Splat(v *Value, l Literal) bool {
	size := v.DType().Size()
	if len(l.Data) == 0 {
		return false
	}
	for i := size; i < len(l.Data); i += size {
		if string(l.Data[i:i+size]) != string(l.Data[:size]) {
			return false
		}
	}
	return true
}

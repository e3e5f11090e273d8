package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// An Array is a named block of numbers.
type Array struct {
	// Name is unique in a File, valid UTF-8 and not empty.
	Name string
	// DType is one of F32 F64 F16 BF16 I8 I16 I32 I64 U8 U16 U32 U64 BOOL.
	DType string
	// Shape holds the dimensions, outermost first. A scalar has none.
	Shape []int
	// Data holds the elements, little-endian, in row-major order.
	Data []byte
	// Source gives them in place of Data, where they are too many to have twice. It
	// must not change until the array is written.
	Source io.ReaderAt
}

// A File is the content of one checkpoint.
type File struct {
	// Meta is text to keep beside the arrays. Keys that start with "weft." are refused.
	Meta map[string]string
	// Arrays are in name order when read; Write takes any order.
	Arrays []Array
}

// Array returns the array called name.
func (f File) Array(name string) (Array, bool) {
	i := slices.IndexFunc(f.Arrays, func(a Array) bool { return a.Name == name })
	if i < 0 {
		return Array{}, false
	}
	return f.Arrays[i], true
}

var elementSize = map[string]int{
	"F32": 4, "F64": 8, "F16": 2, "BF16": 2,
	"I8": 1, "I16": 2, "I32": 4, "I64": 8,
	"U8": 1, "U16": 2, "U32": 4, "U64": 8,
	"BOOL": 1,
}

// maxRank bounds a shape as NumPy does; without a bound a header of zeros would decode to four
// times its size.
const maxRank = 64

// size returns the bytes that dtype and shape ask for.
func (a Array) size() (int64, error) {
	element, ok := elementSize[a.DType]
	if !ok {
		return 0, fmt.Errorf("unknown dtype %q", a.DType)
	}
	if len(a.Shape) > maxRank {
		return 0, fmt.Errorf("%d dimensions, more than %d", len(a.Shape), maxRank)
	}
	n := int64(element)
	for _, d := range a.Shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %v has a negative dimension", a.Shape)
		}
		if d > 0 && n > math.MaxInt64/int64(d) {
			return 0, fmt.Errorf("shape %v is too large", a.Shape)
		}
		n *= int64(d)
	}
	return n, nil
}

func (a Array) checkName() error {
	switch {
	case a.Name == "":
		return errors.New("an array has no name")
	case a.Name == metadataKey:
		return fmt.Errorf("no array can be called %s: the format keeps the name for itself", metadataKey)
	case !utf8.ValidString(a.Name):
		return fmt.Errorf("array name %q is not valid UTF-8", a.Name)
	}
	return nil
}

func (a Array) check() error {
	if err := a.checkName(); err != nil {
		return err
	}
	n, err := a.size()
	if err == nil && a.Source == nil && n != int64(len(a.Data)) {
		err = fmt.Errorf("%s%v takes %d bytes, not %d", a.DType, a.Shape, n, len(a.Data))
	}
	if err != nil {
		return fmt.Errorf("array %q: %w", a.Name, err)
	}
	return nil
}

// byName returns the arrays in name order and leaves the argument as it is.
func byName(arrays []Array) []Array {
	sorted := slices.Clone(arrays)
	slices.SortStableFunc(sorted, func(a, b Array) int { return cmp.Compare(a.Name, b.Name) })
	return sorted
}

// check says all that keeps f from being written.
func (f File) check() error {
	var errs []error
	sorted := byName(f.Arrays)
	for i, a := range sorted {
		if i > 0 && a.Name == sorted[i-1].Name {
			errs = append(errs, fmt.Errorf("array %q: there are two", a.Name))
		}
		if err := a.check(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, checkMeta(f.Meta))...)
}

func checkMeta(meta map[string]string) error {
	var errs []error
	for _, k := range sortedKeys(meta) {
		if strings.HasPrefix(k, ownPrefix) {
			errs = append(errs, fmt.Errorf("metadata %q: keys that start with %s are the checkpoint's own", k, ownPrefix))
		}
		if !utf8.ValidString(k) || !utf8.ValidString(meta[k]) {
			errs = append(errs, fmt.Errorf("metadata %q is not valid UTF-8: bytes go into a U8 array", k))
		}
	}
	return errors.Join(errs...)
}

package dataset

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// array is numbers of a NumPy archive, in row-major order.
type array struct {
	dims  []int
	whole bool // whole numbers, or bools
	x     []float64
}

// rows returns the length of the first axis.
func (a array) rows() int {
	if len(a.dims) == 0 {
		return 0
	}
	return a.dims[0]
}

// readArchive reads the arrays of an archive that numpy.savez wrote, by name.
func readArchive(path string) (map[string]array, error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, fmt.Errorf("it is no NumPy archive: %w", err)
	}
	defer z.Close()
	out := map[string]array{}
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		if !ok {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("array %q: %w", name, err)
		}
		a, err := readArray(r)
		if err = errors.Join(err, r.Close()); err != nil {
			return nil, fmt.Errorf("array %q: %w", name, err)
		}
		out[name] = a
	}
	return out, nil
}

var (
	descr = regexp.MustCompile(`'descr':\s*'([<>|=])([a-zA-Z])(\d+)'`)
	order = regexp.MustCompile(`'fortran_order':\s*(True|False)`)
	shape = regexp.MustCompile(`'shape':\s*\(([^)]*)\)`)
)

// readArray reads an array in NumPy's own format (NEP 1).
func readArray(r io.Reader) (a array, err error) {
	head := make([]byte, 10)
	if _, err := io.ReadFull(r, head); err != nil || string(head[:6]) != "\x93NUMPY" {
		return a, errors.New("it is not in NumPy's format")
	}
	n := int(binary.LittleEndian.Uint16(head[8:]))
	if head[6] > 1 { // the length has four bytes
		more := make([]byte, 2)
		if _, err := io.ReadFull(r, more); err != nil {
			return a, err
		}
		n += int(binary.LittleEndian.Uint16(more)) << 16
	}
	if n > 1<<20 {
		return a, errors.New("its header is too long")
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return a, err
	}
	d, o, s := descr.FindSubmatch(text), order.FindSubmatch(text), shape.FindSubmatch(text)
	switch {
	case d == nil || o == nil || s == nil:
		return a, fmt.Errorf("its header is not understood: %q", text)
	case string(d[1]) == ">":
		return a, errors.New("its numbers are in big-endian order: write them with astype('<f4')")
	case string(o[1]) == "True":
		return a, errors.New("it is in Fortran's order: write it with numpy.ascontiguousarray")
	}
	size := 1
	for field := range strings.SplitSeq(string(s[1]), ",") {
		if field = strings.TrimSpace(field); field == "" {
			continue
		}
		k, err := strconv.Atoi(field)
		if err != nil || k < 0 || k > 0 && size > math.MaxInt32*16/k {
			return a, fmt.Errorf("its shape (%s) is not understood", s[1])
		}
		a.dims, size = append(a.dims, k), size*k
	}
	return a, a.read(r, string(d[2])+string(d[3]), size)
}

// read reads size numbers of a type.
func (a *array) read(r io.Reader, kind string, size int) error {
	width := map[string]int{"f4": 4, "f8": 8, "i4": 4, "i8": 8, "u1": 1, "i1": 1, "b1": 1, "u4": 4, "i2": 2, "u2": 2}[kind]
	if width == 0 {
		return fmt.Errorf("numbers of type %q are not known: use float32, float64, integers or bool", kind)
	}
	a.whole = kind[0] != 'f'
	for buf := make([]byte, 1<<16/width*width); len(a.x) < size; {
		part := buf[:min(len(buf), (size-len(a.x))*width)]
		if _, err := io.ReadFull(r, part); err != nil {
			return fmt.Errorf("%d of %d numbers are there", len(a.x), size)
		}
		for ; len(part) > 0; part = part[width:] {
			a.x = append(a.x, number(kind, part))
		}
	}
	return nil
}

func number(kind string, b []byte) float64 {
	le := binary.LittleEndian
	switch kind {
	case "f4":
		return float64(math.Float32frombits(le.Uint32(b)))
	case "f8":
		return math.Float64frombits(le.Uint64(b))
	case "i4":
		return float64(int32(le.Uint32(b)))
	case "u4":
		return float64(le.Uint32(b))
	case "i8":
		return float64(int64(le.Uint64(b)))
	case "i2":
		return float64(int16(le.Uint16(b)))
	case "u2":
		return float64(le.Uint16(b))
	case "i1":
		return float64(int8(b[0]))
	}
	return float64(b[0])
}

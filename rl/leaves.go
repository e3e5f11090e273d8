package rl

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"unsafe"
)

// A struct of tensors is how authors name what an operation takes and gives. A
// codec finds the tensors in one, in declaration order: worked out once per
// type, because every call of every operation goes through it.
type codec struct {
	read  func(at unsafe.Pointer, out []Tensor) []Tensor
	write func(at unsafe.Pointer, in []Tensor) []Tensor // returns what is left
	names func(at unsafe.Pointer, prefix string, out []string) []string
	form  form
	size  int // tensors to expect, a tree counting as one
}

var codecs sync.Map // reflect.Type -> codec or error

// codecOf is the codec of t, which is part of the types inside.
func codecOf(t reflect.Type, inside ...reflect.Type) (codec, error) {
	if c, ok := codecs.Load(t); ok {
		if err, bad := c.(error); bad {
			return codec{}, err
		}
		return c.(codec), nil
	}
	if slices.Contains(inside, t) {
		return codec{}, fmt.Errorf("%s contains itself: how many tensors it has would not be known", t)
	}
	c, err := makeCodec(t, append(inside, t))
	if err != nil {
		codecs.Store(t, err)
		return codec{}, err
	}
	codecs.Store(t, c)
	return c, nil
}

var (
	tensorType = reflect.TypeFor[Tensor]()
	treeType   = reflect.TypeFor[Tree]()
)

func makeCodec(t reflect.Type, inside []reflect.Type) (codec, error) {
	switch {
	case t == tensorType:
		return tensorCodec(), nil
	case t == treeType:
		return treeCodec(), nil
	case t.Kind() == reflect.Slice:
		return sliceCodec(t, inside)
	case t.Kind() == reflect.Struct:
		return structCodec(t, inside)
	}
	return codec{}, fmt.Errorf("%s cannot cross an operation: only tensors, trees, and structs and slices of them can", t)
}

func tensorCodec() codec {
	return codec{
		size: 1,
		read: func(at unsafe.Pointer, out []Tensor) []Tensor { return append(out, *(*Tensor)(at)) },
		write: func(at unsafe.Pointer, in []Tensor) []Tensor {
			head, rest := split(in, 1)
			*(*Tensor)(at) = head[0]
			return rest
		},
		names: func(_ unsafe.Pointer, prefix string, out []string) []string { return append(out, prefix) },
		form:  tensorForm,
	}
}

func treeCodec() codec {
	return codec{
		size: 1,
		read: func(at unsafe.Pointer, out []Tensor) []Tensor { return append(out, (*Tree)(at).leaves...) },
		write: func(at unsafe.Pointer, in []Tensor) []Tensor {
			t := (*Tree)(at)
			head, rest := split(in, len(t.leaves))
			t.leaves = slices.Clone(head) // the old slice is another tree's
			return rest
		},
		names: func(at unsafe.Pointer, prefix string, out []string) []string {
			for _, name := range (*Tree)(at).names {
				out = append(out, join(prefix, name))
			}
			return out
		},
		form: treeForm,
	}
}

// split takes the first n tensors off.
func split(in []Tensor, n int) (head, rest []Tensor) {
	if len(in) < n {
		failf("too few tensors to rebuild a struct from")
	}
	return in[:n], in[n:]
}

func sliceCodec(t reflect.Type, inside []reflect.Type) (codec, error) {
	elem, err := codecOf(t.Elem(), inside...)
	if err != nil {
		return codec{}, err
	}
	size := t.Elem().Size()
	each := func(at unsafe.Pointer, f func(i int, at unsafe.Pointer)) {
		h := (*[]byte)(at) // only its pointer and length are used
		base := unsafe.Pointer(unsafe.SliceData(*h))
		for i := range len(*h) {
			f(i, unsafe.Add(base, uintptr(i)*size))
		}
	}
	return codec{
		read: func(at unsafe.Pointer, out []Tensor) []Tensor {
			each(at, func(_ int, p unsafe.Pointer) { out = elem.read(p, out) })
			return out
		},
		write: func(at unsafe.Pointer, in []Tensor) []Tensor {
			v := reflect.NewAt(t, at).Elem()
			clone := reflect.MakeSlice(t, v.Len(), v.Len())
			reflect.Copy(clone, v)
			v.Set(clone)
			each(at, func(_ int, p unsafe.Pointer) { in = elem.write(p, in) })
			return in
		},
		names: func(at unsafe.Pointer, prefix string, out []string) []string {
			each(at, func(i int, p unsafe.Pointer) { out = elem.names(p, join(prefix, fmt.Sprint(i)), out) })
			return out
		},
		form: sliceForm(t, elem, each),
	}, nil
}

func structCodec(t reflect.Type, inside []reflect.Type) (codec, error) {
	type field struct {
		codec
		name   string
		offset uintptr
	}
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		c, err := codecOf(f.Type, inside...)
		if err != nil {
			return codec{}, fmt.Errorf("field %s of %s: %w", f.Name, t, err)
		}
		name := f.Name
		if f.Anonymous {
			name = ""
		}
		fields = append(fields, field{c, name, f.Offset})
	}
	size := 0
	for i := range fields {
		size += fields[i].size
	}
	return codec{
		size: size,
		read: func(at unsafe.Pointer, out []Tensor) []Tensor {
			for i := range fields {
				out = fields[i].read(unsafe.Add(at, fields[i].offset), out)
			}
			return out
		},
		write: func(at unsafe.Pointer, in []Tensor) []Tensor {
			for i := range fields {
				in = fields[i].write(unsafe.Add(at, fields[i].offset), in)
			}
			return in
		},
		names: func(at unsafe.Pointer, prefix string, out []string) []string {
			for i := range fields {
				out = fields[i].names(unsafe.Add(at, fields[i].offset), join(prefix, fields[i].name), out)
			}
			return out
		},
		form: form{
			put: func(at unsafe.Pointer, out []string) []string {
				for i := range fields {
					out = fields[i].form.put(unsafe.Add(at, fields[i].offset), out)
				}
				return out
			},
			take: func(at unsafe.Pointer, in *formReader) {
				for i := range fields {
					fields[i].form.take(unsafe.Add(at, fields[i].offset), in)
				}
			},
		},
	}, nil
}

func join(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + "." + b
}

func mustCodec[T any]() codec {
	c, err := codecOf(reflect.TypeFor[T]())
	check(err)
	return c
}

// Leaves are the tensors of a struct of tensors, in declaration order, absent
// ones included.
//
//weft:moves
func Leaves[T any](v T) []Tensor {
	c := mustCodec[T]()
	out := make([]Tensor, 0, c.size)
	return c.read(borrowed(unsafe.Pointer(&v)), out)
}

// borrowed is p for a callee that keeps no pointer to what p points to: a codec.
// The compiler cannot see that through a function value, and would put every
// struct that crosses an operation on the heap. While the pointer is a number the
// stack must not move, so nothing may be called before it is handed on, by what
// checks races and pointers neither.
//
//go:nosplit
//go:norace
//go:nocheckptr
func borrowed(p unsafe.Pointer) unsafe.Pointer {
	x := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&x))
}

// LeafNames are the paths of the tensors that Leaves gives.
//
//weft:pure
func LeafNames[T any](v T) []string {
	return mustCodec[T]().names(unsafe.Pointer(&v), "", nil)
}

// Rebuild is like with its tensors replaced by leaves, in the order of Leaves.
//
//weft:moves
func Rebuild[T any](like T, leaves []Tensor) T {
	if rest := mustCodec[T]().write(borrowed(unsafe.Pointer(&like)), leaves); len(rest) != 0 {
		failf("%d tensors too many for %T", len(rest), like)
	}
	return like
}

// Map applies f to every present tensor of a struct of tensors.
//
//weft:refuse compute in a graph function
func Map[T any](v T, f func(Tensor) Tensor) T {
	leaves := Leaves(v)
	for i, t := range leaves {
		if t.Ok() {
			leaves[i] = f(t)
		}
	}
	return Rebuild(v, leaves)
}

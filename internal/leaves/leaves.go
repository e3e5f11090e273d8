// Package leaves takes structs of tensors apart, and puts them together again. It knows tensors as
// a type L: package rl imports this one.
//
// A struct of tensors is how authors name what an operation takes and gives. A Codec finds the
// tensors in one, in declaration order: worked out once per type, because every call of every
// operation goes through it.
package leaves

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"unsafe"
)

// Branch is an ordered set of named leaves.
type Branch[L any] struct {
	Names  []string
	Leaves []L
}

// Codec finds the leaves in values of one type. It keeps no pointer to what it is given.
type Codec[L any] struct {
	// Read appends the leaves of the value at a place, absent ones included.
	Read func(at unsafe.Pointer, out []L) []L
	// Write replaces the leaves by the first of in, and returns what is left. ok is false if
	// there are too few.
	Write func(at unsafe.Pointer, in []L) (rest []L, ok bool)
	// Names appends the paths of the leaves, below prefix.
	Names func(at unsafe.Pointer, prefix string, out []string) []string
	// Size is how many leaves to expect, a branch counting as one.
	Size int

	form form
}

// Set is the codecs of all types that are made of leaves L and of branches alone.
type Set[L any] struct {
	leaf, branch reflect.Type
	codecs       sync.Map // reflect.Type -> *Codec[L] or error
}

// NewSet returns a set in which type B, a struct that holds a Branch[L] and nothing else, stands
// for one.
func NewSet[L, B any]() *Set[L] {
	return &Set[L]{leaf: reflect.TypeFor[L](), branch: reflect.TypeFor[B]()}
}

// Of returns the codec of a type, or an error that says why it has none. It is safe for use by
// several goroutines.
func (s *Set[L]) Of(t reflect.Type) (*Codec[L], error) { return s.of(t, nil) }

// of does what Of does for a type that is part of the types inside.
func (s *Set[L]) of(t reflect.Type, inside []reflect.Type) (*Codec[L], error) {
	if c, ok := s.codecs.Load(t); ok {
		if err, bad := c.(error); bad {
			return nil, err
		}
		return c.(*Codec[L]), nil
	}
	if slices.Contains(inside, t) {
		return nil, fmt.Errorf("%s contains itself: how many tensors it has would not be known", t)
	}
	c, err := s.make(t, append(inside, t))
	if err != nil {
		s.codecs.Store(t, err)
		return nil, err
	}
	s.codecs.Store(t, c)
	return c, nil
}

func (s *Set[L]) make(t reflect.Type, inside []reflect.Type) (*Codec[L], error) {
	switch {
	case t == s.leaf:
		return leafCodec[L](), nil
	case t == s.branch:
		return branchCodec[L](), nil
	case t.Kind() == reflect.Slice:
		return s.slice(t, inside)
	case t.Kind() == reflect.Struct:
		return s.structure(t, inside)
	}
	return nil, fmt.Errorf("%s cannot cross an operation: only tensors, trees, and structs and slices of them can", t)
}

func leafCodec[L any]() *Codec[L] {
	return &Codec[L]{
		Size: 1,
		Read: func(at unsafe.Pointer, out []L) []L { return append(out, *(*L)(at)) },
		Write: func(at unsafe.Pointer, in []L) ([]L, bool) {
			if len(in) < 1 {
				return nil, false
			}
			*(*L)(at) = in[0]
			return in[1:], true
		},
		Names: func(_ unsafe.Pointer, prefix string, out []string) []string { return append(out, prefix) },
		form:  leafForm,
	}
}

func branchCodec[L any]() *Codec[L] {
	return &Codec[L]{
		Size: 1,
		Read: func(at unsafe.Pointer, out []L) []L { return append(out, (*Branch[L])(at).Leaves...) },
		Write: func(at unsafe.Pointer, in []L) ([]L, bool) {
			b := (*Branch[L])(at)
			n := len(b.Leaves)
			if len(in) < n {
				return nil, false
			}
			b.Leaves = slices.Clone(in[:n]) // the old slice is another branch's
			return in[n:], true
		},
		Names: func(at unsafe.Pointer, prefix string, out []string) []string {
			for _, name := range (*Branch[L])(at).Names {
				out = append(out, Join(prefix, name))
			}
			return out
		},
		form: branchForm[L](),
	}
}

func (s *Set[L]) slice(t reflect.Type, inside []reflect.Type) (*Codec[L], error) {
	elem, err := s.of(t.Elem(), inside)
	if err != nil {
		return nil, err
	}
	size := t.Elem().Size()
	each := func(at unsafe.Pointer, f func(i int, at unsafe.Pointer)) {
		h := (*[]byte)(at) // only its pointer and length are used
		base := unsafe.Pointer(unsafe.SliceData(*h))
		for i := range len(*h) {
			f(i, unsafe.Add(base, uintptr(i)*size))
		}
	}
	return &Codec[L]{
		Read: func(at unsafe.Pointer, out []L) []L {
			each(at, func(_ int, p unsafe.Pointer) { out = elem.Read(p, out) })
			return out
		},
		Write: func(at unsafe.Pointer, in []L) (rest []L, ok bool) {
			v := reflect.NewAt(t, at).Elem()
			clone := reflect.MakeSlice(t, v.Len(), v.Len())
			reflect.Copy(clone, v)
			v.Set(clone)
			ok = true
			each(at, func(_ int, p unsafe.Pointer) {
				if ok {
					in, ok = elem.Write(p, in)
				}
			})
			return in, ok
		},
		Names: func(at unsafe.Pointer, prefix string, out []string) []string {
			each(at, func(i int, p unsafe.Pointer) { out = elem.Names(p, Join(prefix, fmt.Sprint(i)), out) })
			return out
		},
		form: sliceForm(t, elem.form, each),
	}, nil
}

// field is a field of a struct.
type field[L any] struct {
	*Codec[L]
	name   string
	offset uintptr
}

func (s *Set[L]) structure(t reflect.Type, inside []reflect.Type) (*Codec[L], error) {
	var fields []field[L]
	size := 0
	for i := range t.NumField() {
		f := t.Field(i)
		c, err := s.of(f.Type, inside)
		if err != nil {
			return nil, fmt.Errorf("field %s of %s: %w", f.Name, t, err)
		}
		name := f.Name
		if f.Anonymous {
			name = ""
		}
		fields = append(fields, field[L]{c, name, f.Offset})
		size += c.Size
	}
	return &Codec[L]{
		Size: size,
		Read: func(at unsafe.Pointer, out []L) []L {
			for i := range fields {
				out = fields[i].Read(unsafe.Add(at, fields[i].offset), out)
			}
			return out
		},
		Write: func(at unsafe.Pointer, in []L) (_ []L, ok bool) {
			for i := range fields {
				if in, ok = fields[i].Write(unsafe.Add(at, fields[i].offset), in); !ok {
					return nil, false
				}
			}
			return in, true
		},
		Names: func(at unsafe.Pointer, prefix string, out []string) []string {
			for i := range fields {
				out = fields[i].Names(unsafe.Add(at, fields[i].offset), Join(prefix, fields[i].name), out)
			}
			return out
		},
		form: structForm(fields),
	}, nil
}

// Join returns the path of what is called b inside of a; either may be empty.
func Join(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + "." + b
}

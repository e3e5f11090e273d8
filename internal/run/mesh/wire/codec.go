package wire

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/weft-rl/weft/rl"
)

// codec writes and reads values of one type. It is worked out once.
type codec struct {
	put  func(e *Encoder, from unsafe.Pointer)
	take func(d *decoder, to unsafe.Pointer)
	// form says what the type is made of: both ends must agree on it.
	form  string
	least int // bytes that one takes of the head
	sum   uint32
}

// mark returns the form's fingerprint.
func (c *codec) mark() uint32 { return c.sum }

var codecs sync.Map // reflect.Type -> *codec or error

// codecOf returns the codec of t, which is part of the types inside.
func codecOf(t reflect.Type, inside ...reflect.Type) (*codec, error) {
	if c, ok := codecs.Load(t); ok {
		if err, bad := c.(error); bad {
			return nil, err
		}
		return c.(*codec), nil
	}
	if slices.Contains(inside, t) {
		return nil, fmt.Errorf("%s contains itself and cannot cross processes", t)
	}
	c, err := makeCodec(t, append(inside, t))
	if err != nil {
		codecs.Store(t, err)
		return nil, err
	}
	c.sum = crc32.Checksum([]byte(c.form), castagnoli)
	codecs.Store(t, c)
	return c, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func makeCodec(t reflect.Type, inside []reflect.Type) (*codec, error) {
	switch t {
	case reflect.TypeFor[rl.Tensor]():
		return tensorCodec(), nil
	case reflect.TypeFor[rl.Tree]():
		return treeCodec(), nil
	case reflect.TypeFor[rl.Array]():
		return arrayCodec(), nil
	}
	switch t.Kind() {
	case reflect.Bool:
		return boolCodec(), nil
	case reflect.String:
		return textCodec(), nil
	case reflect.Float32, reflect.Float64:
		return floatCodec(t), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intCodec(t), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return uintCodec(t), nil
	case reflect.Slice:
		return sliceCodec(t, inside)
	case reflect.Array:
		return fixedCodec(t, inside)
	case reflect.Pointer:
		return pointerCodec(t, inside)
	case reflect.Struct:
		return structCodec(t, inside)
	}
	return nil, fmt.Errorf("%s cannot cross processes: only tensors, numbers, text, and structs, slices and pointers of them can", t)
}

func boolCodec() *codec {
	return &codec{
		form: "b", least: 1,
		put: func(e *Encoder, p unsafe.Pointer) {
			x := byte(0)
			if *(*bool)(p) {
				x = 1
			}
			e.head = append(e.head, x)
		},
		take: func(d *decoder, p unsafe.Pointer) {
			x := d.byte()
			if x > 1 {
				d.fail("neither true nor false")
			}
			*(*bool)(p) = x == 1
		},
	}
}

func textCodec() *codec {
	return &codec{
		form: "s", least: 1,
		put:  func(e *Encoder, p unsafe.Pointer) { e.text(*(*string)(p)) },
		take: func(d *decoder, p unsafe.Pointer) { *(*string)(p) = d.text() },
	}
}

func floatCodec(t reflect.Type) *codec {
	if t.Kind() == reflect.Float32 {
		return &codec{
			form: "f4", least: 4,
			put: func(e *Encoder, p unsafe.Pointer) {
				e.head = binary.LittleEndian.AppendUint32(e.head, math.Float32bits(*(*float32)(p)))
			},
			take: func(d *decoder, p unsafe.Pointer) {
				if b := d.bytes(4); b != nil {
					*(*float32)(p) = math.Float32frombits(binary.LittleEndian.Uint32(b))
				}
			},
		}
	}
	return &codec{
		form: "f8", least: 8,
		put: func(e *Encoder, p unsafe.Pointer) {
			e.head = binary.LittleEndian.AppendUint64(e.head, math.Float64bits(*(*float64)(p)))
		},
		take: func(d *decoder, p unsafe.Pointer) {
			if b := d.bytes(8); b != nil {
				*(*float64)(p) = math.Float64frombits(binary.LittleEndian.Uint64(b))
			}
		},
	}
}

func intCodec(t reflect.Type) *codec {
	return &codec{
		form: fmt.Sprint("i", t.Size()), least: 1,
		put: func(e *Encoder, p unsafe.Pointer) { e.int(reflect.NewAt(t, p).Elem().Int()) },
		take: func(d *decoder, p unsafe.Pointer) {
			x, v := d.int(), reflect.NewAt(t, p).Elem()
			if v.OverflowInt(x) {
				d.fail("%d is no %s", x, t)
				return
			}
			v.SetInt(x)
		},
	}
}

func uintCodec(t reflect.Type) *codec {
	return &codec{
		form: fmt.Sprint("u", t.Size()), least: 1,
		put: func(e *Encoder, p unsafe.Pointer) { e.uint(reflect.NewAt(t, p).Elem().Uint()) },
		take: func(d *decoder, p unsafe.Pointer) {
			x, v := d.uint(), reflect.NewAt(t, p).Elem()
			if v.OverflowUint(x) {
				d.fail("%d is no %s", x, t)
				return
			}
			v.SetUint(x)
		},
	}
}

// manyEmpty is how many things that take no bytes a slice may have.
const manyEmpty = 1 << 16

func sliceCodec(t reflect.Type, inside []reflect.Type) (*codec, error) {
	elem, err := codecOf(t.Elem(), inside...)
	if err != nil {
		return nil, err
	}
	size := t.Elem().Size()
	return &codec{
		form: "[" + elem.form + "]", least: 1,
		put: func(e *Encoder, p unsafe.Pointer) {
			v := reflect.NewAt(t, p).Elem()
			if v.IsNil() {
				e.head = append(e.head, 0)
				return
			}
			e.head = append(e.head, 1)
			e.uint(uint64(v.Len()))
			for i := range v.Len() {
				elem.put(e, at(v.UnsafePointer(), uintptr(i)*size))
			}
		},
		take: func(d *decoder, p unsafe.Pointer) {
			if d.byte() == 0 {
				return
			}
			n := 0
			if elem.least > 0 {
				n = d.count(elem.least)
			} else if n = int(min(d.uint(), manyEmpty+1)); n > manyEmpty {
				d.fail("more than %d things of nothing", manyEmpty)
				return
			}
			v := reflect.NewAt(t, p).Elem()
			v.Set(reflect.MakeSlice(t, n, n))
			for i := 0; i < n && d.err == nil; i++ {
				elem.take(d, at(v.UnsafePointer(), uintptr(i)*size))
			}
		},
	}, nil
}

func fixedCodec(t reflect.Type, inside []reflect.Type) (*codec, error) {
	elem, err := codecOf(t.Elem(), inside...)
	if err != nil {
		return nil, err
	}
	n, size := t.Len(), t.Elem().Size()
	return &codec{
		form: fmt.Sprintf("%dx%s", n, elem.form), least: n * elem.least,
		put: func(e *Encoder, p unsafe.Pointer) {
			for i := range n {
				elem.put(e, at(p, uintptr(i)*size))
			}
		},
		take: func(d *decoder, p unsafe.Pointer) {
			for i := 0; i < n && d.err == nil; i++ {
				elem.take(d, at(p, uintptr(i)*size))
			}
		},
	}, nil
}

func pointerCodec(t reflect.Type, inside []reflect.Type) (*codec, error) {
	elem, err := codecOf(t.Elem(), inside...)
	if err != nil {
		return nil, err
	}
	return &codec{
		form: "*" + elem.form, least: 1,
		put: func(e *Encoder, p unsafe.Pointer) {
			to := *(*unsafe.Pointer)(p)
			if to == nil {
				e.head = append(e.head, 0)
				return
			}
			e.head = append(e.head, 1)
			elem.put(e, to)
		},
		take: func(d *decoder, p unsafe.Pointer) {
			if d.byte() == 0 {
				return
			}
			made := reflect.New(t.Elem())
			elem.take(d, made.UnsafePointer())
			*(*unsafe.Pointer)(p) = made.UnsafePointer()
		},
	}, nil
}

func structCodec(t reflect.Type, inside []reflect.Type) (*codec, error) {
	type field struct {
		*codec
		offset uintptr
	}
	var fields []field
	var form strings.Builder
	least := 0
	for i := range t.NumField() {
		f := t.Field(i)
		c, err := codecOf(f.Type, inside...)
		if err != nil {
			return nil, fmt.Errorf("field %s of %s: %w", f.Name, t, err)
		}
		fields = append(fields, field{c, f.Offset})
		fmt.Fprintf(&form, "%s:%s,", f.Name, c.form)
		least += c.least
	}
	return &codec{
		form: "{" + form.String() + "}", least: least,
		put: func(e *Encoder, p unsafe.Pointer) {
			for _, f := range fields {
				f.put(e, at(p, f.offset))
			}
		},
		take: func(d *decoder, p unsafe.Pointer) {
			for _, f := range fields {
				if d.err != nil {
					return
				}
				f.take(d, at(p, f.offset))
			}
		},
	}, nil
}

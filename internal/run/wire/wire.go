// Package wire writes messages of edges as bytes and reads them again.
//
// A message is a head, which holds everything small, followed by the data of its
// tensors one after another. What is sent is not one slice but a list: large tensors
// are in it as they lie in memory, so that the kernel's copy is the first. What is
// received is copied once, from where the network put it to the tensor's own memory.
//
// The types at both ends are the same, because the programs are; a head begins with
// a fingerprint of the type, so that a mistake is an error. No size is believed that
// the bytes at hand do not bear out.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	"google.golang.org/grpc/mem"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/rl"
)

// ErrMalformed means bytes that are no message.
var ErrMalformed = errors.New("malformed message")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

const (
	prefix = 4 // length of the head
	// small tensors are copied behind the head: a list of many pieces costs more than
	// they do.
	small = 4 << 10
)

// Encode is a message as bytes. Its tensors' memory is part of the result, and must
// not change until that was freed. Edge and From are the frame's affair, and are not
// in it.
func Encode(m edge.Message) (mem.BufferSlice, error) {
	e := encoder{head: make([]byte, prefix, 256)}
	e.uint(uint64(len(m.Versions)))
	for _, v := range m.Versions {
		e.int(v)
	}
	e.int(m.Iter)
	e.int(m.Steps)
	if m.Value == nil {
		e.head = append(e.head, 0)
		return e.pieces(), nil
	}
	v := reflect.ValueOf(m.Value)
	c, err := codecOf(v.Type())
	if err != nil {
		return nil, err
	}
	e.head = append(e.head, 1)
	e.head = binary.LittleEndian.AppendUint32(e.head, c.mark())
	at := reflect.New(v.Type())
	at.Elem().Set(v)
	c.put(&e, at.UnsafePointer())
	return e.pieces(), e.err
}

// encoder collects a message.
type encoder struct {
	head []byte
	data []piece
	err  error
}

// piece is a tensor's bytes, and what keeps them there.
type piece struct {
	bytes []byte
	owner any
}

func (e *encoder) uint(x uint64) { e.head = binary.AppendUvarint(e.head, x) }
func (e *encoder) int(x int64)   { e.head = binary.AppendVarint(e.head, x) }

func (e *encoder) text(s string) {
	e.uint(uint64(len(s)))
	e.head = append(e.head, s...)
}

// pieces are the head, with small data behind it, and the large data.
func (e *encoder) pieces() (out mem.BufferSlice) {
	binary.LittleEndian.PutUint32(e.head, uint32(len(e.head)-prefix))
	run := e.head // that is being filled
	for _, p := range e.data {
		if len(p.bytes) < small {
			run = append(run, p.bytes...)
			continue
		}
		if len(run) > 0 {
			out, run = append(out, mem.SliceBuffer(run)), nil
		}
		out = append(out, held(p))
	}
	if len(run) > 0 {
		out = append(out, mem.SliceBuffer(run))
	}
	return out
}

// held is a buffer that keeps the owner of its bytes alive until it is freed.
func held(p piece) mem.Buffer { return mem.NewBuffer(&p.bytes, &holder{p.owner}) }

// holder is a pool that nothing is taken from: what comes back is let go.
type holder struct{ owner any }

func (h *holder) Get(n int) *[]byte { b := make([]byte, n); return &b }
func (h *holder) Put(*[]byte)       { h.owner = nil }

// Decode reads a message that came as data, of which it becomes the owner. Its
// Value is an edge.Encoded, whose tensors go to dev when somebody asks for it.
func Decode(data mem.BufferSlice, dev *rl.Device) (edge.Message, error) {
	m, rest, err := open(data, dev)
	if err != nil {
		data.Free()
		return edge.Message{}, err
	}
	if rest != nil {
		m.Value = rest
	} else {
		data.Free()
	}
	return m, nil
}

// open reads up to the value.
func open(data mem.BufferSlice, dev *rl.Device) (m edge.Message, rest *value, err error) {
	d := decoder{from: source{list: data}, dev: dev}
	total := data.Len()
	var length [prefix]byte
	if total < prefix {
		return m, nil, malformed("%d bytes", total)
	}
	d.from.copy(length[:])
	n := int(binary.LittleEndian.Uint32(length[:]))
	if n > total-prefix {
		return m, nil, malformed("a head of %d bytes in %d", n, total)
	}
	d.head, d.left = d.from.take(n), total-prefix-n
	for range d.count(1) {
		m.Versions = append(m.Versions, d.int())
	}
	m.Iter, m.Steps = d.int(), d.int()
	switch d.byte() {
	case 0:
		return m, nil, d.finish()
	case 1:
		mark := d.bytes(4)
		if d.err != nil {
			return m, nil, d.err
		}
		return m, &value{d: d, mark: binary.LittleEndian.Uint32(mark)}, nil
	}
	return m, nil, malformed("no value nor its absence")
}

// value is one that nobody has asked for yet.
type value struct {
	d    decoder
	mark uint32
	done bool
}

// Decode implements edge.Encoded.
func (v *value) Decode(into any) error {
	p := reflect.ValueOf(into)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return fmt.Errorf("a value cannot be decoded into %T", into)
	}
	if v.done {
		return errors.New("a value was asked for twice")
	}
	v.done = true
	defer v.d.from.list.Free()
	c, err := codecOf(p.Type().Elem())
	if err != nil {
		return err
	}
	if c.mark() != v.mark {
		return malformed("it carried another type: the generated programs do not fit each other")
	}
	made := reflect.New(p.Type().Elem()) // into stays what it was if something is wrong
	c.take(&v.d, made.UnsafePointer())
	if err := v.d.finish(); err != nil {
		return err
	}
	p.Elem().Set(made.Elem())
	return nil
}

// at is the place of a field or an element.
func at(base unsafe.Pointer, offset uintptr) unsafe.Pointer { return unsafe.Add(base, offset) }

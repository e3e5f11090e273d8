// Package wire writes messages of edges as bytes and reads them again.
//
// A message is a head, which holds everything small, followed by the data of its
// tensors, each on a cache line. What is sent is not one slice but a list: large tensors
// are in it as they lie in memory, so that the kernel's copy is the first. What is
// received becomes the tensors' memory.
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
	"strings"
	"unsafe"

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
	// line is the alignment of tensors.
	line = 64
)

// Piece is a part of a message's bytes. A piece with an owner is the memory of a tensor, and is
// unchanged while the owner is referenced; the others are the encoder's memory.
type Piece struct {
	Bytes []byte
	Owner any
}

// Encoder writes messages, one after another, in memory that it uses again. The zero
// Encoder is ready.
type Encoder struct {
	head []byte
	data []Piece
	out  []Piece
	err  error
}

// Encode returns a message as bytes, until the next one is. Edge and From are the frame's
// affair, and are not in it.
func (e *Encoder) Encode(m edge.Message) ([]Piece, error) {
	e.Release()
	e.head = append(e.head, blank[:prefix]...)
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
	c.put(e, at.UnsafePointer())
	return e.pieces(), e.err
}

// most is how much memory an encoder keeps for the next message.
const most = 64 << 10

// Release lets go of the message's tensors.
func (e *Encoder) Release() {
	clear(e.data)
	clear(e.out)
	if cap(e.head) > most {
		e.head = nil
	}
	e.head, e.data, e.out, e.err = e.head[:0], e.data[:0], e.out[:0], nil
}

func (e *Encoder) uint(x uint64) { e.head = binary.AppendUvarint(e.head, x) }
func (e *Encoder) int(x int64)   { e.head = binary.AppendVarint(e.head, x) }

func (e *Encoder) text(s string) {
	e.uint(uint64(len(s)))
	e.head = append(e.head, s...)
}

// pieces returns the head, with small data behind it, and the large data.
func (e *Encoder) pieces() []Piece {
	binary.LittleEndian.PutUint32(e.head, uint32(len(e.head)-prefix))
	from, at := 0, len(e.head) // of what is not in a piece yet, and bytes so far
	for _, p := range e.data {
		e.head, at = append(e.head, blank[:gap(at)]...), at+gap(at)
		at += len(p.Bytes)
		if len(p.Bytes) < small {
			e.head = append(e.head, p.Bytes...)
			continue
		}
		e.cut(from)
		e.out, from = append(e.out, p), len(e.head)
	}
	e.cut(from)
	return e.out
}

// cut makes a piece of what was written last.
func (e *Encoder) cut(from int) {
	if from < len(e.head) {
		e.out = append(e.out, Piece{Bytes: e.head[from:len(e.head):len(e.head)]})
	}
}

var blank [line]byte

// gap returns how many bytes are missing to the next line.
func gap(at int) int { return -at & (line - 1) }

// Memory returns n bytes, of arbitrary contents, for a message to arrive in.
func Memory(n int) []byte {
	var b strings.Builder // the only memory that Go does not clear
	b.Grow(n + line)
	b.WriteByte(0) // so that there is a first byte to point to
	all := unsafe.Slice(unsafe.StringData(b.String()), n+line)
	skip := gap(int(uintptr(unsafe.Pointer(&all[0]))))
	return all[skip : skip+n : skip+n]
}

// Decode reads a message from data, preferably memory that Memory returned; data becomes the memory
// of its tensors. Its Value is an edge.Encoded, whose tensors are copied to dev on first use.
func Decode(data []byte, dev *rl.Device) (m edge.Message, err error) {
	if len(data) < prefix {
		return m, malformed("%d bytes", len(data))
	}
	n := uint64(binary.LittleEndian.Uint32(data))
	if n > uint64(len(data)-prefix) {
		return m, malformed("a head of %d bytes in %d", n, len(data))
	}
	d := decoder{head: data[prefix : prefix+n], all: data, at: prefix + int(n), dev: dev}
	for range d.count(1) {
		m.Versions = append(m.Versions, d.int())
	}
	m.Iter, m.Steps = d.int(), d.int()
	switch d.byte() {
	case 0:
		return m, d.finish()
	case 1:
		mark := d.bytes(4)
		if d.err == nil {
			m.Value = &value{d: d, mark: binary.LittleEndian.Uint32(mark)}
		}
		return m, d.err
	}
	d.fail("no value nor its absence")
	return m, d.err
}

// value is an encoded value that has not been decoded yet.
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
		return errors.New("value decoded twice")
	}
	v.done = true
	c, err := codecOf(p.Type().Elem())
	if err != nil {
		return err
	}
	if c.mark() != v.mark {
		return malformed("it carried another type: the generated programs do not fit each other")
	}
	p.Elem().SetZero() // codecs leave out what is nothing
	c.take(&v.d, p.UnsafePointer())
	if err := v.d.finish(); err != nil {
		p.Elem().SetZero()
		return err
	}
	return nil
}

// at returns the place of a field or an element.
func at(base unsafe.Pointer, offset uintptr) unsafe.Pointer { return unsafe.Add(base, offset) }

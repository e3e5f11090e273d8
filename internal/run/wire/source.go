package wire

import (
	"encoding/binary"

	"google.golang.org/grpc/mem"

	"github.com/weft-rl/weft/rl"
)

// source reads through a list of buffers.
type source struct {
	list mem.BufferSlice
	next int // buffer
	off  int // in it
}

// copy fills to, which must not be larger than what is left.
func (s *source) copy(to []byte) {
	for len(to) > 0 {
		b := s.list[s.next].ReadOnlyData()
		n := copy(to, b[s.off:])
		to = to[n:]
		if s.off += n; s.off == len(b) {
			s.next, s.off = s.next+1, 0
		}
	}
}

// take is the next n bytes: where they lie in one buffer, these themselves.
func (s *source) take(n int) []byte {
	if s.next < len(s.list) {
		if b := s.list[s.next].ReadOnlyData(); len(b)-s.off >= n {
			out := b[s.off : s.off+n : s.off+n]
			if s.off += n; s.off == len(b) {
				s.next, s.off = s.next+1, 0
			}
			return out
		}
	}
	out := make([]byte, n)
	s.copy(out)
	return out
}

// decoder reads a message's head, and its data as the head asks for them. After an
// error it gives zeros.
type decoder struct {
	head []byte
	from source // of data
	left int    // bytes of data
	dev  *rl.Device
	err  error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = malformed(format, args...)
	}
	d.head = nil
}

// finish sees that nothing is left over.
func (d *decoder) finish() error {
	if d.err == nil && len(d.head)+d.left > 0 {
		d.fail("%d bytes too many", len(d.head)+d.left)
	}
	return d.err
}

func (d *decoder) bytes(n int) []byte {
	if n < 0 || n > len(d.head) {
		d.fail("it ends early")
		return nil
	}
	out := d.head[:n]
	d.head = d.head[n:]
	return out
}

func (d *decoder) byte() byte {
	if b := d.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) uint() uint64 {
	x, n := binary.Uvarint(d.head)
	if n <= 0 {
		d.fail("no number where one should be")
		return 0
	}
	d.head = d.head[n:]
	return x
}

func (d *decoder) int() int64 {
	x, n := binary.Varint(d.head)
	if n <= 0 {
		d.fail("no number where one should be")
		return 0
	}
	d.head = d.head[n:]
	return x
}

// count is a number of things, of which each takes so many bytes of the head at
// least: more than there can be is an error before anything is made for them.
func (d *decoder) count(least int) int {
	n := d.uint()
	if n > uint64(len(d.head)/max(1, least)) {
		d.fail("%d things in %d bytes", n, len(d.head))
		return 0
	}
	return int(n)
}

func (d *decoder) text() string { return string(d.bytes(d.count(1))) }

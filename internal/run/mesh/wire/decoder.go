package wire

import (
	"encoding/binary"

	"github.com/weft-rl/weft/rl"
)

// decoder reads a message's head, and its data as the head asks for them. After an
// error it gives zeros.
type decoder struct {
	head []byte // rest of the header
	all  []byte // the message
	at   int    // where data follow
	dev  *rl.Device
	err  error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = malformed(format, args...)
	}
	d.head = nil
}

// finish checks that nothing is left over.
func (d *decoder) finish() error {
	if left := len(d.head) + len(d.all) - d.at; d.err == nil && left > 0 {
		d.fail("%d bytes too many", left)
	}
	return d.err
}

// left returns how many bytes of data there are still, once the next line is reached.
func (d *decoder) left() int { return max(0, len(d.all)-d.at-gap(d.at)) }

// data returns the next size bytes of data, which there are.
func (d *decoder) data(size int) []byte {
	if size == 0 {
		return nil
	}
	from := d.at + gap(d.at)
	d.at = from + size
	return d.all[from:d.at:d.at]
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

// count returns a number of things, of which each takes so many bytes of the head at
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

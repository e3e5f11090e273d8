package metrics

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"
)

// The decoder below shares nothing with the code it tests: its own checksum,
// its own varints, field numbers spelt out again.

// crc32c returns the Castagnoli checksum bit by bit.
func crc32c(b []byte) uint32 {
	sum := ^uint32(0)
	for _, x := range b {
		sum ^= uint32(x)
		for range 8 {
			sum = sum>>1 ^ (sum & 1 * 0x82f63b78)
		}
	}
	return ^sum
}

// unmask undoes the mask of a TFRecord's checksum.
func unmask(sum uint32) uint32 {
	sum -= 0xa282ead8
	return sum>>17 | sum<<15
}

func TestChecksum(t *testing.T) {
	check := []byte("123456789") // whose CRC-32C is in the catalogues
	if got := crc32c(check); got != 0xe3069283 {
		t.Errorf("the test's own checksum is %#x", got)
	}
	if got := unmask(maskedCRC(check)); got != 0xe3069283 {
		t.Errorf("unmasked checksum %#x", got)
	}
}

// field is one field of a protocol-buffer message: a number or bytes.
type field struct {
	id    uint64
	n     uint64
	bytes []byte
}

func decodeMessage(t *testing.T, b []byte) []field {
	t.Helper()
	var fields []field
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		b = b[n:]
		f := field{id: key >> 3}
		switch key & 7 {
		case 0:
			f.n, n = binary.Uvarint(b)
		case 1:
			f.n, n = binary.LittleEndian.Uint64(b), 8
		case 2:
			size, head := binary.Uvarint(b)
			n = head + int(size)
			f.bytes = b[head:n]
		case 5:
			f.n, n = uint64(binary.LittleEndian.Uint32(b)), 4
		default:
			t.Fatalf("wire type %d", key&7)
		}
		b = b[n:]
		fields = append(fields, f)
	}
	return fields
}

// decodeEvents writes each event of a file as a line of text.
func decodeEvents(t *testing.T, b []byte) []string {
	t.Helper()
	var events []string
	for len(b) > 0 {
		size := binary.LittleEndian.Uint64(b)
		data := b[12 : 12+size]
		if got := unmask(binary.LittleEndian.Uint32(b[8:])); got != crc32c(b[:8]) {
			t.Fatalf("record %d: checksum of length %#x", len(events), got)
		}
		if got := unmask(binary.LittleEndian.Uint32(b[12+size:])); got != crc32c(data) {
			t.Fatalf("record %d: checksum of data %#x", len(events), got)
		}
		events = append(events, decodeEvent(t, data))
		b = b[16+size:]
	}
	return events
}

func decodeEvent(t *testing.T, b []byte) string {
	t.Helper()
	var wall float64
	var step int64
	what := ""
	for _, f := range decodeMessage(t, b) {
		switch f.id {
		case 1:
			wall = math.Float64frombits(f.n)
		case 2:
			step = int64(f.n)
		case 3:
			what += fmt.Sprintf(" version %q", f.bytes)
		case 5:
			for _, v := range decodeMessage(t, f.bytes) {
				what += decodeValue(t, v.bytes)
			}
		case 7:
			what += fmt.Sprintf(" session %d", decodeMessage(t, f.bytes)[0].n)
		default:
			t.Fatalf("event field %d", f.id)
		}
	}
	return fmt.Sprintf("%.1f step %d:%s", wall, step, what)
}

func decodeValue(t *testing.T, b []byte) string {
	t.Helper()
	tag, simple, tensor, plugin := "", "", "", ""
	for _, f := range decodeMessage(t, b) {
		switch f.id {
		case 1:
			tag = fmt.Sprintf(" %q", f.bytes)
		case 2:
			simple = fmt.Sprintf("=%v", math.Float32frombits(uint32(f.n)))
		case 8:
			m := decodeMessage(t, f.bytes)
			tensor = fmt.Sprintf(" tensor type %d shape %q %q", m[0].n, m[1].bytes, m[2].bytes)
		case 9:
			plugin = fmt.Sprintf(" plugin %q", decodeMessage(t, decodeMessage(t, f.bytes)[0].bytes)[0].bytes)
		default:
			t.Fatalf("value field %d", f.id)
		}
	}
	return tag + simple + plugin + tensor
}

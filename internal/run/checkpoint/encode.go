package checkpoint

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
)

const (
	metadataKey   = "__metadata__"
	ownPrefix     = "weft."
	keyDigest     = ownPrefix + "sha256"
	keyFormat     = ownPrefix + "format"
	keyStep       = ownPrefix + "step"
	keyScore      = ownPrefix + "score"
	formatVersion = "1"

	lengthBytes = 8
	alignment   = 8
	// maxHeader is the bound that the safetensors library itself sets.
	maxHeader = 100_000_000
)

// opening is how every checkpoint's header begins. The checksum comes first so that it stands at a
// fixed place: it is the sha256 of the whole file with its own 64 digits read as '0', so no byte
// escapes it, not even a space of padding, and whoever checks it need not agree with us on how to
// write JSON.
const opening = `{"` + metadataKey + `":{"` + keyDigest + `":"`

const digestDigits = 2 * sha256.Size

var noDigest = bytes.Repeat([]byte{'0'}, digestDigits)

// digestOf returns the place of the checksum's digits in a header that begins as ours do.
func digestOf(header []byte) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(header, []byte(opening))
	if !ok || len(rest) <= digestDigits || rest[digestDigits] != '"' {
		return nil, false
	}
	return rest[:digestDigits], true
}

// image is a file ready to be written: its head, and the arrays' data as they lie in memory, not
// copied.
type image struct {
	head   []byte
	arrays []Array
}

// seal lays f out, with own as the package's further metadata, and computes the checksum.
func seal(f File, own map[string]string) (image, error) {
	if err := f.check(); err != nil {
		return image{}, err
	}
	m := image{arrays: layout(f.Arrays)}
	m.head = appendHeader(make([]byte, lengthBytes), f.Meta, own, m.arrays)
	n := len(m.head) - lengthBytes
	if n > maxHeader {
		return image{}, fmt.Errorf("header of %d bytes, more than %d: fewer arrays or less metadata are needed", n, maxHeader)
	}
	binary.LittleEndian.PutUint64(m.head, uint64(n))
	h := sha256.New()
	if _, err := m.WriteTo(h); err != nil {
		return image{}, err
	}
	digits, _ := digestOf(m.head[lengthBytes:])
	hex.Encode(digits, h.Sum(nil))
	return m, nil
}

// WriteTo writes the file's bytes.
func (m image) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(m.head)
	total := int64(n)
	for _, a := range m.arrays {
		if err != nil {
			break
		}
		var n int64
		n, err = a.writeTo(w)
		total += n
	}
	return total, err
}

// layout orders arrays as their data lie in the file: the widest elements first, then by name. With
// a head of a multiple of eight bytes, every array is then aligned to its elements and no gap,
// which the format forbids, is needed.
func layout(arrays []Array) []Array {
	l := byName(arrays)
	slices.SortStableFunc(l, func(a, b Array) int {
		return cmp.Compare(elementSize[b.DType], elementSize[a.DType])
	})
	return l
}

func appendHeader(b []byte, meta, own map[string]string, arrays []Array) []byte {
	b = append(b, opening...)
	b = append(b, noDigest...)
	b = append(b, '"')
	b = appendPair(b, keyFormat, cmp.Or(own[keyFormat], formatVersion))
	for _, m := range []map[string]string{own, meta} {
		for _, k := range sortedKeys(m) {
			if k != keyFormat {
				b = appendPair(b, k, m[k])
			}
		}
	}
	b = append(b, '}')
	offset := int64(0)
	for _, a := range arrays {
		b = appendEntry(b, a, offset)
		offset += a.bytes()
	}
	b = append(b, '}')
	for len(b)%alignment != 0 {
		b = append(b, ' ')
	}
	return b
}

func appendPair(b []byte, key, value string) []byte {
	b = appendString(append(b, ','), key)
	return appendString(append(b, ':'), value)
}

func appendEntry(b []byte, a Array, offset int64) []byte {
	b = appendString(append(b, ','), a.Name)
	b = append(b, `:{"dtype":"`...)
	b = append(b, a.DType...)
	b = append(b, `","shape":`...)
	b = appendInts(b, a.Shape...)
	b = append(b, `,"data_offsets":`...)
	b = appendInts(b, int(offset), int(offset+a.bytes()))
	return append(b, '}')
}

func appendInts(b []byte, ints ...int) []byte {
	b = append(b, '[')
	for i, n := range ints {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, ']')
}

func appendString(b []byte, s string) []byte {
	quoted, _ := json.Marshal(s) // a string always has a JSON form
	return append(b, quoted...)
}

func sortedKeys(m map[string]string) []string {
	return slices.Sorted(maps.Keys(m))
}

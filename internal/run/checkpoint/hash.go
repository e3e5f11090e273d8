package checkpoint

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
)

// WeightsSHA256 returns the sha256, in hexadecimal, of the arrays' data one after the other in name
// order (names compared byte by byte), and of nothing else: no names, shapes or lengths. Any tool
// that can sort names and write little-endian numbers can compute it. Of no arrays it is empty: the
// hash of nothing would be taken for one of weights.
func WeightsSHA256(arrays []Array) string {
	if len(arrays) == 0 {
		return ""
	}
	h := sha256.New()
	for _, a := range byName(arrays) {
		mustWrite(a, h)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// StateSHA256 returns the sha256, in hexadecimal, of the arrays in name order, each as: length of
// the name, name; length of the dtype, dtype; number of dimensions, each dimension; length of the
// data, data. All lengths and dimensions are unsigned 64-bit little-endian numbers, so that no two
// lists of arrays give the same bytes.
func StateSHA256(arrays []Array) string {
	h := sha256.New()
	var head []byte
	for _, a := range byName(arrays) {
		head = appendFramed(head[:0], a.Name)
		head = appendFramed(head, a.DType)
		head = appendUint(head, len(a.Shape))
		for _, d := range a.Shape {
			head = appendUint(head, d)
		}
		h.Write(appendUint(head, int(a.bytes())))
		mustWrite(a, h)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// mustWrite writes the data of an array of a run's own state, which is there to be read.
func mustWrite(a Array, w io.Writer) {
	if _, err := a.writeTo(w); err != nil {
		panic(fmt.Sprintf("array %q: %v", a.Name, err))
	}
}

func appendFramed(b []byte, s string) []byte {
	return append(appendUint(b, len(s)), s...)
}

func appendUint(b []byte, n int) []byte {
	return binary.LittleEndian.AppendUint64(b, uint64(n))
}

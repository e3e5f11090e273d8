package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
)

// Object is a checkpoint as bytes, to be kept elsewhere than in a Dir. The arrays'
// data are not copied: they must not change while it is in use.
type Object struct {
	m      image
	size   int64
	sha256 string
}

// Encode returns the checkpoint of a step as bytes.
func Encode(step int64, f File) (*Object, error) {
	return encode(f, map[string]string{keyStep: formatStep(step)})
}

// EncodeBest does what Encode does for the best checkpoint so far, which has a score.
func EncodeBest(score float64, step int64, f File) (*Object, error) {
	return encode(f, map[string]string{keyStep: formatStep(step), keyScore: strconv.FormatFloat(score, 'g', -1, 64)})
}

func encode(f File, own map[string]string) (*Object, error) {
	m, err := seal(f, own)
	if err != nil {
		return nil, err
	}
	o := &Object{m: m}
	sum := sha256.New()
	if o.size, err = m.WriteTo(sum); err != nil {
		return nil, err
	}
	o.sha256 = hex.EncodeToString(sum.Sum(nil))
	return o, nil
}

// Size returns the number of bytes.
func (o *Object) Size() int64 { return o.size }

// SHA256 returns the sha256 of all bytes, in hexadecimal.
func (o *Object) SHA256() string { return o.sha256 }

// Reader reads the bytes from the beginning.
func (o *Object) Reader() io.Reader {
	parts := []io.Reader{bytes.NewReader(o.m.head)}
	for _, a := range o.m.arrays {
		parts = append(parts, a.reader())
	}
	return io.MultiReader(parts...)
}

// Decode reads a checkpoint of size bytes, which must have that sha256 unless it is
// empty. It is checked in full.
func Decode(r io.Reader, size int64, sum string) (f File, step int64, err error) {
	f, own, err := decodeSummed(r, size, sum)
	if err == nil {
		step, err = strconv.ParseInt(own[keyStep], 10, 64)
	}
	return f, step, err
}

// DecodeBest does what Decode does for what EncodeBest wrote; it gives the score as well.
func DecodeBest(r io.Reader, size int64) (f File, score float64, step int64, err error) {
	f, own, err := decodeSummed(r, size, "")
	if err == nil {
		score, err = strconv.ParseFloat(own[keyScore], 64)
	}
	if err == nil {
		step, err = strconv.ParseInt(own[keyStep], 10, 64)
	}
	return f, score, step, err
}

func decodeSummed(r io.Reader, size int64, sum string) (File, map[string]string, error) {
	h := sha256.New()
	f, own, err := decode(source{io.TeeReader(io.LimitReader(r, size), h), size}, checkpointsOnly)
	if err != nil {
		return File{}, nil, err
	}
	if _, ok := own[keyBlocks]; ok {
		return File{}, nil, damaged("its blocks are in other files, of the folder that it was copied from")
	}
	if got := hex.EncodeToString(h.Sum(nil)); sum != "" && got != sum {
		return File{}, nil, damaged("its sha256 is %s, not %s", got, sum)
	}
	if n, _ := r.Read(make([]byte, 1)); n > 0 {
		return File{}, nil, fmt.Errorf("%w: it is longer than %d bytes", ErrDamaged, size)
	}
	return f, own, nil
}

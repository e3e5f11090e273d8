package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"os"
	"path/filepath"
)

// source is a file's bytes and how many there are. Nothing is allocated that is larger than what is
// really there.
type source struct {
	io.Reader
	size int64
}

// open calls f with the file at path. Anything but a regular file is refused before it can block.
func open(path string, f func(source) error) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return damaged("not a regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil {
		return err
	}
	return f(source{file, info.Size()})
}

// read returns the checkpoint at path, its arrays in blocks, and the package's own
// metadata. Blocks are checked when they are read.
func read(path string) (f File, blocks map[string]*blocked, own map[string]string, err error) {
	err = open(path, func(s source) error {
		if f, own, err = decode(s, checkpointsOnly); err == nil {
			f, blocks, err = resolve(filepath.Dir(path), f, own)
		}
		return err
	})
	if err != nil {
		return File{}, nil, nil, named(path, err)
	}
	return f, blocks, own, nil
}

// verify checks a checkpoint as read does, without keeping its data.
func verify(path string) (own map[string]string, err error) {
	err = open(path, func(s source) error {
		h, raw, err := readHead(s, checkpointsOnly)
		if err != nil {
			return err
		}
		own = h.own
		sum := startDigest(raw)
		if n, err := io.CopyN(sum, s, h.data); err != nil {
			return tornAt(err, s.size-h.data+n, s.size)
		}
		return checkDigest(raw, sum)
	})
	if err != nil {
		return nil, named(path, err)
	}
	return own, nil
}

// trust says what a reader checks of a file beyond its structure.
type trust int

const (
	checkpointsOnly trust = iota
	anyFile
)

// decode reads a whole file.
func decode(s source, t trust) (File, map[string]string, error) {
	h, raw, err := readHead(s, t)
	if err != nil {
		return File{}, nil, err
	}
	data := buffer(h.data)
	if n, err := io.ReadFull(s, data); err != nil {
		return File{}, nil, tornAt(err, s.size-h.data+int64(n), s.size)
	}
	if t == checkpointsOnly {
		sum := startDigest(raw)
		sum.Write(data)
		if err := checkDigest(raw, sum); err != nil {
			return File{}, nil, err
		}
	}
	return File{Meta: h.meta, Arrays: h.arrays(data)}, h.own, nil
}

// buffer returns n bytes aligned to eight. It takes 16 at least, because the allocator packs what
// is smaller.
func buffer(n int64) []byte { return make([]byte, n, max(n, 16)) }

// arrays cuts data into the arrays. Capacities end where arrays end, so that appending to one
// spoils no other.
func (h header) arrays(data []byte) []Array {
	arrays := make([]Array, len(h.entries))
	for i, e := range h.entries {
		arrays[i] = e.Array
		arrays[i].Data = data[e.begin:e.end:e.end]
	}
	return arrays
}

// readHead reads up to the data and checks that the data described is the data there is.
func readHead(s source, t trust) (header, []byte, error) {
	raw, err := rawHeader(s)
	if err != nil {
		return header{}, nil, err
	}
	h, err := parseHeader(raw)
	if err != nil {
		return header{}, nil, err
	}
	if t == checkpointsOnly {
		if err := checkOwn(h, raw); err != nil {
			return header{}, nil, err
		}
	}
	return h, raw, checkSize(h, int64(lengthBytes+len(raw)), s.size)
}

func rawHeader(s source) ([]byte, error) {
	var length [lengthBytes]byte
	if s.size < lengthBytes {
		return nil, notSafetensors("only %d bytes", s.size)
	}
	if n, err := io.ReadFull(s, length[:]); err != nil {
		return nil, tornAt(err, int64(n), s.size)
	}
	want := binary.LittleEndian.Uint64(length[:])
	if want > maxHeader {
		return nil, notSafetensors("a header of %d bytes", want)
	}
	have := min(int64(want), s.size-lengthBytes)
	raw := make([]byte, have)
	if n, err := io.ReadFull(s, raw); err != nil {
		return nil, tornAt(err, lengthBytes+int64(n), s.size)
	}
	if want == 0 || have > 0 && raw[0] != '{' {
		return nil, notSafetensors("no JSON header")
	}
	if have < int64(want) {
		return nil, damaged("torn: %d of at least %d bytes", s.size, lengthBytes+want)
	}
	return raw, nil
}

func notSafetensors(format string, args ...any) error {
	return damaged("not a checkpoint nor another safetensors file: "+format, args...)
}

// checkOwn asks for what makes a safetensors file a checkpoint of this version. The version comes
// before the checksum, because another version may compute that in another way.
func checkOwn(h header, raw []byte) error {
	version, ok := h.own[keyFormat]
	if !ok {
		return faultf(ErrForeign, "not a checkpoint: a safetensors file from elsewhere, which may hold weights but no run to go on with")
	}
	if version != formatVersion && version != blockedVersion {
		return faultf(ErrVersion, "written by format version %s, this binary reads %s and %s", version, formatVersion, blockedVersion)
	}
	if _, ok := digestOf(raw); !ok {
		return faultf(ErrForeign, "not a checkpoint: the checksum is not in its place, so another program has rewritten the file")
	}
	return nil
}

func checkSize(h header, head, size int64) error {
	if h.data > math.MaxInt64-head {
		return damaged("the header is wrong: it describes %d bytes of data", h.data)
	}
	switch want := head + h.data; {
	case size < want:
		return damaged("torn: %d of %d bytes", size, want)
	case size > want:
		return damaged("%d bytes follow the %d that the header describes", size-want, want)
	case h.data > math.MaxInt:
		return fmt.Errorf("%d bytes of data are more than this machine can address", h.data)
	}
	return nil
}

// tornAt explains a read that ended early: the file has shrunk since its size was taken.
func tornAt(err error, have, want int64) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return damaged("torn: %d of %d bytes", have, want)
	}
	return err
}

// startDigest begins the checksum of a file with the given header, whose digits count as '0'.
func startDigest(raw []byte) hash.Hash {
	sum := sha256.New()
	var length [lengthBytes]byte
	binary.LittleEndian.PutUint64(length[:], uint64(len(raw)))
	sum.Write(length[:])
	sum.Write([]byte(opening))
	sum.Write(noDigest)
	sum.Write(raw[len(opening)+digestDigits:])
	return sum
}

func checkDigest(raw []byte, sum hash.Hash) error {
	stated, _ := digestOf(raw)
	if !bytes.Equal(stated, hex.AppendEncode(nil, sum.Sum(nil))) {
		return damaged("checksum does not match: the file has been altered since it was written")
	}
	return nil
}

package mesh

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"google.golang.org/grpc/mem"
)

// frame is what crosses a stream at once: a message, a part of a large one, or a
// word about the stream itself.
type frame struct {
	kind     kind
	seq      uint64 // counts a stream's frames: none is lost, doubled or replayed
	edge     int
	from, to int    // replicas
	total    uint64 // bytes of the message that the frame is part of
	credits  []room // that go with it, whatever it is
	body     mem.BufferSlice
}

type kind uint8

const (
	data  kind = iota + 1 // begins a message that holds a place
	post                  // begins a message of which only the newest matters
	more                  // goes on with the message begun last
	beat                  // the sender is alive
	want                  // replica from waits for replica to
	bye                   // nothing follows
	ack                   // bye was received, and all before it
	fail                  // worker from gave up; the body says why
	lost                  // worker from was lost; likewise
	kinds                 // how many there are, and one
)

const (
	version    = 1
	headerSize = 40
	roomSize   = 12
	mostRooms  = 1 << 10 // of one frame
	// mostBody is the largest body of a frame. A message that is larger goes in parts,
	// so that no one who connects can ask for more memory than this.
	mostBody = 256 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errFrame = errors.New("bytes that are no frame")

// codec gives gRPC frames as they are: their bodies are neither copied nor looked
// into, but for their checksum.
type codec struct{}

func (codec) Name() string { return "weft" }

// Marshal hands the body over to gRPC, which frees it.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	f := v.(*frame)
	h := make([]byte, headerSize, headerSize+len(f.credits)*roomSize)
	h[0], h[1] = version, byte(f.kind)
	binary.LittleEndian.PutUint16(h[2:], uint16(len(f.credits)))
	binary.LittleEndian.PutUint64(h[8:], f.seq)
	binary.LittleEndian.PutUint32(h[16:], uint32(f.edge))
	binary.LittleEndian.PutUint32(h[20:], uint32(f.from))
	binary.LittleEndian.PutUint32(h[24:], uint32(f.to))
	binary.LittleEndian.PutUint64(h[32:], f.total)
	for _, r := range f.credits {
		h = binary.LittleEndian.AppendUint32(h, uint32(r.edge))
		h = binary.LittleEndian.AppendUint32(h, uint32(r.by))
		h = binary.LittleEndian.AppendUint32(h, uint32(r.to))
	}
	binary.LittleEndian.PutUint32(h[4:], checksum(h, f.body))
	out := make(mem.BufferSlice, 0, 1+len(f.body))
	return append(append(out, mem.SliceBuffer(h)), f.body...), nil
}

// checksum is that of a frame whose own checksum is 0 still.
func checksum(header []byte, body mem.BufferSlice) uint32 {
	sum := crc32.Update(0, castagnoli, header)
	for _, b := range body {
		sum = crc32.Update(sum, castagnoli, b.ReadOnlyData())
	}
	return sum
}

// Unmarshal keeps references to what lies behind the header; whoever takes the frame
// frees them.
func (codec) Unmarshal(from mem.BufferSlice, v any) error {
	var fixed [headerSize]byte
	if from.Len() < headerSize || from.Len() > mostFrame {
		return fmt.Errorf("%w: %d bytes", errFrame, from.Len())
	}
	from.CopyTo(fixed[:])
	rooms := int(binary.LittleEndian.Uint16(fixed[2:]))
	size := headerSize + rooms*roomSize
	if rooms > mostRooms || size > from.Len() {
		return fmt.Errorf("%w: %d credits", errFrame, rooms)
	}
	h := fixed[:]
	if rooms > 0 {
		h = make([]byte, size)
		from.CopyTo(h)
	}
	f := v.(*frame)
	f.read(h)
	f.body = behind(from, size)
	sum := binary.LittleEndian.Uint32(h[4:])
	clear(h[4:8])
	if h[0] != version || f.kind == 0 || f.kind >= kinds || checksum(h, f.body) != sum {
		f.body.Free()
		return fmt.Errorf("%w: its version, kind or checksum is wrong", errFrame)
	}
	return nil
}

// read takes a frame's header in.
func (f *frame) read(h []byte) {
	at := func(i int) int { return int(binary.LittleEndian.Uint32(h[i:])) }
	*f = frame{
		kind: kind(h[1]), seq: binary.LittleEndian.Uint64(h[8:]), edge: at(16), from: at(20), to: at(24),
		total: binary.LittleEndian.Uint64(h[32:]),
	}
	for i := headerSize; i < len(h); i += roomSize {
		f.credits = append(f.credits, room{at(i), at(i + 4), at(i + 8)})
	}
}

// mostFrame is the largest frame.
const mostFrame = headerSize + mostRooms*roomSize + mostBody

// behind is what follows the first n bytes, with references of its own.
func behind(from mem.BufferSlice, n int) (out mem.BufferSlice) {
	for _, b := range from {
		switch size := b.Len(); {
		case n >= size:
			n -= size
		case n > 0:
			out, n = append(out, b.Slice(n, size)), 0
		default:
			b.Ref()
			out = append(out, b)
		}
	}
	return out
}

// split is a message's bytes as bodies of frames; each has its own references, and
// those of all are used up.
func split(all mem.BufferSlice) (out []mem.BufferSlice) {
	if all.Len() <= mostBody {
		return []mem.BufferSlice{all}
	}
	var part mem.BufferSlice
	room := mostBody
	for _, b := range all {
		for off := 0; off < b.Len(); {
			n := min(room, b.Len()-off)
			part = append(part, b.Slice(off, off+n))
			off += n
			if room -= n; room == 0 {
				out, part, room = append(out, part), nil, mostBody
			}
		}
		b.Free()
	}
	if len(part) > 0 {
		out = append(out, part)
	}
	return out
}

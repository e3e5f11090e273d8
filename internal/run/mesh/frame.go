package mesh

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/weft-rl/weft/internal/run/mesh/sum"
	"github.com/weft-rl/weft/internal/run/mesh/wire"
)

// frame crosses at once: a message, a part of a large one, or a word about the
// stream itself.
type frame struct {
	kind     kind
	seq      uint64 // counts a stream's frames: none is lost, doubled or replayed
	edge     int
	from, to int    // replicas
	total    uint64 // bytes of the message that the frame is part of
	size     int    // bytes of the body
	sum      uint32 // checksum of the body
	credits  []room // credits sent with the frame, of any kind
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

// isMessage reports whether the body is a message's.
func (k kind) isMessage() bool { return k == data || k == post || k == more }

const (
	version    = 2
	headerSize = 48
	roomSize   = 12
	mostRooms  = 1 << 10 // most credits of one frame
	// mostBody is the largest body of a frame. A message that is larger goes in parts, so
	// that both sides compute checksums while the rest is on its way.
	mostBody = 256 << 10
	// mostFrame is the largest frame.
	mostFrame = headerSize + mostRooms*roomSize + mostBody
)

var errFrame = errors.New("bytes that are no frame")

// header writes what stands before a body, whose size and, if it is to have one,
// checksum it takes.
func (f *frame) header(h []byte, body []wire.Piece, sealed bool) []byte {
	f.size, f.sum = 0, 0
	for _, p := range body {
		f.size += len(p.Bytes)
		if !sealed {
			f.sum = sum.Update(f.sum, p.Bytes)
		}
	}
	h = append(h[:0], version, byte(f.kind))
	h = binary.LittleEndian.AppendUint16(h, uint16(len(f.credits)))
	h = binary.LittleEndian.AppendUint32(h, 0)
	h = binary.LittleEndian.AppendUint64(h, f.seq)
	for _, x := range [4]int{f.edge, f.from, f.to, f.size} {
		h = binary.LittleEndian.AppendUint32(h, uint32(x))
	}
	h = binary.LittleEndian.AppendUint64(h, f.total)
	h = binary.LittleEndian.AppendUint64(h, uint64(f.sum))
	for _, r := range f.credits {
		h = binary.LittleEndian.AppendUint32(h, uint32(r.edge))
		h = binary.LittleEndian.AppendUint32(h, uint32(r.by))
		h = binary.LittleEndian.AppendUint32(h, uint32(r.to))
	}
	binary.LittleEndian.PutUint32(h[4:], sum.Update(0, h))
	return h
}

// read takes a frame's header in. Its checksum is right.
func (f *frame) read(h []byte) {
	at := func(i int) int { return int(binary.LittleEndian.Uint32(h[i:])) }
	*f = frame{
		kind: kind(h[1]), seq: binary.LittleEndian.Uint64(h[8:]), edge: at(16), from: at(20), to: at(24), size: at(28),
		total: binary.LittleEndian.Uint64(h[32:]), sum: uint32(at(40)), credits: f.credits[:0],
	}
	for i := headerSize; i < len(h); i += roomSize {
		f.credits = append(f.credits, room{at(i), at(i + 4), at(i + 8)})
	}
}

// frames reads frames from a stream of bytes.
type frames struct {
	from   io.Reader
	sealed bool // the carrier has checksums of its own, so that bodies have none
	head   [headerSize + mostRooms*roomSize]byte
}

// next reads a frame. Its body goes to where place says, which is asked once the header
// is known to be right, and must give as many bytes as the frame's size.
func (r *frames) next(f *frame, place func(*frame) ([]byte, error)) error {
	if err := r.header(f); err != nil {
		return err
	}
	to, err := place(f)
	if err != nil {
		return err
	}
	got := uint32(0)
	for len(to) > 0 {
		part := to[:min(len(to), hot)]
		if _, err := io.ReadFull(r.from, part); err != nil {
			return err
		}
		if !r.sealed {
			got = sum.Update(got, part)
		}
		to = to[len(part):]
	}
	if got != f.sum {
		return fmt.Errorf("%w: its body's checksum is wrong", errFrame)
	}
	return nil
}

// hot is how much of a body is looked at at once, so that its checksum finds it in the
// cache.
const hot = 64 << 10

// header reads what stands before a body.
func (r *frames) header(f *frame) error {
	h := r.head[:headerSize]
	if _, err := io.ReadFull(r.from, h); err != nil {
		return err
	}
	rooms := int(binary.LittleEndian.Uint16(h[2:]))
	if h[0] != version || rooms > mostRooms {
		return fmt.Errorf("%w: version %d with %d credits", errFrame, h[0], rooms)
	}
	if rooms > 0 {
		h = r.head[:headerSize+rooms*roomSize]
		if _, err := io.ReadFull(r.from, h[headerSize:]); err != nil {
			return err
		}
	}
	said := binary.LittleEndian.Uint32(h[4:])
	clear(h[4:8])
	if sum.Update(0, h) != said {
		return fmt.Errorf("%w: its checksum is wrong", errFrame)
	}
	f.read(h)
	if f.kind == 0 || f.kind >= kinds || f.size > mostBody {
		return fmt.Errorf("%w: kind %d with %d bytes", errFrame, f.kind, f.size)
	}
	return nil
}

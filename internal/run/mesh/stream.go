package mesh

import (
	"io"
	"time"

	"github.com/weft-rl/weft/internal/run/mesh/ring"
	"github.com/weft-rl/weft/internal/run/mesh/wire"
)

// carrier takes bytes to a peer, in order. One goroutine reads while another puts.
type carrier interface {
	io.Reader
	// put takes bytes. Those with an owner stay what they are while it is held, others
	// only until put returns.
	put(b []byte, owner any) error
	// push lets what was put go; later means that it waits for company, and that flush
	// has to follow soon.
	push() (later bool, err error)
	// flush lets all go.
	flush() error
	// sealed reports whether no byte can change on the way without being noticed.
	sealed() bool
	// close ends both directions, and wakes who waits.
	close()
}

// stream is frames by way of a carrier.
type stream struct {
	carrier
	in   frames
	head []byte // header of the frame being sent
}

func newStream(c carrier) *stream {
	return &stream{carrier: c, in: frames{from: c, sealed: c.sealed()}}
}

// write puts a frame. It is on its way once it was pushed.
func (s *stream) write(f *frame, body []wire.Piece) error {
	s.head = f.header(s.head, body, s.in.sealed)
	if err := s.put(s.head, nil); err != nil {
		return err
	}
	for _, p := range body {
		if err := s.put(p.Bytes, p.Owner); err != nil {
			return err
		}
	}
	return nil
}

// shared is a carrier in memory that both processes have.
type shared struct{ *ring.Pipe }

func (s shared) put(b []byte, _ any) error {
	_, err := s.Write(b)
	return err
}

func (s shared) push() (bool, error) { return false, s.Flush() }
func (s shared) flush() error        { return s.Flush() }
func (s shared) sealed() bool        { return false }
func (s shared) close()              { _ = s.Close() } // nothing is kept there

// pace decides whether small bytes wait for company. A sender that goes on at once is
// faster if they do; an answer comes later, and does not wait.
type pace struct{ sent time.Time }

const (
	// runSize is how many small bytes go together.
	runSize = 32 << 10
	// company is how long after others bytes wait.
	company = 10 * time.Microsecond
	// inPlace is from where on bytes are sent from where they lie.
	inPlace = 4 << 10
)

func (p *pace) waits(size int) bool { return size < runSize && time.Since(p.sent) < company }
func (p *pace) mark()               { p.sent = time.Now() }

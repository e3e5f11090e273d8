package mesh

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-rl/weft/internal/run/mesh/ring"
	"github.com/weft-rl/weft/internal/run/port"
	"github.com/weft-rl/weft/internal/run/scratch"
)

// Processes of one host meet at a Unix socket. Who connects writes a letter with its
// hello; the answer is a letter with a code and a hello or a reason, and then the offer
// of shared memory, where there can be some.

const (
	mostLetter = 4 << 10
	// polite is how long who connects may take to say who it is, and who answers to do so.
	polite = 5 * time.Second
)

// letter writes bytes with their length.
func letter(w io.Writer, text []byte) error {
	_, err := w.Write(append(binary.LittleEndian.AppendUint16(nil, uint16(len(text))), text...))
	return err
}

// readLetter reads one, and nothing behind it.
func readLetter(r io.Reader) ([]byte, error) {
	var size [2]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint16(size[:])
	if n > mostLetter {
		return nil, fmt.Errorf("a handshake message has %d bytes, more than allowed", n)
	}
	text := make([]byte, n)
	_, err := io.ReadFull(r, text)
	return text, err
}

// bytes returns a hello as a letter.
func (h hello) bytes() (b []byte) {
	for _, s := range []string{protocol, h.run, h.secret} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	for _, n := range []int64{h.epoch, int64(h.from), int64(h.to), h.life} {
		b = binary.AppendVarint(b, n)
	}
	return b
}

var errHello = errors.New("it does not say who it is")

// helloOf reads the hello of a process that is not known yet.
func helloOf(b []byte) (h hello, err error) {
	var said string
	for _, s := range []*string{&said, &h.run, &h.secret} {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return h, errHello
		}
		*s, b = string(b[size:size+int(n)]), b[size+int(n):]
	}
	var numbers [4]int64
	for i := range numbers {
		n, size := binary.Varint(b)
		if size <= 0 {
			return h, errHello
		}
		numbers[i], b = n, b[size:]
	}
	if said != protocol {
		return h, fmt.Errorf("protocol %q, this is %s: the processes must be of the same version", said, protocol)
	}
	h.epoch, h.from, h.to, h.life = numbers[0], int(numbers[1]), int(numbers[2]), numbers[3]
	return h, nil
}

// door is a Unix socket at which peers of the same host connect.
type door struct {
	l    *net.UnixListener
	mu   sync.Mutex
	in   map[*net.UnixConn]bool // callers that have not been admitted yet
	shut bool
	all  sync.WaitGroup
}

// listenSocket adds a Unix socket in a folder that is this user's alone, which takes
// the place of certificates. Where there can be none, TCP does.
func (n *Node) listenSocket() {
	folder, err := scratch.New("weft-data-")
	if err != nil {
		return
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(folder.Path, "socket"), Net: "unix"})
	if err != nil {
		_ = folder.Remove()
		return
	}
	n.folder, n.socket = folder, l.Addr().String()
	n.o.NoMemory = n.o.NoMemory || ring.Probe() != nil // then the socket carries
	n.door = &door{l: l, in: map[*net.UnixConn]bool{}}
	n.serving.Go(func() { n.door.open(n.greet) })
}

// open lets greet see who comes, until the door is closed.
func (d *door) open(greet func(*net.UnixConn)) {
	defer d.all.Wait()
	for {
		c, err := d.l.AcceptUnix()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // too many files are open, say
			time.Sleep(20 * time.Millisecond)
		case !d.enter(c):
			_ = c.Close() // it is told nothing: there are too many
		default:
			d.all.Go(func() { greet(c) })
		}
	}
}

// enter registers a connection; it returns false if there are too many.
func (d *door) enter(c *net.UnixConn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut || len(d.in) >= port.Most {
		return false
	}
	d.in[c] = true
	return true
}

// leave removes a connection from those that are closed with the door.
func (d *door) leave(c *net.UnixConn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.in, c)
}

// close sends all away who wait.
func (d *door) close() {
	_ = d.l.Close() // nobody else comes
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut = true
	for c := range d.in {
		_ = c.Close() // nothing is left on it
	}
}

// greet reads the hello of a connection and admits the peer.
func (n *Node) greet(c *net.UnixConn) {
	s, p, err := n.hear(c)
	if err != nil {
		n.door.leave(c)
		_ = c.Close() // it was told why
		return
	}
	line, err := n.answer(c)
	n.door.leave(c)
	if err != nil {
		_ = c.Close()           // nothing is left on it
		p.admitted.Store(false) // it may come again
		return
	}
	s.host(p, line)
}

// hear reads a hello, and answers it.
func (n *Node) hear(c *net.UnixConn) (*Session, *peer, error) {
	if err := c.SetDeadline(time.Now().Add(polite)); err != nil {
		return nil, nil, err
	}
	text, err := readLetter(c)
	if err != nil {
		return nil, nil, err
	}
	var s *Session
	var p *peer
	h, err := helloOf(text)
	if err != nil {
		err = status.Error(codes.InvalidArgument, err.Error())
	} else {
		s, p, err = n.admit(h, "") // the folder of the socket is this user's alone
	}
	if err != nil {
		text := status.Convert(err).Message()
		_ = letter(c, append([]byte{byte(status.Code(err))}, text[:min(len(text), mostLetter-1)]...)) // or it is gone
		return nil, nil, err
	}
	if err := letter(c, append([]byte{byte(codes.OK)}, s.back(h).bytes()...)); err != nil {
		p.admitted.Store(false) // it may come again
		return nil, nil, err
	}
	return s, p, nil
}

// What follows a good answer: memory, or nothing.
const (
	withMemory = 'm'
	without    = 's'
)

// answer makes the connection a carrier: memory if there can be some.
func (n *Node) answer(c *net.UnixConn) (carrier, error) {
	if !n.o.NoMemory {
		if _, err := c.Write([]byte{withMemory}); err != nil {
			return nil, err
		}
		pipe, err := ring.Offer(c)
		if err != nil {
			return nil, err
		}
		return shared{pipe}, c.SetDeadline(time.Time{})
	}
	if _, err := c.Write([]byte{without}); err != nil {
		return nil, err
	}
	return newPlain(c), c.SetDeadline(time.Time{})
}

// knock tries a peer's socket once.
func (s *Session) knock(at string, h hello) (_ carrier, err error) {
	attempt, stop := s.attempt()
	defer stop()
	defer func() { err = silent(attempt, err) }()
	conn, err := dialer.DialContext(attempt, "unix", at)
	if err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	release := context.AfterFunc(attempt, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	c, err := s.introduce(conn.(*net.UnixConn), h)
	if release() && err == nil {
		return c, conn.SetDeadline(time.Time{})
	}
	_ = conn.Close() // nothing is left on it
	if err == nil {
		c.close()
		err = context.Cause(attempt)
	}
	return nil, err
}

// introduce says who this is, and sees who answers.
func (s *Session) introduce(conn *net.UnixConn, h hello) (carrier, error) {
	if err := letter(conn, h.bytes()); err != nil {
		return nil, status.Error(codes.Unavailable, err.Error()) // it ends just now
	}
	text, err := readLetter(conn)
	if err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	if len(text) == 0 || codes.Code(text[0]) != codes.OK {
		return nil, refusal(text)
	}
	answer, err := helloOf(text[1:])
	if err == nil {
		err = s.verify(answer, h)
	}
	if err != nil {
		return nil, err
	}
	var how [1]byte
	if _, err := io.ReadFull(conn, how[:]); err != nil {
		return nil, err
	}
	if how[0] != withMemory {
		return newPlain(conn), nil
	}
	pipe, err := ring.Take(conn)
	if err != nil {
		return nil, err
	}
	return shared{pipe}, nil
}

// refusal returns why a connection was refused.
func refusal(text []byte) error {
	if len(text) == 0 {
		return errHello
	}
	return status.Error(codes.Code(text[0]), string(text[1:]))
}

// plain is a carrier over a connection, where there is no shared memory. Large bytes go
// from where they lie, with the small ones before them.
type plain struct {
	net.Conn
	in  *bufio.Reader
	out []byte // small bytes that wait
	pace
}

func newPlain(c net.Conn) *plain {
	return &plain{Conn: c, in: bufio.NewReaderSize(c, buffer), out: make([]byte, 0, 2*runSize)}
}

func (p *plain) Read(b []byte) (int, error) { return p.in.Read(b) }

func (p *plain) put(b []byte, _ any) error {
	if len(b) < inPlace {
		if p.out = append(p.out, b...); len(p.out) < runSize {
			return nil
		}
		return p.flush()
	}
	both := net.Buffers{p.out, b}
	_, err := both.WriteTo(p.Conn)
	p.out = p.out[:0]
	p.mark()
	return err
}

func (p *plain) push() (later bool, err error) {
	if p.waits(len(p.out)) {
		return true, nil
	}
	return false, p.flush()
}

func (p *plain) flush() error {
	if len(p.out) == 0 {
		return nil
	}
	_, err := p.Write(p.out)
	p.out = p.out[:0]
	p.mark()
	return err
}

func (p *plain) sealed() bool { return false }
func (p *plain) close()       { _ = p.Close() } // nothing is kept there

package protocol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-rl/weft/internal/run/part"
)

// StageChunk is how many bytes of a program one message has.
const StageChunk = 1 << 20

// Staging is a coordinator's end of the call that hands a program over.
type Staging struct{ stream grpc.ServerStream }

// Context ends with the call.
func (s Staging) Context() context.Context { return s.stream.Context() }

// Begin waits for the first message, which says what program it is.
func (s Staging) Begin() (*Stage, error) {
	m := new(Stage)
	return m, s.stream.RecvMsg(m)
}

// Done tells the client that the program is there.
func (s Staging) Done() error { return s.stream.SendMsg(&OK{}) }

// Reader reads the bytes that follow the first message.
func (s Staging) Reader() io.Reader {
	return &pieces{next: func() ([]byte, error) {
		m := new(Stage)
		err := s.stream.RecvMsg(m)
		return m.Tail, err
	}}
}

// pieces reads messages as one stream of bytes.
type pieces struct {
	next func() ([]byte, error)
	rest []byte
	err  error
}

func (p *pieces) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		if p.err != nil {
			return 0, p.err
		}
		p.rest, p.err = p.next()
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// Stage hands a program over to the coordinator, unless it has that already. Open returns the
// program's bytes from the beginning; it is called again if the coordinator is replaced meanwhile.
func (c *Client) Stage(ctx context.Context, p part.Program, open func() (io.ReadCloser, error)) error {
	return c.Each(ctx, func(conn *grpc.ClientConn) error {
		r, err := open()
		if err != nil {
			return Final{err}
		}
		defer r.Close()
		return older(send(ctx, conn, p, r))
	})
}

// older says what to do about a coordinator that knows no programs.
func older(err error) error {
	if status.Code(err) == codes.Unimplemented {
		return Final{errors.New("the coordinator takes no programs: it is of an older version of weft; upgrade it")}
	}
	return err
}

// send sends a program until the coordinator has it, or says why it does not take it.
func send(ctx context.Context, conn *grpc.ClientConn, p part.Program, r io.Reader) error {
	ctx, cancel := context.WithTimeout(ctx, stageTime)
	defer cancel()
	s, err := conn.NewStream(ctx, &stageStream, "/"+service+"/"+stageStream.StreamName)
	if err != nil {
		return err
	}
	err = s.SendMsg(&Stage{Version: Version, Program: &p})
	buffer := make([]byte, StageChunk)
	for err == nil {
		var n int
		if n, err = io.ReadFull(r, buffer); n > 0 {
			if e := s.SendMsg(&Stage{Tail: buffer[:n]}); e != nil {
				err = e
			}
		}
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF): // all is sent, or it has heard enough
		_ = s.CloseSend() // what became of it is received
	default:
		return Final{err}
	}
	return s.RecvMsg(new(OK))
}

// stageTime is how long a program may take to be handed over.
const stageTime = 10 * time.Minute

// Program fetches a program from the coordinator. Keep is given its bytes, and is called again from
// the beginning if the connection breaks.
func (c *Client) Program(ctx context.Context, p part.Program, keep func(io.Reader) error) error {
	err := c.Each(ctx, func(conn *grpc.ClientConn) error {
		ctx, cancel := context.WithTimeout(ctx, stageTime)
		defer cancel()
		s, err := conn.NewStream(ctx, &progStream, "/"+service+"/"+progStream.StreamName)
		if err == nil {
			err = errors.Join(s.SendMsg(&Named{Version: Version, Program: &p}), s.CloseSend())
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		r := &pieces{next: func() ([]byte, error) {
			m := new(Chunk)
			err := s.RecvMsg(m)
			return m.Tail, err
		}}
		err = keep(r)
		if r.err != nil && !errors.Is(r.err, io.EOF) {
			return older(r.err)
		}
		if err != nil {
			return Final{err}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("fetching program %.12s: %w", p.SHA256, err)
	}
	return nil
}

package mesh

import (
	"sync"

	"google.golang.org/grpc/mem"
)

// calls is either end of a gRPC stream.
type calls interface {
	SendMsg(any) error
	RecvMsg(any) error
}

// remote is a carrier over gRPC. Its messages have no meaning: each is bytes, of which
// small ones are put together, and large ones sent from where they lie.
type remote struct {
	calls
	stop func() // ends a stream that this process opened
	tls  bool

	in arrival

	out  mem.BufferSlice
	run  *[]byte // buffer that small pieces are copied to; nil is none
	size int     // bytes in out and run
	pace
}

// mostMessage is the largest message of gRPC's.
const mostMessage = mostFrame + 2*runSize

// Read gives what came.
func (r *remote) Read(b []byte) (int, error) {
	for r.in.Remaining() == 0 {
		if err := r.RecvMsg(&r.in); err != nil {
			return 0, err
		}
	}
	return r.in.Read(b)
}

func (r *remote) put(b []byte, owner any) error {
	r.size += len(b)
	if owner != nil && len(b) >= inPlace {
		r.hold(b, owner)
		return nil
	}
	for len(b) > 0 {
		if r.run == nil {
			r.run = runs.Get(0)
		}
		n := min(len(b), cap(*r.run)-len(*r.run))
		*r.run = append(*r.run, b[:n]...)
		if b = b[n:]; len(b) > 0 {
			r.cut()
		}
	}
	return nil
}

// hold sends bytes from where they lie.
func (r *remote) hold(b []byte, owner any) {
	r.cut()
	r.out = append(r.out, mem.NewBuffer(&b, &holder{owner}))
}

// cut ends the run of small bytes.
func (r *remote) cut() {
	if r.run != nil {
		r.out, r.run = append(r.out, mem.NewBuffer(r.run, runs)), nil
	}
}

func (r *remote) push() (later bool, err error) {
	if r.waits(r.size) {
		return true, nil
	}
	return false, r.flush()
}

func (r *remote) flush() error {
	if r.size == 0 {
		return nil
	}
	r.cut()
	out := departure(r.out)
	r.out, r.size = nil, 0
	err := r.SendMsg(out)
	r.mark()
	return err
}

// sealed: every record of TLS is authenticated, which no checksum could add to.
func (r *remote) sealed() bool { return r.tls }

func (r *remote) close() {
	if r.stop != nil {
		r.stop()
	}
}

// departure is a message of gRPC's to send, arrival one that came.
type departure mem.BufferSlice
type arrival struct{ mem.Reader }

// codec gives gRPC bytes as they are.
type codec struct{}

func (codec) Name() string { return "weft" }

// Marshal hands the bytes over to gRPC, which frees them.
func (codec) Marshal(v any) (mem.BufferSlice, error) { return mem.BufferSlice(v.(departure)), nil }

// Unmarshal keeps references, which the reader frees as it goes.
func (codec) Unmarshal(from mem.BufferSlice, v any) error {
	v.(*arrival).Reset(from)
	return nil
}

// holder is a pool that nothing is taken from: it keeps the owner of bytes until they
// come back.
type holder struct{ owner any }

func (h *holder) Get(n int) *[]byte { b := make([]byte, n); return &b }
func (h *holder) Put(*[]byte)       { h.owner = nil }

// runs is a pool of memory for small bytes.
var runs = &pool{sync.Pool{New: func() any { b := make([]byte, 0, runSize); return &b }}}

type pool struct{ sync.Pool }

func (p *pool) Get(int) *[]byte { return p.Pool.Get().(*[]byte) }

func (p *pool) Put(b *[]byte) {
	*b = (*b)[:0]
	p.Pool.Put(b)
}

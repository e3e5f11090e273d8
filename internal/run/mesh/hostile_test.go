package mesh

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/run/mesh/selfsigned"
	"github.com/weft-rl/weft/internal/run/mesh/wire"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/rl"
)

// message returns a good message of replica 0 for replica 1.
func message(t testing.TB) []byte {
	t.Helper()
	var e wire.Encoder
	all, err := e.Encode(edge.Message{Value: 5})
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	return all[0].Bytes
}

// sent is a frame that somebody sends, whatever it says.
type sent struct {
	frame
	body string
}

func (x *sent) write(t testing.TB, s *stream) {
	t.Helper()
	if err := s.write(&x.frame, []wire.Piece{{Bytes: []byte(x.body)}}); err != nil {
		t.Fatal(err)
	}
}

// TestHostile: a peer that breaks the rules ends the epoch with a reason that names
// it, and nothing else happens, whatever it came by.
func TestHostile(t *testing.T) {
	good := string(message(t))
	size := uint64(len(good))
	for name, c := range map[string]struct {
		frames []sent
		want   string
	}{
		"lost frame":     {[]sent{{frame: frame{kind: beat, seq: 1}}}, "frame 1 came as number 0"},
		"replay":         {[]sent{{frame: frame{kind: beat}}, {frame: frame{kind: beat}}}, "frame 0 came as number 1"},
		"no message":     {[]sent{{frame{kind: data, to: 1, total: 4}, "\xff\xff\xff\xff"}}, "malformed"},
		"oversized":      {[]sent{{frame: frame{kind: data, to: 1, total: 1 << 40}}}, "is more than"},
		"too long":       {[]sent{{frame{kind: data, to: 1, total: size - 1}, good}}, "another length"},
		"too short":      {[]sent{{frame{kind: data, to: 1, total: size + 1}, good}}, "another length"},
		"alone":          {[]sent{{frame{kind: more, to: 1, total: size}, good}}, "came alone"},
		"crowded":        {[]sent{{frame{kind: data, to: 1, total: size}, good}, {frame{kind: data, seq: 1, to: 1, total: size}, good}}, "room"},
		"another's":      {[]sent{{frame{kind: data, from: 2, to: 1, total: size}, good}}, "which it does not have"},
		"nobody's":       {[]sent{{frame{kind: data, from: 1 << 31, to: 1, total: size}, good}}, "which it does not have"},
		"to another":     {[]sent{{frame{kind: data, to: 0, total: size}, good}}, "not in this process"},
		"to nobody":      {[]sent{{frame{kind: data, to: 77, total: size}, good}}, "not in this process"},
		"no edge":        {[]sent{{frame{kind: data, edge: 9, to: 1, total: size}, good}}, "not in this process"},
		"posted nowhere": {[]sent{{frame{kind: post, edge: 9, to: 1, total: size}, good}}, "not in this process"},
		"credit":         {[]sent{{frame: frame{kind: beat, credits: []room{{0, 0, 1}}}}}, "took more"},
		"credit of else": {[]sent{{frame: frame{kind: beat, credits: []room{{0, 2, 1}}}}}, "which it does not have"},
		"credit nowhere": {[]sent{{frame: frame{kind: beat, credits: []room{{7, 0, 1}}}}}, "not in this process"},
		"want nowhere":   {[]sent{{frame: frame{kind: want, edge: 7, to: 1}}}, "no replica of this process"},
		"blames nobody":  {[]sent{{frame{kind: lost, from: 99}, "x"}}, "worker 99 of 3"},
		"a novel":        {[]sent{{frame{kind: lost}, strings.Repeat("x", mostText+1)}}, "bytes of text"},
		"unknown":        {[]sent{{frame: frame{kind: kinds}}}, "no frame"},
	} {
		for _, way := range ways {
			t.Run(name+"/"+way, func(t *testing.T) {
				p, s := intrude(t, way)
				for i := range c.frames {
					c.frames[i].write(t, s)
				}
				if err := s.flush(); err != nil {
					t.Fatal(err)
				}
				if err := await(t, p); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %q", err, c.want)
				}
				s.close()
				p.Abort(errEnded)
			})
		}
	}
}

// TestNoise: bytes that are no frames are found out.
func TestNoise(t *testing.T) {
	for _, way := range ways {
		p, s := intrude(t, way)
		if err := s.put(bytes.Repeat([]byte("noise"), 1000), nil); err != nil {
			t.Fatal(err)
		}
		if err := s.flush(); err != nil {
			t.Fatal(err)
		}
		if err := await(t, p); !errors.Is(err, errFrame) {
			t.Errorf("%s: %v", way, err)
		}
		s.close()
		p.Abort(errEnded)
	}
}

// intrude returns a process, and the stream of somebody who takes part as worker 0.
func intrude(t *testing.T, way string) (*process, *stream) {
	t.Helper()
	o, host := options(way)
	nodes := []*Node{listen(t, o), listen(t, o), listen(t, o)}
	g := group(nodes, host)
	g.Homes = []int{0, 1, 1} // worker 2 only exists
	conn, err := grpc.NewClient("passthrough:///"+nodes[1].address, clientOptions(nil)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	by := &Session{node: nodes[0], ctx: t.Context(), joining: t.Context()}
	h := hello{run: "run", epoch: 3, from: 0, to: 1}
	var c carrier
	var knocking sync.WaitGroup
	knocking.Go(func() {
		for err := errors.New("not yet"); err != nil && t.Context().Err() == nil; {
			if host == "" {
				c, err = by.open(conn, h)
			} else {
				c, err = by.knock(nodes[1].socket, h)
			}
		}
	})
	p, err := nodes[1].enter(t, g, 1, []int{1})
	if err != nil {
		t.Fatal(err)
	}
	knocking.Wait()
	return p, newStream(c)
}

// TestTLS: with certificates of both sides it works, without nobody comes in.
func TestTLS(t *testing.T) {
	config, err := selfsigned.Config()
	if err != nil {
		t.Fatal(err)
	}
	works(t, join(t, 2, Options{TLS: config, NoSocket: true}, "", 1))

	p := join(t, 2, Options{TLS: config}, "here", 1)
	without := &tls.Config{RootCAs: config.RootCAs, ServerName: config.ServerName, MinVersion: tls.VersionTLS13}
	other, err := selfsigned.Config()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*tls.Config{"plain": nil, "no certificate": without, "another's": other} {
		conn, err := grpc.NewClient("passthrough:///"+p[1].node.address, clientOptions(c)...)
		if err != nil {
			t.Fatal(err)
		}
		h := hello{run: "run", epoch: 3, from: 0, to: 1}
		ctx, cancel := context.WithTimeout(metadata.NewOutgoingContext(t.Context(), h.metadata()), 10*time.Second)
		s, err := conn.NewStream(ctx, &service.Streams[0], method)
		if err == nil {
			err = s.RecvMsg(new(arrival))
		}
		if err == nil || strings.Contains(err.Error(), "connected already") {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		_ = conn.Close()
	}
	works(t, p)
}

// TestSlow: somebody who connects and says nothing is put out, and keeps nobody.
func TestSlow(t *testing.T) {
	p := join(t, 2, Options{}, "", 1)
	for range 50 {
		c, err := net.Dial("tcp", p[1].node.address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	works(t, p)
}

// TestSlowSocket: likewise at the socket, where bytes that mean nothing do no harm
// either.
func TestSlowSocket(t *testing.T) {
	p := join(t, 2, Options{}, "here", 1)
	for _, text := range []string{"", "\x05", "\xff\xff", "\x03\x00abc", "\x02\x00\x012" + strings.Repeat("x", 1<<16)} {
		for range 10 {
			c, err := net.Dial("unix", p[1].node.socket)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, _ = c.Write([]byte(text)) // it may be cut off meanwhile
		}
	}
	works(t, p)
}

// FuzzHello: whatever comes is a hello or an error.
func FuzzHello(f *testing.F) {
	f.Add(hello{run: "run", epoch: -3, from: 1, to: 70000, secret: "\xff\x00"}.bytes())
	f.Add(hello{}.bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := helloOf(b)
		if err != nil {
			return
		}
		if again, err := helloOf(h.bytes()); err != nil || again != h {
			t.Errorf("%+v became %+v: %v", h, again, err)
		}
	})
}

// FuzzFrame: whatever comes is a frame or an error.
func FuzzFrame(f *testing.F) {
	for _, x := range []sent{
		{frame: frame{kind: beat}}, {frame{kind: data, seq: 3, edge: 1, from: 2, to: 3, total: 9}, string(message(f))},
		{frame: frame{kind: bye, credits: []room{{1, 2, 3}, {4, 5, 6}}}},
	} {
		f.Add(x.bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := frames{from: iotest.OneByteReader(bytes.NewReader(b))}
		var x sent
		var body []byte
		if r.next(&x.frame, func(f *frame) ([]byte, error) {
			body = make([]byte, f.size)
			return body, nil
		}) != nil {
			return
		}
		x.body = string(body)
		if again := x.bytes(); !bytes.HasPrefix(b, again) {
			t.Errorf("%v became %v", b, again)
		}
	})
}

func (x *sent) bytes() []byte {
	return append(x.header(nil, []wire.Piece{{Bytes: []byte(x.body)}}, false), x.body...)
}

// deaf is a carrier that nobody reads.
type deaf struct{}

func (deaf) Read([]byte) (int, error) { return 0, errors.New("nothing comes") }
func (deaf) put([]byte, any) error    { return nil }
func (deaf) push() (bool, error)      { return false, nil }
func (deaf) flush() error             { return nil }
func (deaf) sealed() bool             { return false }
func (deaf) close()                   {}

// FuzzHandle: frames in any order and with any contents are taken or refused.
func FuzzHandle(f *testing.F) {
	d, err := device.Open(device.Default)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{1, 0, 0, 1, 4, 0, 0, 0, 0, 2, 0, 0, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &Session{
			node: &Node{o: Options{}.withDefaults()}, told: make(chan struct{}), end: func(error) {},
			g: Group{Homes: []int{0, 1}, Me: 1, Workers: make([]part.Worker, 2), Links: edge.NewLocal(2, []int{1, 2}), Device: d},
		}
		s.ctx, s.end = context.WithCancelCause(t.Context())
		p := newPeer(0, part.Worker{}, "")
		p.stream = newStream(deaf{})
		close(p.open)
		s.peers = make([]atomic.Pointer[peer], 2)
		s.peers[0].Store(p)
		s.g.Links.Join([]bool{true, false}, s)
		in := inbox{largest: 1 << 20}
		for ; len(b) >= 6; b = b[6:] {
			n := min(int(b[4]), len(b)-6)
			x := frame{kind: kind(b[0]), edge: int(b[1]), from: int(b[2]), to: int(b[3]), total: uint64(b[5]), size: n}
			to, err := in.place(&x)
			if err != nil {
				break
			}
			copy(to, b[6:6+n])
			b = b[n:]
			if s.handle(p, &in, x) != nil {
				break
			}
			if m, ok := s.g.Links.Link(1).Poll(); ok && m.Value != nil {
				var v rl.Tensor
				_ = m.Value.(edge.Encoded).Decode(&v) // an error, or a tensor
			}
		}
		s.end(nil)
		s.tasks.Wait()
	})
}

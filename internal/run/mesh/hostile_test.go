package mesh

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/run/mesh/selfsigned"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/wire"
	"github.com/weft-rl/weft/rl"
)

// message is a good message of replica 0 for replica 1.
func message(t testing.TB) mem.BufferSlice {
	t.Helper()
	b, err := wire.Encode(edge.Message{Value: 5})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestHostile: a peer that breaks the rules ends the epoch with a reason that names
// it, and nothing else happens.
func TestHostile(t *testing.T) {
	good := message(t)
	size := uint64(good.Len())
	text := func(s string) mem.BufferSlice { return mem.BufferSlice{mem.SliceBuffer(s)} }
	for name, c := range map[string]struct {
		frames []frame
		want   string
	}{
		"lost frame":     {[]frame{{kind: beat, seq: 1}}, "frame 1 came as number 0"},
		"replay":         {[]frame{{kind: beat}, {kind: beat}}, "frame 0 came as number 1"},
		"no message":     {[]frame{{kind: data, to: 1, total: 4, body: text("\xff\xff\xff\xff")}}, "malformed"},
		"oversized":      {[]frame{{kind: data, to: 1, total: 1 << 40}}, "is more than"},
		"too long":       {[]frame{{kind: data, to: 1, total: size - 1, body: good}}, "not the length"},
		"too short":      {[]frame{{kind: data, to: 1, total: size + 1, body: good}}, "not the length"},
		"alone":          {[]frame{{kind: more, to: 1, total: size, body: good}}, "came alone"},
		"crowded":        {[]frame{{kind: data, to: 1, total: size, body: good}, {kind: data, seq: 1, to: 1, total: size, body: good}}, "room"},
		"another's":      {[]frame{{kind: data, from: 2, to: 1, total: size, body: good}}, "not its"},
		"nobody's":       {[]frame{{kind: data, from: 1 << 31, to: 1, total: size, body: good}}, "not its"},
		"to another":     {[]frame{{kind: data, to: 0, total: size, body: good}}, "nobody's"},
		"to nobody":      {[]frame{{kind: data, to: 77, total: size, body: good}}, "nobody's"},
		"no edge":        {[]frame{{kind: data, edge: 9, to: 1, total: size, body: good}}, "nobody's"},
		"posted nowhere": {[]frame{{kind: post, edge: 9, to: 1, total: size, body: good}}, "nobody's"},
		"credit":         {[]frame{{kind: beat, credits: []room{{0, 0, 1}}}}, "took more"},
		"credit of else": {[]frame{{kind: beat, credits: []room{{0, 2, 1}}}}, "not its"},
		"credit nowhere": {[]frame{{kind: beat, credits: []room{{7, 0, 1}}}}, "nobody's"},
		"want nowhere":   {[]frame{{kind: want, edge: 7, to: 1}}, "nobody's"},
		"blames nobody":  {[]frame{{kind: lost, from: 99, body: text("x")}}, "worker 99 of 3"},
	} {
		t.Run(name, func(t *testing.T) {
			p, s := intrude(t)
			for i := range c.frames {
				if err := s.SendMsg(&c.frames[i]); err != nil {
					t.Fatal(err)
				}
			}
			if err := await(t, p); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			p.Abort(errEnded)
		})
	}
}

// intrude is a process, and the stream of somebody who takes part as worker 0.
func intrude(t *testing.T) (*process, grpc.ClientStream) {
	t.Helper()
	nodes := []*Node{listen(t, Options{}), listen(t, Options{}), listen(t, Options{})}
	g := group(nodes, "")
	g.Homes = []int{0, 1, 1} // worker 2 only exists
	conn, err := grpc.NewClient("passthrough:///"+nodes[1].address, clientOptions(nil, "tcp")...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	var stream grpc.ClientStream
	var knocking sync.WaitGroup
	knocking.Go(func() {
		h := hello{run: "run", epoch: 3, from: 0, to: 1}
		for {
			s, err := conn.NewStream(metadata.NewOutgoingContext(t.Context(), h.metadata()), &service.Streams[0], method)
			if err == nil {
				if md, err := s.Header(); err == nil && len(md.Get("weft-protocol")) > 0 {
					stream = s
					return
				}
			}
			if t.Context().Err() != nil {
				return
			}
		}
	})
	p, err := nodes[1].enter(t, g, 1, []int{1})
	if err != nil {
		t.Fatal(err)
	}
	knocking.Wait()
	return p, stream
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
		conn, err := grpc.NewClient("passthrough:///"+p[1].node.address, clientOptions(c, "tcp")...)
		if err != nil {
			t.Fatal(err)
		}
		h := hello{run: "run", epoch: 3, from: 0, to: 1}
		ctx, cancel := context.WithTimeout(metadata.NewOutgoingContext(t.Context(), h.metadata()), 10*time.Second)
		s, err := conn.NewStream(ctx, &service.Streams[0], method)
		if err == nil {
			err = s.RecvMsg(&frame{})
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

// FuzzFrame: whatever comes is a frame or an error.
func FuzzFrame(f *testing.F) {
	for _, x := range []frame{
		{kind: beat}, {kind: data, seq: 3, edge: 1, from: 2, to: 3, total: 9, body: message(f)},
		{kind: bye, credits: []room{{1, 2, 3}, {4, 5, 6}}},
	} {
		b, err := codec{}.Marshal(&x)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b.Materialize())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var x frame
		if (codec{}).Unmarshal(cutUp(b), &x) != nil {
			return
		}
		again, err := codec{}.Marshal(&x)
		if err != nil || string(again.Materialize()[headerSize:]) != string(b[headerSize:]) {
			t.Errorf("%v is not what it was: %v", b, err)
		}
	})
}

// cutUp is bytes as they might come.
func cutUp(b []byte) (out mem.BufferSlice) {
	for len(b) > 0 {
		n := min(len(b), 7)
		out, b = append(out, mem.SliceBuffer(b[:n])), b[n:]
	}
	return out
}

// deaf is a stream that nobody reads.
type deaf struct{}

func (deaf) SendMsg(any) error { return nil }
func (deaf) RecvMsg(any) error { return errors.New("nothing comes") }

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
		p.stream = deaf{}
		s.peers = make([]atomic.Pointer[peer], 2)
		s.peers[0].Store(p)
		s.g.Links.Join([]bool{true, false}, s)
		var in inbox
		for ; len(b) >= 6; b = b[6:] {
			n := min(int(b[4]), len(b)-6)
			x := frame{kind: kind(b[0]), edge: int(b[1]), from: int(b[2]), to: int(b[3]), total: uint64(b[5])}
			if n > 0 {
				x.body, b = mem.BufferSlice{mem.SliceBuffer(b[6 : 6+n])}, b[n:]
			}
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

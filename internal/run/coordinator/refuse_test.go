package coordinator_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/weft-rl/weft/internal/run/certs"
	"github.com/weft-rl/weft/internal/run/protocol"
	"github.com/weft-rl/weft/internal/run/worker"
)

// Who does not belong is refused with a reason, and a run goes on meanwhile.
func TestRefused(t *testing.T) {
	c := newCluster(t)
	at, _ := c.coordinate("127.0.0.1:0")
	c.work("a")
	c.members(1)
	letGo := c.disk.hold("r")
	c.submit("r", 1, 65, "")
	for want, change := range map[string]func(*worker.Options){
		"is no name for a worker":     func(o *worker.Options) { o.Name = "../b" },
		"has 0 cores":                 func(o *worker.Options) { o.Cores = 0 },
		"there is a worker a already": func(o *worker.Options) { o.Name = "a" },
		"tls: first record does not":  func(o *worker.Options) { o.TLS = authority(t).tls },
		"weft coordinator starts one": func(o *worker.Options) { o.Coordinators = []string{"127.0.0.1:1"} },
	} {
		o := c.options("b")
		change(&o)
		c.refused(o, want)
	}
	c.told(": worker b has 0 cores")
	raw(t, at, "GET / HTTP/1.1\r\n\r\n", strings.Repeat("\x00\xff", 1<<12), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+strings.Repeat("x", 1000))
	strange(t, at)
	letGo()
	if r := c.whole("r", 65); r.Epoch != 1 {
		t.Errorf("it took %d epochs", r.Epoch)
	}
}

// raw sends bytes that are no gRPC, and is hung up on.
func raw(t *testing.T, at string, all ...string) {
	t.Helper()
	for _, text := range all {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte(text))
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		if _, err := io.Copy(io.Discard, conn); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Errorf("%.20q: nobody hangs up", text)
		}
		conn.Close()
	}
}

// strange says things that make no sense in a proper connection.
func strange(t *testing.T, at string) {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+at, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(bytesCodec{})))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for name, c := range map[string]struct{ send, want string }{
		"nothing":     {"", "cut short"},
		"garbage":     {"\x00\x00\x00\x05garbage", "not a message"},
		"a long head": {"\xff\xff\xff\xff{}", "says that its head has 4294967295"},
		"no hello":    {frame(`{"kind":"commit","run":"r","epoch":1}`), "no introduction"},
		"old version": {frame(`{"kind":"hello","hello":{"version":0}}`), "speaks version 0 of the protocol"},
		"oversized":   {strings.Repeat("x", protocol.MaxMessage+1), "larger than max"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		s, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/weft.Control/Join")
		if err == nil {
			_ = s.SendMsg([]byte(c.send))
			err = s.RecvMsg(new([]byte))
		}
		// Either side of the connection may be the first to say what is wrong.
		if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), c.want) && !strings.Contains(err.Error(), "no introduction") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		cancel()
	}
}

// Who says nothing is hung up on.
func TestSlow(t *testing.T) {
	c := newCluster(t)
	at, _ := c.coordinate("127.0.0.1:0")
	conn, err := grpc.NewClient("passthrough:///"+at, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/weft.Control/Join")
	if err == nil {
		err = s.RecvMsg(nil)
	}
	if err == nil || !strings.Contains(err.Error(), "it did not say who it is") {
		t.Error(err)
	}
}

func frame(head string) string { return string([]byte{0, 0, 0, byte(len(head))}) + head }

// bytesCodec sends bytes as they are.
type bytesCodec struct{}

func (bytesCodec) Name() string { return "weft" }

func (bytesCodec) Marshal(v any) ([]byte, error) { return v.([]byte), nil }

func (bytesCodec) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = data
	return nil
}

// With certificates everything works as without, and nobody is let in who has none.
func TestTLS(t *testing.T) {
	c := newCluster(t)
	ours := authority(t)
	c.tls, c.client.TLS = ours.tls, ours.tls
	c.coordinate("127.0.0.1:0")
	c.work("a")
	c.work("b")
	c.submit("r", 2, 25, "")
	c.whole("r", 25)
	for _, theirs := range []*tls.Config{nil, authority(t).tls} {
		o := c.options("x")
		o.TLS = theirs
		c.refused(o, "--certs DIR names th")
	}
	bare := &protocol.Client{Addresses: c.address, Patience: 200 * time.Millisecond}
	if _, err := bare.Status(t.Context(), ""); err == nil {
		t.Error("a client without certificates was answered")
	}
	c.members(2)
}

type issued struct{ tls *tls.Config }

// authority returns a certificate of an authority of its own.
func authority(t *testing.T) issued {
	t.Helper()
	dir := t.TempDir()
	if err := certs.Init(dir); err != nil {
		t.Fatal(err)
	}
	f, err := certs.Issue(dir, "node", certs.Roles())
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.Load()
	if err != nil {
		t.Fatal(err)
	}
	return issued{c}
}

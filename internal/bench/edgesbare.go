package bench

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"

	"github.com/weft-rl/weft/internal/run/mesh/selfsigned"
)

// bare is a gRPC stream with nothing around it. Bytes are copied once, out of gRPC's buffers, as
// any receiver that keeps them must do.
type bare struct {
	spec   EdgeSpec
	server *grpc.Server
	conn   *grpc.ClientConn
	stream grpc.ClientStream
	stop   context.CancelFunc
	serve  sync.WaitGroup
	folder string
	out    []byte
	in     []byte
}

// raw is a gRPC codec that sends []byte and receives into *[]byte.
type raw struct{}

func (raw) Name() string { return "raw" }
func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

const (
	bareWindow = 16 << 20
	bareBuffer = 128 << 10
	bareMethod = "/bench.Bare/Join"
)

// openBare opens a stream on a way.
func openBare(way string, s EdgeSpec) (program, error) {
	b := &bare{spec: s, out: make([]byte, s.Bytes), stop: func() {}}
	if err := b.open(way); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

func (b *bare) open(way string) (err error) {
	there, here := insecure.NewCredentials(), insecure.NewCredentials()
	if way == "tls" {
		config, err := selfsigned.Config()
		if err != nil {
			return err
		}
		there, here = credentials.NewTLS(config), credentials.NewTLS(config)
	}
	network, at := "tcp", "127.0.0.1:0"
	if way == "unix" {
		if b.folder, err = os.MkdirTemp("", "weft-bench-"); err != nil {
			return err
		}
		network, at = "unix", filepath.Join(b.folder, "socket")
	}
	l, err := net.Listen(network, at)
	if err != nil {
		return err
	}
	b.server = grpc.NewServer(grpc.Creds(there), grpc.ForceServerCodecV2(raw{}), grpc.InitialWindowSize(bareWindow),
		grpc.InitialConnWindowSize(bareWindow), grpc.ReadBufferSize(bareBuffer), grpc.WriteBufferSize(bareBuffer))
	b.server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "bench.Bare", HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{StreamName: "Join", ClientStreams: true, ServerStreams: true, Handler: b.reply}},
	}, b)
	b.serve.Go(func() { _ = b.server.Serve(l) }) // it ends when it is stopped
	b.conn, err = grpc.NewClient("passthrough:///"+l.Addr().String(), grpc.WithTransportCredentials(here), grpc.WithNoProxy(),
		grpc.WithContextDialer(func(ctx context.Context, at string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, at)
		}),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{})), grpc.WithInitialWindowSize(bareWindow),
		grpc.WithInitialConnWindowSize(bareWindow), grpc.WithReadBufferSize(bareBuffer), grpc.WithWriteBufferSize(bareBuffer))
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	b.stop = stop
	b.stream, err = b.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, bareMethod)
	return err
}

// reply receives messages and answers every burst.
func (b *bare) reply(_ any, stream grpc.ServerStream) error {
	back := make([]byte, b.spec.Bytes)
	if b.spec.Burst > 1 {
		back = back[:4]
	}
	var in []byte
	for n := 1; ; n++ {
		if err := stream.RecvMsg(&in); err != nil {
			return err
		}
		if n%b.spec.Burst == 0 {
			if err := stream.SendMsg(back); err != nil {
				return err
			}
		}
	}
}

// Run sends a burst and waits for the answer.
func (b *bare) Run() error {
	for range b.spec.Burst {
		if err := b.stream.SendMsg(b.out); err != nil {
			return err
		}
	}
	return b.stream.RecvMsg(&b.in)
}

func (b *bare) Close() {
	b.stop()
	if b.conn != nil {
		_ = b.conn.Close() // nothing is left on it
	}
	if b.server != nil {
		b.server.Stop()
	}
	b.serve.Wait()
	if b.folder != "" {
		_ = os.RemoveAll(b.folder) // it was a temporary one
	}
}

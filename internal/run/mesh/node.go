package mesh

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/weft-rl/weft/internal/run/gate"
	"github.com/weft-rl/weft/internal/run/port"
	"github.com/weft-rl/weft/internal/run/scratch"
)

// Options are how a node meets others. All nodes of a run have the same.
type Options struct {
	// TLS is for both directions, with certificates of both sides; nil, without, is
	// for loopback alone.
	TLS *tls.Config
	// Listener is an open listener to use; nil opens one.
	Listener net.Listener
	// Secret is the secret that peers must present, beside any certificate.
	Secret string
	// Advertise is the address that others reach this node by; empty is the one that
	// it listens on.
	Advertise string
	// NoSocket leaves the Unix socket for processes of one host away, NoMemory the memory
	// that they share: then the socket itself carries.
	NoSocket, NoMemory bool

	Silence time.Duration // time after which a silent peer counts as lost; 1 s
	Connect time.Duration // time after which a peer that does not answer is unreachable; 60 s
	Wait    time.Duration // time for peers that answer to build their part; 8 min, less than a coordinator's patience with all
	Largest int64         // message, in bytes; 4 GiB

	Log func(text string) // log of refused peers; nil logs nothing
}

func (o Options) withDefaults() Options {
	if o.Silence == 0 {
		o.Silence = time.Second
	}
	if o.Connect == 0 {
		o.Connect = time.Minute
	}
	if o.Wait == 0 {
		o.Wait = 8 * time.Minute
	}
	if o.Largest == 0 {
		o.Largest = 4 << 30
	}
	return o
}

// Node is a process's end of the data plane.
type Node struct {
	o       Options
	address string
	socket  string          // Unix socket for processes of this host; empty is none
	folder  *scratch.Folder // folder of the socket
	server  *grpc.Server
	gate    *gate.Gate
	unwatch func() // ends the gate's watch
	door    *door  // listener of the socket; nil is none
	serving sync.WaitGroup

	mu       sync.Mutex
	sessions map[key]*Session
}

// key identifies a session.
type key struct {
	run   string
	epoch int64
}

// Listen opens a node at an address, such as 127.0.0.1:0, or at the listener of its options.
func Listen(address string, o Options) (*Node, error) {
	n := &Node{o: o.withDefaults(), sessions: map[key]*Session{}}
	l := o.Listener
	if l == nil {
		var err error
		if l, err = net.Listen("tcp", address); err != nil {
			return nil, fmt.Errorf("data plane: %w", err)
		}
	}
	if at := l.Addr().(*net.TCPAddr); o.TLS == nil && !at.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("data plane: %s can be reached from elsewhere, so it needs certificates (weft certs init makes them)", at), l.Close())
	}
	n.address = l.Addr().String()
	if o.Advertise != "" {
		n.address = o.Advertise
	}
	n.serve(l)
	if !o.NoSocket {
		n.listenSocket()
	}
	return n, nil
}

// window is how much may be on its way: a large message should not wait for its own
// first half to be acknowledged.
const window = 16 << 20

func (n *Node) serve(l net.Listener) {
	n.gate = gate.New(n.o.TLS, n.o.Log)
	options := append(n.gate.Options(),
		grpc.ForceServerCodecV2(codec{}), grpc.MaxRecvMsgSize(mostMessage), grpc.MaxHeaderListSize(16<<10),
		grpc.ConnectionTimeout(5*time.Second), grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(window),
		grpc.ReadBufferSize(buffer), grpc.WriteBufferSize(buffer), grpc.MaxConcurrentStreams(64),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: 10 * time.Second}),
	)
	watching, stop := context.WithCancel(context.Background())
	n.unwatch = stop
	n.serving.Go(func() { n.gate.Watch(watching) })
	n.server = grpc.NewServer(options...)
	n.server.RegisterService(&service, n)
	n.serving.Go(func() { _ = n.server.Serve(port.Connections(l, port.Most)) }) // it ends when the node is closed
}

// buffer is that of a connection, in bytes: a few of HTTP/2's frames.
const buffer = 128 << 10

// between stands between the two addresses of a node.
const between = "+unix:"

// Address returns how others reach the node: what part.Worker's Data is.
func (n *Node) Address() string {
	if n.socket == "" {
		return n.address
	}
	return n.address + between + n.socket
}

// reach returns the addresses of a node: over TCP, and of its Unix socket, empty if it has none.
func reach(address string) (tcp, socket string) {
	tcp, socket, _ = strings.Cut(address, between)
	return tcp, socket
}

// Close ends all sessions and stops to listen.
func (n *Node) Close() error {
	n.mu.Lock()
	var open []*Session
	for _, s := range n.sessions {
		open = append(open, s)
	}
	n.mu.Unlock()
	for _, s := range open {
		s.Abort(errors.New("the process ends"))
	}
	n.server.Stop()
	n.unwatch()
	if n.door != nil {
		n.door.close()
	}
	n.serving.Wait()
	if n.folder == nil {
		return nil
	}
	return n.folder.Remove()
}

// service is the only one of a node: a stream to join a session by.
var service = grpc.ServiceDesc{
	ServiceName: "weft.Mesh",
	HandlerType: (*any)(nil),
	Streams: []grpc.StreamDesc{{
		StreamName: "Join", ClientStreams: true, ServerStreams: true,
		Handler: func(node any, stream grpc.ServerStream) error { return node.(*Node).accept(stream) },
	}},
}

const method = "/weft.Mesh/Join"

// register makes a session known to those who connect.
func (n *Node) register(s *Session) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	k := key{s.g.Run, s.g.Epoch}
	if n.sessions[k] != nil {
		return fmt.Errorf("this process takes part in epoch %d of run %s already", k.epoch, k.run)
	}
	n.sessions[k] = s
	return nil
}

func (n *Node) forget(s *Session) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.sessions, key{s.g.Run, s.g.Epoch})
}

var dialer net.Dialer

func dialTCP(ctx context.Context, at string) (net.Conn, error) {
	return dialer.DialContext(ctx, "tcp", at)
}

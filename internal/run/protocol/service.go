package protocol

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/gate"
)

// Server is the interface of a coordinator.
type Server interface {
	// Join is a worker's connection, for as long as it lasts.
	Join(Session) error
	// Stage takes a program that runs may bring.
	Stage(Staging) error
	// Program sends a program to a worker.
	Program(*Named, Sender[Chunk]) error
	Submit(context.Context, *Submit) (*OK, error)
	Status(context.Context, *Named) (*Status, error)
	Stop(context.Context, *Named) (*OK, error)
	// Drain drains workers, which leave once their runs can go on without them. It does not wait
	// for that.
	Drain(context.Context, *Named) (*OK, error)
	// Delete forgets a run that is over, and removes its folder.
	Delete(context.Context, *Named) (*OK, error)
	// Compact gives disk space back that the coordinator's state does not need any more.
	Compact(context.Context, *Named) (*Compacted, error)
	// Audit returns the audit log.
	Audit(context.Context, *Named) (*Deeds, error)
	// Watch sends a run whenever it has changed, until it is over.
	Watch(*Named, Sender[core.Run]) error
	// Logs sends what a run told.
	Logs(*Named, Sender[Chunk]) error
	// Record sends the lines of a run's record, as far as they are written.
	Record(*Named, Sender[Chunk]) error
}

// Session is a coordinator's end of a worker's connection.
type Session struct{ stream grpc.ServerStream }

// Context ends with the connection.
func (s Session) Context() context.Context { return s.stream.Context() }

// Send sends a message. One goroutine may send while another receives.
func (s Session) Send(d *Down) error { return s.stream.SendMsg(d) }

// Recv waits for a message.
func (s Session) Recv() (*Up, error) {
	m := new(Up)
	return m, s.stream.RecvMsg(m)
}

// Sender is a stream of answers.
type Sender[T any] struct{ stream grpc.ServerStream }

// Context ends with the connection.
func (s Sender[T]) Context() context.Context { return s.stream.Context() }

// Send sends an answer.
func (s Sender[T]) Send(m *T) error { return s.stream.SendMsg(m) }

const service = "weft.Control"

var (
	joinStream   = grpc.StreamDesc{StreamName: "Join", ServerStreams: true, ClientStreams: true, Handler: join}
	watchStream  = grpc.StreamDesc{StreamName: "Watch", ServerStreams: true, Handler: answers(Server.Watch)}
	stageStream  = grpc.StreamDesc{StreamName: "Stage", ServerStreams: true, ClientStreams: true, Handler: stage}
	progStream   = grpc.StreamDesc{StreamName: "Program", ServerStreams: true, Handler: answers(Server.Program)}
	logsStream   = grpc.StreamDesc{StreamName: "Logs", ServerStreams: true, Handler: answers(Server.Logs)}
	recordStream = grpc.StreamDesc{StreamName: "Record", ServerStreams: true, Handler: answers(Server.Record)}
)

var description = grpc.ServiceDesc{
	ServiceName: service,
	HandlerType: (*Server)(nil),
	Methods: []grpc.MethodDesc{
		{MethodName: "Submit", Handler: call(Server.Submit)},
		{MethodName: "Status", Handler: call(Server.Status)},
		{MethodName: "Stop", Handler: call(Server.Stop)},
		{MethodName: "Drain", Handler: call(Server.Drain)},
		{MethodName: "Delete", Handler: call(Server.Delete)},
		{MethodName: "Compact", Handler: call(Server.Compact)},
		{MethodName: "Audit", Handler: call(Server.Audit)},
	},
	Streams: []grpc.StreamDesc{joinStream, stageStream, progStream, watchStream, logsStream, recordStream},
}

func join(server any, stream grpc.ServerStream) error {
	return server.(Server).Join(Session{stream})
}

func stage(server any, stream grpc.ServerStream) error {
	return server.(Server).Stage(Staging{stream})
}

func call[Q, A any](do func(Server, context.Context, *Q) (*A, error)) grpc.MethodHandler {
	return func(server any, ctx context.Context, decode func(any) error, guard grpc.UnaryServerInterceptor) (any, error) {
		info := &grpc.UnaryServerInfo{Server: server}
		if stream := grpc.ServerTransportStreamFromContext(ctx); stream != nil {
			info.FullMethod = stream.Method()
		}
		// Who may not call learns nothing of what would be wrong with the message.
		return guard(ctx, nil, info, func(ctx context.Context, _ any) (any, error) {
			q := new(Q)
			if err := decode(q); err != nil {
				return nil, err
			}
			return do(server.(Server), ctx, q)
		})
	}
}

func answers[A any](do func(Server, *Named, Sender[A]) error) grpc.StreamHandler {
	return func(server any, stream grpc.ServerStream) error {
		q := new(Named)
		if err := stream.RecvMsg(q); err != nil {
			return err
		}
		return do(server.(Server), q, Sender[A]{stream})
	}
}

// Caller returns the caller from the context of a call or session.
func Caller(ctx context.Context) gate.Caller { return gate.Of(ctx) }

// NewServer returns a gRPC server for s, with a gate that controls access. It closes connections
// that are slow to introduce themselves, or silent.
func NewServer(s Server, who *gate.Gate, more ...grpc.ServerOption) *grpc.Server {
	options := append(append(who.Options(), more...),
		grpc.ForceServerCodec(codec{}), grpc.MaxRecvMsgSize(maxUp), grpc.MaxSendMsgSize(MaxMessage),
		grpc.ConnectionTimeout(5*time.Second), grpc.MaxHeaderListSize(16<<10), grpc.MaxConcurrentStreams(64),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: 10 * time.Second, Time: 10 * time.Second, Timeout: 5 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true),
	)
	g := grpc.NewServer(options...)
	g.RegisterService(&description, s)
	return g
}

const elsewhere = "another coordinator acts"

// Elsewhere returns the answer of a coordinator that does not act; address is the one that
// does, if that is known.
func Elsewhere(address string) error {
	return status.Error(codes.Aborted, elsewhere+" "+address)
}

// leader returns where to ask, if an answer says so.
func leader(err error) (address string, ok bool) {
	s, _ := status.FromError(err)
	rest, ok := strings.CutPrefix(s.Message(), elsewhere)
	return strings.TrimSpace(rest), ok && s.Code() == codes.Aborted
}

// Refusal returns an error that says why something is not done.
func Refusal(text string) error { return status.Error(codes.InvalidArgument, text) }

// Reason returns the text of an answer that is an error.
func Reason(err error) string { return status.Convert(err).Message() }

// refused returns the text of a refusal.
func refused(err error) (text string, ok bool) {
	s, _ := status.FromError(err)
	return s.Message(), s.Code() == codes.InvalidArgument || s.Code() == codes.Unauthenticated || s.Code() == codes.PermissionDenied
}

// Postponed reports whether an answer is that a call is to be made to another coordinator, or
// later.
func Postponed(err error) bool {
	_, hint := leader(err)
	return hint || status.Code(err) == codes.Unavailable
}

// Idle returns the answer of a coordinator that does not act and knows of none that does.
func Idle(why string) error { return status.Error(codes.Unavailable, why) }

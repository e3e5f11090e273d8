package serve

import (
	"context"
	"crypto/subtle"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"github.com/weft-rl/weft/internal/serve/policypb"
)

// GRPC answers gRPC requests at a listener until ctx is done, and then for linger those that are
// under way. Requests must carry the token, unless it is empty.
func (s *Server) GRPC(ctx context.Context, l net.Listener, token string, linger time.Duration) error {
	g := grpc.NewServer(
		grpc.MaxRecvMsgSize(mostBody),
		grpc.UnaryInterceptor(func(ctx context.Context, q any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := admit(ctx, token); err != nil {
				return nil, err
			}
			return next(ctx, q)
		}),
		grpc.StreamInterceptor(func(x any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if err := admit(stream.Context(), token); err != nil {
				return err
			}
			return next(x, stream)
		}),
	)
	policypb.RegisterPolicyServer(g, service{s: s})
	reflection.Register(g)
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		late := time.AfterFunc(linger, g.Stop)
		defer late.Stop()
		g.GracefulStop()
	})
	err := g.Serve(l)
	if !stop() {
		<-ended
	}
	if errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return err
}

// admit refuses a request without the token.
func admit(ctx context.Context, token string) error {
	if token == "" {
		return nil
	}
	all := metadata.ValueFromIncomingContext(ctx, "authorization")
	if len(all) == 1 && subtle.ConstantTimeCompare([]byte(all[0]), []byte("Bearer "+token)) == 1 {
		return nil
	}
	return status.Error(codes.Unauthenticated, `the token is missing or wrong: send "authorization: Bearer TOKEN" in the metadata`)
}

// service answers for the policies of a server.
type service struct {
	policypb.UnimplementedPolicyServer
	s *Server
}

// Act answers a request.
func (x service) Act(ctx context.Context, q *policypb.ActRequest) (*policypb.ActResponse, error) {
	p, err := x.s.policy(q.GetPolicy())
	if err != nil {
		return nil, status.Error(codes.NotFound, err.Error())
	}
	began := time.Now()
	d, code, err := p.decide(ctx, requestOf(q))
	p.stats.request(code, time.Since(began))
	if err != nil {
		return nil, status.Error(grpcCode(code), err.Error())
	}
	return d.message(), nil
}

// ActStream answers requests until there are no more.
func (x service) ActStream(stream grpc.BidiStreamingServer[policypb.ActRequest, policypb.ActResponse]) error {
	for {
		q, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		out, err := x.Act(stream.Context(), q)
		if err != nil {
			return err
		}
		if err := stream.Send(out); err != nil {
			return err
		}
	}
}

// List describes the policies.
func (x service) List(context.Context, *policypb.ListRequest) (*policypb.ListResponse, error) {
	out := &policypb.ListResponse{}
	for _, d := range x.s.describe() {
		one := &policypb.Served{Name: d.Name, Versions: d.Versions}
		for _, k := range d.Kinds {
			one.Kinds = append(one.Kinds, &policypb.Kind{Kind: k.Kind, Agents: int32(k.Agents), Obs: k.Obs, Action: k.Action, Masked: k.Masked})
		}
		out.Policies = append(out.Policies, one)
	}
	return out, nil
}

// grpcCode returns the code that means what an HTTP status means.
func grpcCode(code int) codes.Code {
	switch code {
	case http.StatusBadRequest:
		return codes.InvalidArgument
	case http.StatusNotFound:
		return codes.NotFound
	case http.StatusServiceUnavailable:
		return codes.Unavailable
	}
	return codes.Internal
}

// requestOf returns a request as JSON would have it.
func requestOf(q *policypb.ActRequest) (out request) {
	out.Version = q.Version
	if q.View != nil {
		out.view = viewOf(q.View)
	}
	if q.Obs != nil {
		out.Obs = parts[float64]{"": q.Obs}
	}
	for name, v := range q.Kinds {
		if out.Kinds == nil {
			out.Kinds = map[string]view{}
		}
		out.Kinds[name] = viewOf(v)
	}
	return out
}

func viewOf(v *policypb.View) (out view) {
	out.Obs, out.Memory, out.State = numbersOf(v.Obs), numbersOf(v.Memory), v.State
	for name, x := range v.Legal {
		if out.Legal == nil {
			out.Legal = parts[bool]{}
		}
		out.Legal[name] = x.GetValues()
	}
	return out
}

// numbersOf returns parts; nil if there are none.
func numbersOf(all map[string]*policypb.Numbers) (out parts[float64]) {
	for name, x := range all {
		if out == nil {
			out = parts[float64]{}
		}
		out[name] = x.GetValues()
	}
	return out
}

// message returns the decision as a message.
func (d decision) message() *policypb.ActResponse {
	out := &policypb.ActResponse{Version: d.step}
	for i, s := range d.specs {
		x := &policypb.Did{Action: messagesOf(d.Actions[i]), Memory: messagesOf(d.Memory[i])}
		if len(d.specs) == 1 {
			out.Did, out.Action = x, d.Actions[i][""]
			continue
		}
		if out.Kinds == nil {
			out.Kinds = map[string]*policypb.Did{}
		}
		out.Kinds[s.Kind] = x
	}
	return out
}

func messagesOf(all map[string][]float64) map[string]*policypb.Numbers {
	out := map[string]*policypb.Numbers{}
	for name, x := range all {
		out[name] = &policypb.Numbers{Values: x}
	}
	return out
}

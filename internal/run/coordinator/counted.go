package coordinator

import (
	"context"
	"path"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// counts returns the options of a server that counts the calls which it refuses.
func (t *tally) counts() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, q any, info *grpc.UnaryServerInfo, do grpc.UnaryHandler) (any, error) {
			answer, err := do(ctx, q)
			t.called(info.FullMethod, err)
			return answer, err
		}),
		grpc.ChainStreamInterceptor(func(server any, s grpc.ServerStream, info *grpc.StreamServerInfo, do grpc.StreamHandler) error {
			err := do(server, s)
			t.called(info.FullMethod, err)
			return err
		}),
	}
}

// called counts a call if it was refused. One that is only to be made elsewhere, or later, was not.
func (t *tally) called(method string, err error) {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.ResourceExhausted:
		t.refused(path.Base(method))
	}
}

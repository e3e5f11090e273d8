package serve_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/internal/serve"
	"github.com/weft-rl/weft/internal/serve/policypb"
)

// dialled serves by gRPC, and returns a client. Both end with the test.
func dialled(t *testing.T, s *serve.Server, token string) policypb.PolicyClient {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.GRPC(ctx, l, token, time.Second) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return policypb.NewPolicyClient(conn)
}

// TestGRPC: gRPC answers what the agent does, alone and in a stream, and says what is wrong.
func TestGRPC(t *testing.T) {
	dir := trained(t, "ppo", "CartPole-v1", "hidden=8", "horizon=8")
	s, _ := server(t, &loader{dir: dir, steps: []int64{128}}, 1)
	c := dialled(t, s, "")
	agent, err := weft.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	stream, err := c.ActStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		obs := []float64{float64(i)/10 - 1, 1 - float64(i)/8, float64(i%7)/50 - .05, float64(i%5) - 2}
		want, err := agent.Act(obs)
		if err != nil {
			t.Fatal(err)
		}
		q := &policypb.ActRequest{Obs: obs}
		if i%2 == 1 {
			q = &policypb.ActRequest{Policy: "cart", View: &policypb.View{Obs: map[string]*policypb.Numbers{"": {Values: obs}}}}
		}
		got, err := c.Act(t.Context(), q)
		if err != nil || !slices.Equal(got.Action, want) || !slices.Equal(got.Did.Action[""].Values, want) || got.Version != 128 {
			t.Fatalf("%v: %v, want %v", err, got, want)
		}
		if err := stream.Send(q); err != nil {
			t.Fatal(err)
		}
		if got, err = stream.Recv(); err != nil || !slices.Equal(got.Action, want) {
			t.Fatalf("%v: %v, want %v", err, got, want)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	list, err := c.List(t.Context(), &policypb.ListRequest{})
	if err != nil || len(list.Policies) != 1 || list.Policies[0].Name != "cart" || list.Policies[0].Kinds[0].Obs != "Box([4])" {
		t.Errorf("%v, %v", list, err)
	}
	three := int64(3)
	for _, x := range []struct {
		q    *policypb.ActRequest
		code codes.Code
		says string
	}{
		{&policypb.ActRequest{Obs: []float64{1}}, codes.InvalidArgument, "it is a Box([4])"},
		{&policypb.ActRequest{}, codes.InvalidArgument, `has no "obs"`},
		{&policypb.ActRequest{Policy: "card"}, codes.NotFound, `there is no policy "card"`},
		{&policypb.ActRequest{Obs: []float64{1, 1, 1, 1}, Version: &three}, codes.NotFound, "3"},
	} {
		if _, err := c.Act(t.Context(), x.q); status.Code(err) != x.code || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%v: error %v, want %v with %q", x.q, err, x.code, x.says)
		}
	}
}

// TestGRPCMemory: memory goes to the client and back, as over HTTP.
func TestGRPCMemory(t *testing.T) {
	dir := trained(t, "ppo", "Pendulum-v1", "hidden=8", "horizon=8", "memory=4")
	s, _ := server(t, &loader{dir: dir, steps: []int64{1}}, 1)
	c := dialled(t, s, "")
	agent, err := weft.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	var memory map[string]*policypb.Numbers
	for i := range 10 {
		obs := []float64{float64(i%3) - 1, float64(i%2) - .5, float64(i) / 4}
		want, err := agent.Act(obs)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Act(t.Context(), &policypb.ActRequest{View: &policypb.View{Obs: map[string]*policypb.Numbers{"": {Values: obs}}, Memory: memory}})
		if err != nil || !slices.Equal(got.Action, want) {
			t.Fatalf("step %d: %v, %v, want %v", i, got, err, want)
		}
		memory = got.Did.Memory
	}
}

// TestGRPCToken: a request without the token is refused, in a stream too.
func TestGRPCToken(t *testing.T) {
	s, _ := server(t, &loader{dir: trained(t, "ppo", "CartPole-v1", "hidden=8", "horizon=8"), steps: []int64{1}}, 1)
	c := dialled(t, s, "secret")
	for token, want := range map[string]codes.Code{"": codes.Unauthenticated, "Bearer wrong": codes.Unauthenticated, "Bearer secret": codes.OK} {
		ctx := t.Context()
		if token != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", token)
		}
		_, err := c.List(ctx, &policypb.ListRequest{})
		if status.Code(err) != want {
			t.Errorf("%q: error %v", token, err)
		}
		stream, err := c.ActStream(ctx)
		if err == nil {
			if err = stream.Send(&policypb.ActRequest{Obs: []float64{0, 0, 0, 0}}); err == nil {
				_, err = stream.Recv()
			}
		}
		if want == codes.OK && err != nil || want != codes.OK && err == nil {
			t.Errorf("%q: the stream's error is %v", token, err)
		}
		if err := stream.CloseSend(); err != nil {
			t.Error(err)
		}
	}
}

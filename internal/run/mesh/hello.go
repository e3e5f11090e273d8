package mesh

import (
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/weft-rl/weft/internal/run/certs"
	"github.com/weft-rl/weft/internal/run/gate"
)

// hello is exchanged by the two ends of a stream in its headers.
type hello struct {
	run      string
	epoch    int64
	from, to int // processes, by number
	life     int64
	secret   string
}

const protocol = "2"

// notYet is the code by which a process that is asked too early answers. Unlike Unavailable, which
// gRPC also gives where nobody answers, it says that the process is there.
const notYet = codes.Aborted

func (h hello) metadata() metadata.MD {
	return metadata.Pairs("weft-protocol", protocol, "weft-run-bin", h.run, "weft-epoch", strconv.FormatInt(h.epoch, 10),
		"weft-from", strconv.Itoa(h.from), "weft-to", strconv.Itoa(h.to), "weft-life", strconv.FormatInt(h.life, 10), "weft-secret-bin", h.secret)
}

// readHello reads the hello of a process that is not known yet.
func readHello(md metadata.MD) (h hello, err error) {
	one := func(name string) string {
		if v := md.Get(name); len(v) == 1 {
			return v[0]
		}
		return ""
	}
	if p := one("weft-protocol"); p != protocol {
		return h, fmt.Errorf("protocol %q, this is %s: the processes must be of the same version", p, protocol)
	}
	h.run, h.secret = one("weft-run-bin"), one("weft-secret-bin")
	if h.epoch, err = strconv.ParseInt(one("weft-epoch"), 10, 64); err == nil {
		if h.from, err = strconv.Atoi(one("weft-from")); err == nil {
			h.to, err = strconv.Atoi(one("weft-to"))
		}
	}
	if err == nil {
		h.life, err = strconv.ParseInt(one("weft-life"), 10, 64)
	}
	if err != nil {
		return h, fmt.Errorf("it does not say who it is: %w", err)
	}
	return h, nil
}

// knows reports whether a peer knows the secret, in a time that tells nothing.
func (h hello) knows(secret string) bool {
	return subtle.ConstantTimeCompare([]byte(h.secret), []byte(secret)) == 1
}

// secret returns what peers must know.
func (s *Session) secret() string { return s.node.o.Secret + s.g.Secret }

// belongs refuses the holder of a certificate who is not the one that a worker has. Of one that
// came in another's place the coordinator told this process nothing: it knows the epoch's secret.
func (s *Session) belongs(worker int, holder string) error {
	if worker < 0 || worker >= len(s.g.Workers) {
		return nil // nobody has anything to say to it
	}
	if w := s.g.Workers[worker]; holder != "" && w.Holder != "" && holder != w.Holder {
		return fmt.Errorf("%q is not worker %s, whose certificate was issued to %q", holder, w.Name, w.Holder)
	}
	return nil
}

// admit returns the session and the peer that a connecting process claims to be, or why it is
// refused. Holder is the holder of its certificate, or "" without one.
func (n *Node) admit(h hello, holder string) (*Session, *peer, error) {
	wrong := status.Error(codes.PermissionDenied, "the secret is wrong")
	if !(hello{secret: h.secret[:min(len(h.secret), len(n.o.Secret))]}).knows(n.o.Secret) {
		return nil, nil, wrong // whatever epoch it speaks of
	}
	n.mu.Lock()
	s := n.sessions[key{h.run, h.epoch}]
	n.mu.Unlock()
	if s == nil {
		return nil, nil, status.Errorf(notYet, "run %q has no epoch %d here", h.run, h.epoch)
	}
	if !h.knows(s.secret()) {
		return nil, nil, wrong
	}
	if err := s.belongs(h.from, holder); h.life == 0 && err != nil {
		return nil, nil, status.Error(codes.PermissionDenied, err.Error())
	}
	p, err := s.admit(h)
	if errors.Is(err, errSoon) {
		return nil, nil, status.Error(notYet, err.Error())
	}
	if err != nil {
		return nil, nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	return s, p, nil
}

// back returns how a hello is answered.
func (s *Session) back(h hello) hello {
	return hello{run: h.run, epoch: h.epoch, from: h.to, to: h.from, life: h.life, secret: s.secret()}
}

// accept returns a gRPC stream that a peer opened. It lasts as long as the session.
func (n *Node) accept(stream grpc.ServerStream) error {
	md, _ := metadata.FromIncomingContext(stream.Context())
	h, err := readHello(md)
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	who := gate.Of(stream.Context())
	s, p, err := n.admit(h, who.Name)
	if err != nil {
		if status.Code(err) == codes.PermissionDenied {
			n.gate.Refused(who, fmt.Sprintf("epoch %d of run %q: %s", h.epoch, h.run, status.Convert(err).Message()))
		}
		return err
	}
	if err := stream.SendHeader(s.back(h).metadata()); err != nil {
		p.admitted.Store(false) // it may come again
		return err
	}
	s.host(p, &remote{calls: stream, tls: n.o.TLS != nil})
	return nil
}

// verify checks that who answered is who was asked for.
func (s *Session) verify(h, asked hello) error {
	if !h.knows(s.secret()) || h.run != asked.run || h.epoch != asked.epoch || h.from != asked.to || h.to != asked.from {
		return errors.New("another process answered at that address")
	}
	return nil
}

func clientOptions(config *tls.Config) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(gate.Dial(config, certs.Work)), grpc.WithContextDialer(dialTCP), grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{}), grpc.MaxCallRecvMsgSize(mostMessage)),
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(window),
		grpc.WithReadBufferSize(buffer), grpc.WithWriteBufferSize(buffer), grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.5, MaxDelay: 200 * time.Millisecond},
			MinConnectTimeout: 2 * time.Second,
		}),
	}
}

package gate

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/weft-rl/weft/internal/run/certs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// authority is one that issues certificates for tests.
type authority struct {
	*testing.T
	dir string
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	dir := t.TempDir()
	if err := certs.Init(dir); err != nil {
		t.Fatal(err)
	}
	return authority{t, dir}
}

func (a authority) issue(name string, roles ...certs.Role) *tls.Config {
	a.Helper()
	f, err := certs.Issue(a.dir, name, roles)
	if err != nil {
		a.Fatal(err)
	}
	f.Revoked = filepath.Join(a.dir, "ca.crl")
	c, err := f.Load()
	if err != nil {
		a.Fatal(err)
	}
	return c
}

// log keeps what was logged.
type log struct {
	mu   sync.Mutex
	said []string
}

func (l *log) say(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, text)
}

func (l *log) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.said, func(said string) bool { return strings.Contains(said, text) })
}

// serve has a server with a method for each role, and one that is in no list.
func serve(t *testing.T, config *tls.Config, l *log) string {
	t.Helper()
	g := New(config, l.say)
	server := grpc.NewServer(g.Options()...)
	for _, service := range []string{"weft.Control", "weft.Mesh", "weft.Other"} {
		d := grpc.ServiceDesc{ServiceName: service, HandlerType: (*any)(nil)}
		for _, name := range []string{"Join", "Submit", "Status"} {
			d.Streams = append(d.Streams, grpc.StreamDesc{StreamName: name, ServerStreams: true, ClientStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
				if err := s.SendMsg(&grpc_health_v1.HealthCheckRequest{Service: Of(s.Context()).Name}); err != nil {
					return err
				}
				<-s.Context().Done()
				return nil
			}})
		}
		server.RegisterService(&d, nil)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = server.Serve(listener) })
	all.Go(func() { g.Watch(ctx) })
	t.Cleanup(func() {
		cancel()
		server.Stop()
		all.Wait()
	})
	return listener.Addr().String()
}

// call opens a stream, and returns who the server says that it is.
func call(t *testing.T, at string, config *tls.Config, role certs.Role, method string) (string, grpc.ClientStream, error) {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+at, grpc.WithTransportCredentials(Dial(config, role)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	var who grpc_health_v1.HealthCheckRequest
	if err == nil {
		err = s.RecvMsg(&who)
	}
	return who.Service, s, err
}

// TestRole: a method is done for who has its role and for nobody else, and who asks in vain is
// logged.
func TestRole(t *testing.T) {
	a := newAuthority(t)
	var l log
	at := serve(t, a.issue("server", certs.Coordinate), &l)
	may := map[string][]certs.Role{
		"/weft.Control/Join": {certs.Work}, "/weft.Control/Submit": {certs.Submit}, "/weft.Control/Status": {certs.Submit, certs.Read},
		"/weft.Mesh/Join": {certs.Work}, "/weft.Other/Join": nil,
	}
	for _, role := range certs.Roles() {
		name := "only-" + string(role)
		config := a.issue(name, role)
		for method, roles := range may {
			who, _, err := call(t, at, config, certs.Coordinate, method)
			switch allowed := slices.Contains(roles, role); {
			case allowed && (err != nil || who != name):
				t.Errorf("%s with the role %s: %q, %v", method, role, who, err)
			case !allowed && status.Code(err) != codes.PermissionDenied:
				t.Errorf("%s with the role %s: %v", method, role, err)
			}
		}
	}
	bare := a.issue("bare")
	if _, _, err := call(t, at, bare, certs.Coordinate, "/weft.Control/Status"); status.Code(err) != codes.PermissionDenied {
		t.Errorf("without a role: %v", err)
	}
	if !l.has(`the certificate of "only-coordinate" has the roles: coordinate, and this takes submit: weft certs issue NAME --role submit`) {
		t.Errorf("%q", l.said)
	}
}

// TestServer: a client speaks with a server that has the role of one, whatever other certificate of
// the authority answers.
func TestServer(t *testing.T) {
	a := newAuthority(t)
	var l log
	at := serve(t, a.issue("reader", certs.Read, certs.Submit, certs.Work), &l)
	_, _, err := call(t, at, a.issue("client", certs.Submit), certs.Coordinate, "/weft.Control/Submit")
	if err == nil || !strings.Contains(err.Error(), "is not the one expected") {
		t.Error(err)
	}
}

// TestRevoked: the open connection of somebody whose certificate is revoked ends, others' go on,
// and it gets no other.
func TestRevoked(t *testing.T) {
	a := newAuthority(t)
	var l log
	at := serve(t, a.issue("server", certs.Coordinate), &l)
	alice, bob := a.issue("alice", certs.Work), a.issue("bob", certs.Work)
	_, hers, err := call(t, at, alice, certs.Coordinate, "/weft.Control/Join")
	if err != nil {
		t.Fatal(err)
	}
	_, his, err := call(t, at, bob, certs.Coordinate, "/weft.Control/Join")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := certs.Revoke(a.dir, "alice"); err != nil {
		t.Fatal(err)
	}
	if err := hers.RecvMsg(new(emptypb.Empty)); status.Code(err) != codes.Unavailable {
		t.Errorf("her connection ended by %v", err)
	}
	if _, _, err := call(t, at, alice, certs.Coordinate, "/weft.Control/Join"); err == nil {
		t.Error("she is let in again")
	}
	if err := his.Context().Err(); err != nil {
		t.Errorf("his connection: %v", err)
	}
	for _, want := range []string{`its connection is ended: certificate of "alice": it was revoked`, `127.0.0.1`} {
		if !l.has(want) {
			t.Errorf("%q, want %q", l.said, want)
		}
	}
}

// TestStrangers: who has a certificate of another authority, or none, is refused, and logged by the
// name that it claims.
func TestStrangers(t *testing.T) {
	a := newAuthority(t)
	var l log
	at := serve(t, a.issue("server", certs.Coordinate), &l)
	mallory := newAuthority(t).issue("mallory", certs.Roles()...)
	mallory.GetConfigForClient, mallory.InsecureSkipVerify, mallory.VerifyPeerCertificate = nil, true, nil // it takes any server
	for range 30 {
		conn, err := tls.Dial("tcp", at, mallory)
		if err == nil {
			_, err = conn.Read(make([]byte, 1))
			conn.Close()
		}
		if err == nil {
			t.Fatal("it was let in")
		}
	}
	deadline := time.Now().Add(time.Minute)
	for !l.has(`certificate of "mallory"`) && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.said); n != 1 || !strings.Contains(l.said[0], "refused 127.0.0.1:") {
		t.Errorf("%d lines for 30 attempts: %q", n, l.said)
	}
}

// TestFlood: however many are refused, a window has so many lines, and what was left out is
// counted.
func TestFlood(t *testing.T) {
	var l log
	r := refusals{log: l.say}
	now := time.Now()
	for i := range 1000 {
		r.note(Caller{Address: fmt.Sprintf("10.0.0.%d:1", i%200)}, "why\x1b[2J", now)
	}
	if len(l.said) != most || strings.ContainsRune(l.said[0], '\x1b') {
		t.Errorf("%d lines: %q", len(l.said), l.said)
	}
	r.turn(now.Add(window))
	if n := len(l.said); n != most+1 || !strings.Contains(l.said[n-1], "refused 990 more since") {
		t.Errorf("%q", l.said[n-1])
	}
	r.turn(now.Add(2 * window))
	if len(l.said) != most+1 {
		t.Errorf("%q is said of nothing", l.said[most+1:])
	}
}

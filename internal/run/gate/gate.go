// Package gate controls access to the gRPC servers of a cluster. The role in a caller's certificate
// decides which methods it may call. Gate logs refused callers, and closes connections whose
// certificate was revoked or has expired.
package gate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/weft-rl/weft/internal/run/certs"
	"github.com/weft-rl/weft/internal/run/port"
)

// methods maps every method that may be called to the role it requires. A method that is not listed
// is refused.
var methods = map[string]certs.Role{
	"/weft.Control/Join":    certs.Work,
	"/weft.Control/Submit":  certs.Submit,
	"/weft.Control/Stage":   certs.Submit,
	"/weft.Control/Program": certs.Work,
	"/weft.Control/Stop":    certs.Submit,
	"/weft.Control/Drain":   certs.Submit,
	"/weft.Control/Delete":  certs.Submit,
	"/weft.Control/Compact": certs.Submit,
	"/weft.Control/Audit":   certs.Submit,
	"/weft.Control/Status":  certs.Read,
	"/weft.Control/Watch":   certs.Read,
	"/weft.Control/Logs":    certs.Read,
	"/weft.Control/Record":  certs.Read,
	"/weft.Mesh/Join":       certs.Work,
}

// RoleOf returns the role that a method needs; false if no caller may call it.
func RoleOf(method string) (certs.Role, bool) {
	r, ok := methods[method]
	return r, ok
}

// Caller identifies the maker of a call.
type Caller struct {
	certs.Holder        // holder of the certificate; on a server without TLS, which only tests have: no name, and all roles
	Address      string // address that the call came from
}

// String names the caller, for logs.
func (c Caller) String() string {
	if c.Name == "" {
		return c.Address
	}
	return c.Name + " at " + c.Address
}

// Of returns the caller from a server's context.
func Of(ctx context.Context) Caller {
	c := Caller{Holder: certs.Holder{Roles: certs.Roles()}}
	p, ok := peer.FromContext(ctx)
	if !ok {
		return c
	}
	c.Address = p.Addr.String()
	if info, ok := p.AuthInfo.(credentials.TLSInfo); ok {
		c.Holder = holder(info)
	}
	return c
}

func holder(info credentials.TLSInfo) certs.Holder {
	if len(info.State.PeerCertificates) == 0 {
		return certs.Holder{}
	}
	return certs.HolderOf(info.State.PeerCertificates[0])
}

// Gate controls access to the methods of one server.
type Gate struct {
	tls      *tls.Config
	refusals refusals
	count    atomic.Int64 // number of refusals

	mu   sync.Mutex
	open []visitor // open connections, and some that were closed since
}

// visitor is a connection that was let in.
type visitor struct {
	conn  net.Conn
	chain [][]byte // its certificates
}

// New returns the gate of a server with certificates; nil is without, for tests on loopback.
// Refusals are written to log.
func New(config *tls.Config, log func(string)) *Gate {
	return &Gate{tls: config, refusals: refusals{log: log}}
}

// Options returns the gRPC options of the server.
func (g *Gate) Options() []grpc.ServerOption {
	creds := insecure.NewCredentials()
	if g.tls != nil {
		creds = &door{credentials.NewTLS(g.tls), g}
	}
	return []grpc.ServerOption{
		grpc.Creds(creds),
		grpc.UnaryInterceptor(func(ctx context.Context, q any, info *grpc.UnaryServerInfo, do grpc.UnaryHandler) (any, error) {
			if err := g.allow(ctx, info.FullMethod); err != nil {
				return nil, err
			}
			return do(ctx, q)
		}),
		grpc.StreamInterceptor(func(server any, s grpc.ServerStream, info *grpc.StreamServerInfo, do grpc.StreamHandler) error {
			if err := g.allow(s.Context(), info.FullMethod); err != nil {
				return err
			}
			return do(server, s)
		}),
	}
}

// allow refuses a call for which the caller lacks the role.
func (g *Gate) allow(ctx context.Context, method string) error {
	role, known := RoleOf(method)
	who := Of(ctx)
	switch {
	case !known:
		g.Refused(who, "method "+method+" may not be called")
		return status.Errorf(codes.PermissionDenied, "method %s may not be called", method)
	case !who.May(role):
		err := who.Needs(role)
		g.Refused(who, method+": "+err.Error())
		return status.Error(codes.PermissionDenied, err.Error())
	}
	return nil
}

// Refused logs a refused caller and the reason. Frequent refusals are only counted.
func (g *Gate) Refused(who Caller, why string) {
	g.count.Add(1)
	g.refusals.note(who, why, time.Now())
}

// Count returns how many were refused.
func (g *Gate) Count() int64 { return g.count.Load() }

// Watch ends connections whose certificate is not good any more, such as one that was revoked,
// until ctx is done.
func (g *Gate) Watch(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			g.refusals.turn(now)
			g.sweep()
		}
	}
}

// sweep forgets connections that are closed, and closes those whose certificate is not good any
// more.
func (g *Gate) sweep() {
	g.mu.Lock()
	defer g.mu.Unlock()
	kept := g.open[:0]
	known := map[string]error{} // by certificate: workers of a machine have the same
	for _, v := range g.open {
		if port.Closed(v.conn) {
			continue
		}
		err, seen := known[string(v.chain[0])]
		if !seen {
			err = g.tls.VerifyPeerCertificate(v.chain, nil)
			known[string(v.chain[0])] = err
		}
		if err == nil || ended(err) {
			kept = append(kept, v)
			continue
		}
		g.Refused(Caller{Address: v.conn.RemoteAddr().String()}, "its connection is ended: "+err.Error())
		_ = v.conn.Close() // it is told nothing
	}
	clear(g.open[len(kept):])
	g.open = kept
}

// ended reports whether a certificate was good for its time, which is over. It counts when a
// connection is made: whoever has another one by now need not lose those that it has.
func ended(err error) bool {
	var invalid x509.CertificateInvalidError
	return errors.As(err, &invalid) && invalid.Reason == x509.Expired
}

// keep has a connection ended when its certificate is not good any more.
func (g *Gate) keep(conn net.Conn, chain []*x509.Certificate) {
	if g.tls.VerifyPeerCertificate == nil || len(chain) == 0 {
		return
	}
	v := visitor{conn: conn}
	for _, c := range chain {
		v.chain = append(v.chain, c.Raw)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = append(g.open, v)
}

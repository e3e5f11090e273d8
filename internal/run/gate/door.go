package gate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/weft-rl/weft/internal/run/certs"
)

// door makes a server's connections.
type door struct {
	credentials.TransportCredentials
	gate *Gate
}

// ServerHandshake lets a client in, or logs why not.
func (d *door) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := d.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		if !errors.Is(err, io.EOF) { // it was only tried whether somebody listens
			d.gate.Refused(Caller{Address: raw.RemoteAddr().String()}, err.Error())
		}
		return conn, info, err
	}
	if t, ok := info.(credentials.TLSInfo); ok {
		d.gate.keep(raw, t.State.PeerCertificates)
	}
	return conn, info, nil
}

// Clone implements credentials.TransportCredentials.
func (d *door) Clone() credentials.TransportCredentials {
	return &door{d.TransportCredentials.Clone(), d.gate}
}

// Dial returns the credentials of a client whose server must have a role; nil is without TLS, for
// tests on loopback.
func Dial(config *tls.Config, role certs.Role) credentials.TransportCredentials {
	if config == nil {
		return insecure.NewCredentials()
	}
	return &caller{credentials.NewTLS(config), config, role}
}

// caller makes a client's connections.
type caller struct {
	credentials.TransportCredentials
	config *tls.Config
	role   certs.Role
}

// ClientHandshake connects with the certificate as it is now to a server that has the role.
func (c *caller) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	config := c.config
	if now := config.GetConfigForClient; now != nil {
		var err error
		if config, err = now(nil); err != nil {
			return nil, nil, err
		}
	}
	conn, info, err := credentials.NewTLS(config).ClientHandshake(ctx, authority, raw)
	if err != nil {
		return conn, info, err
	}
	t, ok := info.(credentials.TLSInfo)
	if !ok || !holder(t).May(c.role) {
		_ = conn.Close() // nothing was said on it
		return nil, nil, fmt.Errorf("the process at %s is not the one expected: %w", authority, holder(t).Needs(c.role))
	}
	return conn, info, nil
}

// Clone implements credentials.TransportCredentials.
func (c *caller) Clone() credentials.TransportCredentials {
	return &caller{c.TransportCredentials.Clone(), c.config, c.role}
}

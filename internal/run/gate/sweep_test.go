package gate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"
)

// TestSweep: a connection ends when its certificate is revoked, and goes on when the certificate
// has only come to its end.
func TestSweep(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		ends bool
	}{
		"good":     {nil, false},
		"expired":  {fmt.Errorf("certificate of x: %w", x509.CertificateInvalidError{Reason: x509.Expired}), false},
		"revoked":  {errors.New("it was revoked"), true},
		"stranger": {x509.UnknownAuthorityError{}, true},
	} {
		g := New(&tls.Config{VerifyPeerCertificate: func([][]byte, [][]*x509.Certificate) error { return c.err }}, nil)
		here, there := net.Pipe()
		g.keep(here, []*x509.Certificate{{Raw: []byte("x")}})
		g.sweep()
		_ = there.SetReadDeadline(time.Now().Add(10 * time.Millisecond)) // or it is closed
		var late net.Error
		if _, err := there.Read(make([]byte, 1)); c.ends == (errors.As(err, &late) && late.Timeout()) || len(g.open) == 0 != c.ends {
			t.Errorf("%s: %v, %d are open", name, err, len(g.open))
		}
		here.Close()
		there.Close()
	}
}

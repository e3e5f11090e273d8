package certs

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
)

// verified returns what a process says of the certificate that another one has.
func verified(by, of *tls.Config, host string) error {
	c, err := x509.ParseCertificate(of.Certificates[0].Certificate[0])
	if err != nil {
		return err
	}
	_, err = c.Verify(x509.VerifyOptions{Roots: by.RootCAs, DNSName: host, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return err
}

// TestOfSecret: who knows the secret is known to the others by its name, with the role to work and
// no other; who knows another secret is refused.
func TestOfSecret(t *testing.T) {
	made := func(secret, name, host string) *tls.Config {
		c, err := OfSecret(secret, name, host)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	a, b, other := made("s", "a", "10.0.0.1"), made("s", "b", "node"), made("t", "b", "node")
	if err := verified(a, b, "node"); err != nil {
		t.Error(err)
	}
	if err := verified(b, a, "10.0.0.1"); err != nil {
		t.Error(err)
	}
	if verified(a, b, "elsewhere") == nil || verified(a, other, "node") == nil || verified(other, a, "10.0.0.1") == nil {
		t.Error("a stranger is let in")
	}
	if h := HolderOf(a.Certificates[0].Leaf); h.Name != "a" || len(h.Roles) != 1 || h.Roles[0] != Work {
		t.Errorf("%+v", h)
	}
	if a.ClientAuth != tls.RequireAndVerifyClientCert {
		t.Error("who shows no certificate is let in")
	}
	if _, err := OfSecret("", "a", "node"); err == nil {
		t.Error("there is a certificate of no secret")
	}
}

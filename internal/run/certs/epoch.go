package certs

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
)

// OfSecret returns a configuration for both sides of connections among processes that know a
// secret and nothing else of each other. Each of them derives the same authority from the secret,
// and issues a certificate to itself, for a name and a host, with the role to work. It is for
// processes that are not trusted with the certificate of their machine.
func OfSecret(secret, name, host string) (*tls.Config, error) {
	if secret == "" {
		return nil, errors.New("there is no secret to make a certificate of")
	}
	seed := sha256.Sum256([]byte("weft authority of " + secret))
	signer := ed25519.NewKeyFromSeed(seed[:])
	ca, err := template("Weft run", life)
	if err != nil {
		return nil, err
	}
	ca.SerialNumber = big.NewInt(1)
	ca.IsCA, ca.BasicConstraintsValid, ca.MaxPathLenZero, ca.KeyUsage = true, true, true, x509.KeyUsageCertSign
	if ca, _, err = signed(ca, ca, signer.Public(), signer); err != nil {
		return nil, err
	}
	leaf, err := template(name, life)
	if err != nil {
		return nil, err
	}
	leaf.Subject, leaf.KeyUsage = Subject(name, Work), x509.KeyUsageDigitalSignature
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	if ip := net.ParseIP(host); ip != nil {
		leaf.IPAddresses = []net.IP{ip}
	} else {
		leaf.DNSNames = []string{host}
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	leaf, der, err := signed(leaf, ca, public, signer)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private, Leaf: leaf}},
		RootCAs:      pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13,
	}, nil
}

// signed returns a certificate that an authority has signed.
func signed(t, parent *x509.Certificate, public any, signer ed25519.PrivateKey) (*x509.Certificate, []byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, t, parent, public, signer)
	if err != nil {
		return nil, nil, err
	}
	c, err := x509.ParseCertificate(der)
	return c, der, err
}

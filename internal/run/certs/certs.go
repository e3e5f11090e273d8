// Package certs makes and reads the certificates with which the processes of a
// cluster know each other: one authority, and one certificate for each machine or
// user, which serves as a server's and as a client's.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

const (
	authority     = "ca"
	authorityLife = 10 * 365 * 24 * time.Hour
	life          = 2 * 365 * 24 * time.Hour
)

// Init makes an authority in dir, which holds none yet: ca.crt, which everybody needs,
// and ca.key, which issues certificates and stays where it is.
func Init(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(dir, authority+".key")); err == nil {
		return fmt.Errorf("%s already holds an authority: certificates that it issued would be worth nothing", dir)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	t, err := template("Weft cluster", authorityLife)
	if err != nil {
		return err
	}
	t.IsCA, t.BasicConstraintsValid, t.MaxPathLenZero = true, true, true
	t.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	_, err = write(dir, authority, t, t, key, key)
	return err
}

// Issue makes a certificate for name with some roles, and the further names and addresses
// under which its holder is reached, signed by dir's authority.
func Issue(dir, name string, roles []Role, hosts ...string) (Files, error) {
	return sign(dir, dir, name, roles, hosts)
}

// sign does the same, and writes the files into another folder.
func sign(dir, into, name string, roles []Role, hosts []string) (Files, error) {
	f := Files{CA: filepath.Join(dir, authority+".crt")}
	if !named.MatchString(name) || name == authority {
		return f, fmt.Errorf("%q is no name for a certificate: it is to be a host's name or address, or a user's", name)
	}
	ca, caKey, err := readAuthority(dir)
	if err != nil {
		return f, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return f, err
	}
	t, err := template(name, life)
	if err != nil {
		return f, err
	}
	t.Subject = Subject(name, roles...)
	t.KeyUsage = x509.KeyUsageDigitalSignature
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, host := range append([]string{name, "localhost", "127.0.0.1", "::1"}, hosts...) {
		if ip := net.ParseIP(host); ip == nil && !slices.Contains(t.DNSNames, host) {
			t.DNSNames = append(t.DNSNames, host)
		} else if ip != nil && !slices.ContainsFunc(t.IPAddresses, ip.Equal) {
			t.IPAddresses = append(t.IPAddresses, ip)
		}
	}
	made, err := write(into, name, t, ca, key, caKey)
	f.Cert, f.Key = made.Cert, made.Key
	if err != nil {
		return f, err
	}
	return f, noteIssued(dir, name, t.SerialNumber)
}

// named are names that are safe as a file's.
var named = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]*$`)

func template(name string, life time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(life), // clocks differ
	}, nil
}

// write signs a certificate and writes it and its key.
func write(dir, name string, t, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) (Files, error) {
	f := Files{Cert: filepath.Join(dir, name+".crt"), Key: filepath.Join(dir, name+".key")}
	cert, err := x509.CreateCertificate(rand.Reader, t, parent, &key.PublicKey, signer)
	if err != nil {
		return f, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return f, err
	}
	for _, x := range []struct {
		path, kind string
		data       []byte
		mode       fs.FileMode
	}{{f.Key, "PRIVATE KEY", secret, 0o600}, {f.Cert, "CERTIFICATE", cert, 0o644}} {
		out, err := os.OpenFile(x.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, x.mode)
		if errors.Is(err, fs.ErrExist) {
			return f, fmt.Errorf("%s exists already: remove it first if it is to be made anew", x.path)
		}
		if err != nil {
			return f, err
		}
		if err := errors.Join(pem.Encode(out, &pem.Block{Type: x.kind, Bytes: x.data}), out.Close()); err != nil {
			return f, err
		}
	}
	return f, nil
}

func readAuthority(dir string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	cert, err := readPEM(filepath.Join(dir, authority+".crt"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%s holds no authority: weft certs init makes one", dir)
	}
	if err != nil {
		return nil, nil, err
	}
	secret, err := readPEM(filepath.Join(dir, authority+".key"))
	if err != nil {
		return nil, nil, err
	}
	ca, err := x509.ParseCertificate(cert)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", dir, err)
	}
	key, err := x509.ParsePKCS8PrivateKey(secret)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", dir, err)
	}
	signer, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, nil, fmt.Errorf("%s: its key is a %T, which weft did not make", dir, key)
	}
	return ca, signer, nil
}

func readPEM(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s holds nothing in PEM form", path)
	}
	return block.Bytes, nil
}

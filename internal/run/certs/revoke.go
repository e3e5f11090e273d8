package certs

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weft-rl/weft/internal/run/durable"
)

const (
	issuedFile  = "issued.txt" // serial number and name of every certificate that the authority issued
	revokedFile = authority + ".crl"
)

// noteIssued records the holder of a certificate, so that it can be revoked when its file is gone.
func noteIssued(dir, name string, serial *big.Int) error {
	f, err := os.OpenFile(filepath.Join(dir, issuedFile), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s %s\n", serial.Text(16), name)
	return errors.Join(err, f.Sync(), f.Close())
}

// serials returns the numbers of the certificates that were issued to name, and all names.
func serials(dir, name string) (out []*big.Int, names []string, err error) {
	add := func(serial *big.Int, of string) {
		if of == name && !slices.ContainsFunc(out, func(x *big.Int) bool { return x.Cmp(serial) == 0 }) {
			out = append(out, serial)
		}
		if !slices.Contains(names, of) {
			names = append(names, of)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, issuedFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	for line := range strings.Lines(string(text)) {
		number, of, _ := strings.Cut(strings.TrimSpace(line), " ")
		serial, ok := new(big.Int).SetString(number, 16)
		if !ok {
			return nil, nil, fmt.Errorf("%s: %q is no serial number and name", filepath.Join(dir, issuedFile), line)
		}
		add(serial, of)
	}
	cert, err := readCert(filepath.Join(dir, name+".crt"))
	switch {
	case err == nil:
		add(cert.SerialNumber, cert.Subject.CommonName)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, nil, err
	}
	return out, names, nil
}

// Revoke puts all certificates that were issued to name on the list of revoked ones, removes its
// files from dir, and returns the list's path. A process that reads the list, beside ca.crt,
// refuses these certificates.
func Revoke(dir, name string) (list string, err error) {
	list = filepath.Join(dir, revokedFile)
	if !named.MatchString(name) || name == authority {
		return list, fmt.Errorf("%q is not a name of a certificate", name)
	}
	ca, key, err := readAuthority(dir)
	if err != nil {
		return list, err
	}
	all, names, err := serials(dir, name)
	if err != nil {
		return list, err
	}
	if len(all) == 0 {
		return list, fmt.Errorf("%s has issued no certificate to %s: there are those of %s", dir, name, strings.Join(names, ", "))
	}
	old, err := readRevoked(list)
	if err != nil {
		return list, err
	}
	now := time.Now()
	next := &x509.RevocationList{Number: new(big.Int).Add(old.Number, big.NewInt(1)), ThisUpdate: now, NextUpdate: now.Add(authorityLife), RevokedCertificateEntries: old.RevokedCertificateEntries}
	for _, serial := range all {
		if !slices.ContainsFunc(next.RevokedCertificateEntries, func(e x509.RevocationListEntry) bool { return e.SerialNumber.Cmp(serial) == 0 }) {
			next.RevokedCertificateEntries = append(next.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: serial, RevocationTime: now})
		}
	}
	der, err := x509.CreateRevocationList(rand.Reader, next, ca, key)
	if err != nil {
		return list, err
	}
	if err := durable.Replace(list, pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der})); err != nil {
		return list, err
	}
	return list, remove(dir, name)
}

// readRevoked reads the list at path; there may be none yet.
func readRevoked(path string) (*x509.RevocationList, error) {
	der, err := readPEM(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &x509.RevocationList{Number: big.NewInt(0)}, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := x509.ParseRevocationList(der)
	if err == nil && list.Number == nil {
		list.Number = big.NewInt(0)
	}
	return list, err
}

// remove removes the files of name's certificate.
func remove(dir, name string) error {
	var errs []error
	for _, end := range []string{".key", ".crt"} {
		if err := os.Remove(filepath.Join(dir, name+end)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Renew makes another certificate for name, in the place of its files in dir: with the same roles
// and addresses. The one before stays good until its end, or until name's certificates are revoked.
func Renew(dir, name string) (Files, error) {
	if !named.MatchString(name) || name == authority {
		return Files{}, fmt.Errorf("%q is not a name of a certificate", name)
	}
	at := filepath.Join(dir, name)
	old, err := readCert(at + ".crt")
	if errors.Is(err, fs.ErrNotExist) {
		return Files{}, fmt.Errorf("%s.crt is not there: weft certs issue %s makes a certificate", at, name)
	}
	if err != nil {
		return Files{}, err
	}
	hosts := old.DNSNames
	for _, ip := range old.IPAddresses {
		hosts = append(hosts, ip.String())
	}
	made, err := os.MkdirTemp(dir, ".renewed-")
	if err != nil {
		return Files{}, err
	}
	defer os.RemoveAll(made) // nothing is left in it
	if _, err := sign(dir, made, name, HolderOf(old).Roles, hosts); err != nil {
		return Files{}, err
	}
	// Who reads the files in between sees that they do not fit, and goes on with the old ones.
	for _, end := range []string{".key", ".crt"} {
		if err := os.Rename(filepath.Join(made, name+end), at+end); err != nil {
			return Files{}, err
		}
	}
	return Files{CA: filepath.Join(dir, authority+".crt"), Cert: at + ".crt", Key: at + ".key"}, nil
}

func readCert(path string) (*x509.Certificate, error) {
	der, err := readPEM(path)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

package certs

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
)

// Files are where a process has its certificate. They may come from elsewhere than
// from this package.
type Files struct {
	CA, Cert, Key string
	Revoked       string // list of certificates that the authority has revoked; it need not be there
}

// In finds the certificate in a folder that holds one beside the authority's.
func In(dir string) (Files, error) {
	all, err := filepath.Glob(filepath.Join(dir, "*.key"))
	if err != nil {
		return Files{}, err
	}
	var found []string
	for _, key := range all {
		if name := strings.TrimSuffix(filepath.Base(key), ".key"); name != authority {
			found = append(found, name)
		}
	}
	switch len(found) {
	case 0:
		return Files{}, fmt.Errorf("%s holds no certificate: weft certs issue makes one", dir)
	case 1:
		at := filepath.Join(dir, found[0])
		return Files{filepath.Join(dir, authority+".crt"), at + ".crt", at + ".key", filepath.Join(dir, revokedFile)}, nil
	}
	return Files{}, fmt.Errorf("%s holds certificates of %s: name one with --cert and --key", dir, strings.Join(found, ", "))
}

// Required refuses an address that others than this machine reach, unless there are
// certificates.
func Required(address string, c *tls.Config) error {
	if c != nil || strings.HasPrefix(address, "unix:") {
		return nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%s is no address, such as 127.0.0.1:7700: %w", address, err)
	}
	if host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%s: %w", address, errRequired)
}

var errRequired = errors.New("on any address but loopback both sides must have certificates: " +
	"weft certs init and weft certs issue make them, --certs DIR names them")

// Fits refuses an address by which others are to find this process but cannot: one that
// is every address of the machine, or one that its certificate is not for.
func Fits(address string, c *tls.Config) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%s is no address, such as 127.0.0.1:7700: %w", address, err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return fmt.Errorf("%s is every address of this machine: --advertise says by which one others find it", address)
	}
	if c == nil || len(c.Certificates) == 0 || c.Certificates[0].Leaf == nil {
		return nil
	}
	if c.ServerName == Anywhere { // others look at that name
		return nil
	}
	if err := c.Certificates[0].Leaf.VerifyHostname(host); err != nil {
		return fmt.Errorf("the certificate does not hold for %s, so other processes would refuse this one (%w): weft certs issue NAME --host %s makes one that does", address, err, host)
	}
	return nil
}

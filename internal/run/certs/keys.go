package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

const (
	look = time.Second         // between looks at the files, at least
	warn = 24 * time.Hour      // between warnings
	ends = 30 * 24 * time.Hour // before the end of a certificate, in which warnings are given
)

// Keys are a certificate, its authority and what that has revoked, as their files hold them now.
// Files that have changed are read again with the next connection, so that nothing has to be
// started anew; files that make no sense are not taken.
type Keys struct {
	files Files
	renew string // what to do when the certificate expires

	mu     sync.Mutex
	now    *loaded
	stamps [4]stamp
	looked time.Time
	why    string // the files, as they are now, were not taken
}

// loaded holds the contents of the files as they were last read.
type loaded struct {
	pair    tls.Certificate
	cas     []*x509.Certificate
	roots   *x509.CertPool
	revoked map[string]bool // serial numbers
}

// stamp tells whether a file has changed.
type stamp struct {
	size int64
	when time.Time
}

// Open reads the files.
func (f Files) Open() (*Keys, error) {
	k := &Keys{files: f, looked: time.Now()}
	if err := k.read(); err != nil {
		return nil, err
	}
	k.renew = fmt.Sprintf("weft certs renew %s makes another: put it in the place of the old files, nothing has to be restarted", k.holder().Name)
	return k, nil
}

// Load reads the files: a configuration for servers and clients alike, in which both sides must
// show a certificate of the authority. See Keys.TLS.
func (f Files) Load() (*tls.Config, error) {
	k, err := f.Open()
	if err != nil {
		return nil, err
	}
	return k.TLS(), nil
}

func (f Files) all() [4]string { return [4]string{f.CA, f.Cert, f.Key, f.Revoked} }

// read reads the files, and takes them if they make sense together.
func (k *Keys) read() error {
	var texts [4][]byte
	var stamps [4]stamp
	for i, path := range k.files.all() {
		if path == "" {
			continue
		}
		info, err := os.Stat(path)
		if err == nil {
			stamps[i] = stamp{info.Size(), info.ModTime()}
			texts[i], err = os.ReadFile(path)
		}
		if i == 3 && errors.Is(err, fs.ErrNotExist) {
			if k.stamps[i] != (stamp{}) {
				return fmt.Errorf("%s is gone: what it revoked stays revoked", path)
			}
			continue
		}
		if err != nil {
			return err
		}
	}
	l, err := parse(texts[0], texts[1], texts[2], texts[3])
	if err != nil {
		return fmt.Errorf("certificates %s, %s and %s: %w", k.files.CA, k.files.Cert, k.files.Key, err)
	}
	k.now, k.stamps = l, stamps
	return nil
}

// parse reads what the files hold; revoked may be empty.
func parse(ca, cert, key, revoked []byte) (*loaded, error) {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, err
		}
	}
	l := &loaded{pair: pair, roots: x509.NewCertPool(), revoked: map[string]bool{}}
	for block, rest := pem.Decode(ca); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("the authority's file: %w", err)
		}
		l.cas = append(l.cas, c)
		l.roots.AddCert(c)
	}
	if len(l.cas) == 0 {
		return nil, errors.New("the authority's file holds no certificate")
	}
	for block, rest := pem.Decode(revoked); block != nil; block, rest = pem.Decode(rest) {
		if err := l.revoke(block.Bytes); err != nil {
			return nil, fmt.Errorf("the list of revoked certificates: %w", err)
		}
	}
	return l, nil
}

// revoke takes a list over, which one of the authorities must have signed.
func (l *loaded) revoke(der []byte) error {
	list, err := x509.ParseRevocationList(der)
	if err != nil {
		return err
	}
	for _, ca := range l.cas {
		if err = list.CheckSignatureFrom(ca); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	for _, e := range list.RevokedCertificateEntries {
		l.revoked[e.SerialNumber.Text(16)] = true
	}
	return nil
}

// current returns the files' content, which is read again if they have changed.
func (k *Keys) current() *loaded {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := time.Now(); now.Sub(k.looked) >= look {
		k.looked = now
		k.why = ""
		if k.changed() {
			if err := k.read(); err != nil {
				k.why = fmt.Sprintf("the certificates that it has go on: %v", err)
			}
		}
	}
	return k.now
}

func (k *Keys) changed() bool {
	for i, path := range k.files.all() {
		var s stamp
		if info, err := os.Stat(path); err == nil {
			s = stamp{info.Size(), info.ModTime()}
		}
		if path != "" && s != k.stamps[i] {
			return true
		}
	}
	return false
}

func (k *Keys) holder() Holder { return HolderOf(k.now.pair.Leaf) }

// TLS returns a configuration for servers and clients alike. Its GetConfigForClient, which does not
// look at its argument, returns the configuration for the files as they are now: servers call it
// with every connection, and clients may. Its VerifyPeerCertificate can be asked again about a
// connection that is open.
func (k *Keys) TLS() *tls.Config {
	c := k.config(k.current())
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return k.config(k.current()), nil }
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &k.current().pair, nil }
	return c
}

func (k *Keys) config(l *loaded) *tls.Config {
	return &tls.Config{
		ServerName:   l.expects(),
		Certificates: []tls.Certificate{l.pair}, RootCAs: l.roots, ClientCAs: l.roots, MinVersion: tls.VersionTLS13,
		ClientAuth: tls.RequireAnyClientCert, VerifyPeerCertificate: k.verify, // which says whose certificate it is, unlike RequireAndVerifyClientCert
		// A client whose certificate the server would not take is to be told so, not to be asked
		// for another.
		GetClientCertificate:   func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &l.pair, nil },
		SessionTicketsDisabled: true, // every connection shows its certificate
	}
}

// verify refuses a peer whose certificate is not the authority's, or revoked.
func (k *Keys) verify(raw [][]byte, _ [][]*x509.Certificate) error {
	var chain []*x509.Certificate
	for _, der := range raw {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return err
		}
		chain = append(chain, c)
	}
	if len(chain) == 0 {
		return errors.New("no certificate was shown")
	}
	l := k.current()
	o := x509.VerifyOptions{Roots: l.roots, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
	for _, c := range chain[1:] {
		o.Intermediates.AddCert(c)
	}
	_, err := chain[0].Verify(o)
	for _, c := range chain {
		if err == nil && l.revoked[c.SerialNumber.Text(16)] {
			err = errors.New("it was revoked")
		}
	}
	if err != nil {
		return fmt.Errorf("certificate of %.100q: %w", HolderOf(chain[0]).Name, err)
	}
	return nil
}

// Warning returns what a user should know about the certificates; empty if there is nothing.
func (k *Keys) Warning(now time.Time) string {
	l := k.current()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.why != "" {
		return k.why
	}
	for _, ca := range l.cas {
		if left := ca.NotAfter.Sub(now); left < ends {
			return fmt.Sprintf("the authority's certificate %s %s: make another with weft certs init, and all certificates with it", k.files.CA, until(left))
		}
	}
	if left := l.pair.Leaf.NotAfter.Sub(now); left < ends {
		return fmt.Sprintf("the certificate %s %s: %s", k.files.Cert, until(left), k.renew)
	}
	return ""
}

func until(left time.Duration) string {
	if left <= 0 {
		return fmt.Sprintf("ended %.0f days ago", -left.Hours()/24)
	}
	return fmt.Sprintf("ends in %.0f days", left.Hours()/24)
}

// Tend says warnings until ctx is done: at once, and again once a day.
func (k *Keys) Tend(ctx context.Context, say func(string)) {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	var told string
	var when time.Time
	for {
		now := time.Now()
		if text := k.Warning(now); text != told || now.Sub(when) > warn {
			if told, when = text, now; text != "" {
				say(text)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

package certs

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Who has a certificate of the same authority is spoken to, nobody else.
func TestMutual(t *testing.T) {
	ours, others := t.TempDir(), t.TempDir()
	server, client, stranger := issue(t, ours, "server"), issue(t, ours, "client"), issue(t, others, "client")
	bare := client.Clone()
	bare.Certificates, bare.GetClientCertificate = nil, nil
	for _, c := range []struct {
		name   string
		client *tls.Config
		ok     bool
	}{{"ours", client, true}, {"another authority", stranger, false}, {"none", bare, false}} {
		t.Run(c.name, func(t *testing.T) {
			if err := talk(t, server, c.client); (err == nil) != c.ok {
				t.Errorf("%v", err)
			}
		})
	}
}

func issue(t *testing.T, dir, name string) *tls.Config {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "ca.key")); err != nil {
		if err := Init(dir); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Issue(dir, name, Roles(), "10.0.0.7")
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// talk sends a word from a server to a client.
func talk(t *testing.T, server, client *tls.Config) error {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if conn, err := l.Accept(); err == nil {
			_, _ = conn.Write([]byte("word"))
			conn.Close()
		}
	}()
	defer func() { l.Close(); <-done }()
	conn, err := tls.Dial("tcp", l.Addr().String(), client)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = io.ReadFull(conn, make([]byte, 4))
	return err
}

func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	says := func(err error, text string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
	_, err := Issue(dir, "a", Roles())
	says(err, "holds no authority: weft certs init")
	if err := Init(dir); err != nil {
		t.Fatal(err)
	}
	says(Init(dir), "already holds an authority")
	_, err = In(dir)
	says(err, "holds no certificate: weft certs issue")
	for _, name := range []string{"", "../x", "ca", "a b"} {
		_, err = Issue(dir, name, Roles())
		says(err, "is no name for a certificate")
	}
	issue(t, dir, "a")
	if f, err := In(dir); err != nil || filepath.Base(f.Cert) != "a.crt" {
		t.Error(f, err)
	}
	_, err = Issue(dir, "a", Roles())
	says(err, "exists already")
	issue(t, dir, "b")
	_, err = In(dir)
	says(err, "certificates of a, b")
	info, err := os.Stat(filepath.Join(dir, "a.key"))
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Error(info.Mode(), err)
	}
}

func TestRequired(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:1": true, "[::1]:1": true, "localhost:1": true, "unix:/tmp/x": true,
		"0.0.0.0:1": false, ":1": false, "10.0.0.1:1": false, "example.com:1": false, "nonsense": false, net.JoinHostPort("::", "1"): false,
	} {
		if err := Required(address, nil); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
		if err := Required(address, &tls.Config{}); err != nil {
			t.Errorf("%s with certificates: %v", address, err)
		}
	}
}

// A process says at once that others would not find it, or not trust it.
func TestFits(t *testing.T) {
	dir := t.TempDir()
	if err := Init(dir); err != nil {
		t.Fatal(err)
	}
	f, err := Issue(dir, "gpu1", []Role{Work}, "10.0.0.2")
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.Load()
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"127.0.0.1:1": "", "10.0.0.2:7700": "", "gpu1:7700": "", "[::1]:0": "",
		"10.0.0.3:7700": "--host 10.0.0.3", "gpu2:1": "--host gpu2", "0.0.0.0:7700": "--advertise", ":7700": "--advertise", "[::]:0": "--advertise", "x": "no address",
	} {
		if err := Fits(address, c); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	if err := Fits("10.0.0.3:7700", nil); err != nil {
		t.Error(err)
	}
}

// FuzzFiles: whatever the files of a certificate hold, they are one or an error.
func FuzzFiles(f *testing.F) {
	dir := f.TempDir()
	if err := Init(dir); err != nil {
		f.Fatal(err)
	}
	made, err := Issue(dir, "a", Roles())
	if err != nil {
		f.Fatal(err)
	}
	var texts [3][]byte
	for i, path := range []string{made.CA, made.Cert, made.Key} {
		if texts[i], err = os.ReadFile(path); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(texts[0], texts[1], texts[2])
	f.Add([]byte("-----BEGIN CERTIFICATE-----"), []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, ca, cert, key []byte) {
		l, err := parse(ca, cert, key, ca)
		if err == nil && (len(l.cas) == 0 || len(l.revoked) > 0) {
			t.Error("nobody would be asked for a certificate")
		}
	})
}

package certs

import (
	"context"
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// hurry has the files looked at with the next connection.
func (k *Keys) hurry() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.looked = time.Time{}
}

// made returns the keys of a new certificate, in a folder of its own as a machine has it.
func made(t *testing.T, authority, name string, roles ...Role) (*Keys, string) {
	t.Helper()
	if _, err := Issue(authority, name, roles); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	deliver(t, authority, dir, name)
	f, err := In(dir)
	if err != nil {
		t.Fatal(err)
	}
	k, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	return k, dir
}

// deliver copies what a machine needs of an authority.
func deliver(t *testing.T, authority, to, name string) {
	t.Helper()
	for _, file := range []string{"ca.crt", "ca.crl", name + ".crt", name + ".key"} {
		text, err := os.ReadFile(filepath.Join(authority, file))
		if os.IsNotExist(err) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, file), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func authorityIn(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := Init(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRoles: a certificate has the roles that it was issued with, also when it is renewed.
func TestRoles(t *testing.T) {
	dir := authorityIn(t)
	k, _ := made(t, dir, "alice", Submit)
	if h := k.holder(); h.Name != "alice" || !h.May(Submit) || !h.May(Read) || h.May(Work) || h.May(Coordinate) {
		t.Errorf("%+v", h)
	}
	if bare, _ := made(t, dir, "old"); len(bare.holder().Roles) != 0 {
		t.Errorf("a certificate without a role has %v", bare.holder().Roles)
	}
	f, err := Renew(dir, "alice")
	if err != nil {
		t.Fatal(err)
	}
	again, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	if h := again.holder(); h.Serial == k.holder().Serial || !h.May(Submit) || h.May(Work) {
		t.Errorf("%+v was renewed as %+v", k.holder(), h)
	}
	for want, names := range map[string][]string{"is no role: there are coordinate, work, submit, read": {"root"}, "without a role": nil} {
		if _, err := ParseRoles(names); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestRevoke: a certificate that is revoked is worth nothing as soon as the list is there, and all
// that its name ever had are; another one of the name is good.
func TestRevoke(t *testing.T) {
	dir := authorityIn(t)
	server, at := made(t, dir, "server", Coordinate)
	alice, _ := made(t, dir, "alice", Submit)
	if _, err := Renew(dir, "alice"); err != nil {
		t.Fatal(err)
	}
	f, err := Files{CA: filepath.Join(dir, "ca.crt"), Cert: filepath.Join(dir, "alice.crt"), Key: filepath.Join(dir, "alice.key")}.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []*Keys{alice, f} {
		if err := talk(t, server.TLS(), k.TLS()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Revoke(dir, "alice"); err != nil {
		t.Fatal(err)
	}
	if _, err := Revoke(dir, "bob"); err == nil || !strings.Contains(err.Error(), "has issued no certificate to bob") {
		t.Error(err)
	}
	deliver(t, dir, at, "server")
	server.hurry()
	for _, k := range []*Keys{alice, f} {
		if err := talk(t, server.TLS(), k.TLS()); err == nil {
			t.Error("a revoked certificate is taken")
		}
	}
	next, _ := made(t, dir, "alice", Submit)
	if err := talk(t, server.TLS(), next.TLS()); err != nil {
		t.Errorf("another certificate of the name: %v", err)
	}

	// A list that is gone, or that somebody else made, changes nothing.
	list := filepath.Join(at, "ca.crl")
	other := authorityIn(t)
	made(t, other, "server", Coordinate)
	if _, err := Revoke(other, "server"); err != nil {
		t.Fatal(err)
	}
	forged, err := os.ReadFile(filepath.Join(other, "ca.crl"))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func() error{
		"gone": func() error { return os.Remove(list) }, "another's": func() error { return os.WriteFile(list, forged, 0o600) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		server.hurry()
		if err := talk(t, server.TLS(), alice.TLS()); err == nil {
			t.Errorf("the list is %s, and a revoked certificate is taken", name)
		}
		server.hurry()
		if text := server.Warning(time.Now()); !strings.Contains(text, "go on") {
			t.Errorf("the list is %s, and nobody is told: %q", name, text)
		}
	}
}

// TestReload: files that are replaced are read again, by servers and clients that go on, also those
// of another authority; files that make no sense are not taken.
func TestReload(t *testing.T) {
	first, second := authorityIn(t), authorityIn(t)
	server, at := made(t, first, "server", Coordinate)
	listening := server.TLS()
	old, _ := made(t, first, "client", Read)
	if err := talk(t, listening, old.TLS()); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(at, "server.key")
	if err := os.WriteFile(key, []byte("half a fi"), 0o600); err != nil {
		t.Fatal(err)
	}
	server.hurry()
	if err := talk(t, listening, old.TLS()); err != nil {
		t.Errorf("while a file is written: %v", err)
	}
	next, _ := made(t, second, "client", Read)
	made(t, second, "server", Coordinate)
	deliver(t, second, at, "server")
	server.hurry()
	if err := talk(t, listening, next.TLS()); err != nil {
		t.Errorf("by the new files: %v", err)
	}
	if err := talk(t, listening, old.TLS()); err == nil {
		t.Error("the authority before is still taken")
	}
	now, err := listening.GetConfigForClient(nil) // as a client of that machine would connect
	if err != nil {
		t.Fatal(err)
	}
	if err := talk(t, next.TLS(), now); err != nil {
		t.Errorf("as a client, by the new files: %v", err)
	}
}

// TestOpenConnection: a configuration can be asked again about the peer of an open connection.
func TestOpenConnection(t *testing.T) {
	dir := authorityIn(t)
	server, at := made(t, dir, "server", Coordinate)
	alice, _ := made(t, dir, "alice", Submit)
	c := server.TLS()
	chain := alice.now.pair.Certificate
	if err := c.VerifyPeerCertificate(chain, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := Revoke(dir, "alice"); err != nil {
		t.Fatal(err)
	}
	deliver(t, dir, at, "server")
	server.hurry()
	if err := c.VerifyPeerCertificate(chain, nil); err == nil || !strings.Contains(err.Error(), `certificate of "alice": it was revoked`) {
		t.Error(err)
	}
}

// TestWarning: before a certificate ends its holder is told what to do: at once, and not again and
// again.
func TestWarning(t *testing.T) {
	dir := authorityIn(t)
	k, _ := made(t, dir, "gpu1", Work)
	for days, want := range map[int]string{0: "", 600: "", 720: "gpu1.crt ends in 10 days: weft certs renew gpu1", 740: "ended 10 days ago", 3640: "the authority's certificate"} {
		if got := k.Warning(time.Now().Add(time.Duration(days) * 24 * time.Hour)); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("after %d days: %q, want %q", days, got, want)
		}
	}
	k.now.pair.Leaf.NotAfter = time.Now().Add(time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), 2*look+look/2)
	defer cancel()
	var mu sync.Mutex
	var said []string
	k.Tend(ctx, func(text string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, text)
	})
	if len(said) != 1 || !strings.Contains(said[0], "ends in 0 days") {
		t.Errorf("%q", said)
	}
}

// TestAnonymous: without a certificate nobody is let in, whatever the client's configuration says.
func TestAnonymous(t *testing.T) {
	dir := authorityIn(t)
	server, _ := made(t, dir, "server", Coordinate)
	if err := talk(t, server.TLS(), &tls.Config{InsecureSkipVerify: true}); err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Error(err)
	}
}

package certs

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestOwn: all processes of a user have one certificate, made by whoever comes first,
// and nobody else's is taken for it.
func TestOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "weft", "loopback")
	var all [8]*tls.Config
	var wait sync.WaitGroup
	for i := range all {
		wait.Go(func() {
			c, err := own(dir)
			if err != nil {
				t.Error(err)
			}
			all[i] = c.TLS()
		})
	}
	wait.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for _, c := range all[1:] {
		if err := talk(t, all[0], c); err != nil {
			t.Errorf("two processes of one user do not know each other: %v", err)
		}
	}
	other, err := own(filepath.Join(t.TempDir(), "loopback"))
	if err != nil {
		t.Fatal(err)
	}
	if err := talk(t, all[0], other.TLS()); err == nil {
		t.Error("another user is let in")
	}
	if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) != 1 {
		t.Errorf("%v is left beside the certificate, %v", left, err)
	}
}

// TestAnywhere: processes of a household know each other at any address, others do not.
func TestAnywhere(t *testing.T) {
	var all []*tls.Config
	for _, host := range []string{Anywhere, Anywhere, "10.0.0.1"} {
		f, err := Household(filepath.Join(t.TempDir(), "certs"), host)
		if err != nil {
			t.Fatal(err)
		}
		c, err := f.Load()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	for i, want := range []bool{true, true, false} {
		if err := Fits("192.0.2.7:7700", all[i]); (err == nil) != want {
			t.Errorf("%d: %v", i, err)
		}
		if err := talk(t, all[0], all[i]); (err == nil) != (i == 0) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// TestOwnExposed: a secret that others can read is none.
func TestOwnExposed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "loopback")
	if _, err := own(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := own(dir); err == nil {
		t.Error("a folder that everybody may look into is taken")
	}
}

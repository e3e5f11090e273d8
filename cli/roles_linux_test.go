package cli_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// handOut copies what one machine or user needs of an authority into a folder of its own, which
// everybody may read: the stranger that a test is about has been given it.
func handOut(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "certs-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	hand(t, dir, "ca.crt", name+".crt", name+".key")
	return dir
}

func hand(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join("certs", file))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestRoles: with the very commands, another user of the machine who has a certificate does what
// its role allows and nothing else; and a worker whose certificate is revoked is gone, without
// anything being restarted.
func TestRoles(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	do(t, 0, "certs", "init")
	at := map[string]string{}
	for name, role := range map[string]string{"here": "coordinate", "gpu1": "work", "alice": "submit", "bob": "read"} {
		do(t, 0, "certs", "issue", name, "--role", role)
		at[name] = handOut(t, name)
	}
	out, _ := serve(t, "coordinator", "--listen", "127.0.0.1:0", "--certs", at["here"], "--json")
	var e struct{ Address string }
	if err := json.Unmarshal([]byte(out.until("listening")), &e); err != nil {
		t.Fatal(err)
	}
	worker, _ := serve(t, "worker", "--join", e.Address, "--name", "a", "--devices", "cpu", "--certs", at["gpu1"], "--json", "--patience", "1h")
	worker.until("joined")
	for _, c := range []struct {
		who, args, want string
	}{
		{"bob", "status", "1 worker"},
		{"bob", "stop x", "this takes submit"},
		{"bob", "delete x", "this takes submit"},
		{"bob", "train ppo --env Identity-v0 --steps 64", "this takes submit"},
		{"gpu1", "train ppo --env Identity-v0 --steps 64", "this takes read"},
		{"gpu1", "status", "this takes read"},
		{"alice", "stop x", "there is no run x"},
	} {
		text, err := asStranger(t, append(strings.Fields(c.args), "--cluster", e.Address, "--certs", at[c.who])...)
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: weft %s: %v\n%s\nwant %q", c.who, c.args, err, text, c.want)
		}
	}
	for _, who := range []string{"bob", "alice"} {
		text, err := asStranger(t, "worker", "--join", e.Address, "--name", "b", "--devices", "cpu", "--certs", at[who])
		if err == nil || !strings.Contains(text, "this takes work") {
			t.Errorf("%s works: %v\n%s", who, err, text)
		}
	}

	contains(t, do(t, 0, "certs", "revoke", "gpu1").out, "copy certs/ca.crl beside ca.crt")
	if _, err := os.Stat(filepath.Join("certs", "gpu1.key")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its key: %v", err)
	}
	hand(t, at["here"], "ca.crl")
	deadline := time.Now().Add(time.Minute)
	for {
		o := do(t, 0, "status", "--cluster", e.Address, "--certs", at["bob"])
		if strings.Contains(o.out, "0 workers") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("a revoked worker is there:\n%s", o.out)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if text, err := asStranger(t, "worker", "--join", e.Address, "--name", "c", "--devices", "cpu", "--certs", at["gpu1"], "--patience", "1s"); err == nil {
		t.Errorf("a revoked certificate is taken:\n%s", text)
	}
	out.until(`it was revoked`)
}

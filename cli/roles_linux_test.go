package cli_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
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

// town is a cluster whose processes and users have certificates of one authority. Its coordinator
// is a process of its own.
type town struct {
	*testing.T
	at    string            // address of the coordinator
	certs map[string]string // folders of certificates, by the names of their holders
	log   *shared           // output of the coordinator
	pid   int               // the coordinator
}

// newTown starts a coordinator with flags, and issues certificates to holders, by their roles.
func newTown(t *testing.T, holders map[string]string, flags ...string) town {
	t.Helper()
	t.Chdir(t.TempDir())
	w := town{T: t, certs: map[string]string{}}
	do(t, 0, "certs", "init")
	for name, role := range holders {
		w.issue(name, role)
	}
	w.issue("here", "coordinate")
	w.log, w.pid = w.start(append([]string{"coordinator", "--listen", "127.0.0.1:0", "--certs", w.certs["here"]}, flags...)...)
	w.at = strings.TrimSuffix(strings.Fields(w.log.until("coordinator at"))[2], ":")
	return w
}

func (w town) issue(name, role string) {
	w.Helper()
	do(w.T, 0, "certs", "issue", name, "--role", role)
	w.certs[name] = handOut(w.T, name)
}

// start runs a command as a process until the test is over.
func (w town) start(args ...string) (out *shared, pid int) {
	w.Helper()
	program, err := os.Executable()
	if err != nil {
		w.Fatal(err)
	}
	out = newShared()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	return out, cmd.Process.Pid
}

// work starts a worker that shows a holder's certificate.
func (w town) work(name, holder string) {
	w.Helper()
	out, _ := w.start("worker", "--join", w.at, "--name", name, "--devices", "cpu", "--certs", w.certs[holder])
	out.until("joined")
}

// TestRoles: with the very commands, another user of the machine who has a certificate does what
// its role allows and nothing else; and a worker whose certificate is revoked is gone, without
// anything being restarted.
func TestRoles(t *testing.T) {
	w := newTown(t, map[string]string{"gpu1": "work", "alice": "submit", "bob": "read"})
	w.work("a", "gpu1")
	other := newStranger(t)
	for _, c := range []struct {
		who, args, want string
	}{
		{"bob", "status", "1 worker"},
		{"bob", "stop x", "this takes submit"},
		{"bob", "delete x", "this takes submit"},
		{"bob", "train ppo --env Identity-v0 --steps 64", "this takes submit"},
		{"bob", "train ppo --env Identity-v0 --steps 64 --own-program", "this takes submit"},
		{"gpu1", "train ppo --env Identity-v0 --steps 64", "this takes read"},
		{"gpu1", "status", "this takes read"},
		{"alice", "stop x", "there is no run x"},
	} {
		text, err := other.do("1", append(strings.Fields(c.args), "--cluster", w.at, "--certs", w.certs[c.who])...)
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: weft %s: %v\n%s\nwant %q", c.who, c.args, err, text, c.want)
		}
	}
	for _, who := range []string{"bob", "alice"} {
		text, err := other.do("1", "worker", "--join", w.at, "--name", "b", "--devices", "cpu", "--certs", w.certs[who])
		if err == nil || !strings.Contains(text, "this takes work") {
			t.Errorf("%s works: %v\n%s", who, err, text)
		}
	}

	contains(t, do(t, 0, "certs", "revoke", "gpu1").out, "copy certs/ca.crl beside ca.crt")
	if _, err := os.Stat(filepath.Join("certs", "gpu1.key")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its key: %v", err)
	}
	hand(t, w.certs["here"], "ca.crl")
	deadline := time.Now().Add(time.Minute)
	for {
		o := do(t, 0, "status", "--cluster", w.at, "--certs", w.certs["bob"])
		if strings.Contains(o.out, "0 workers") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("a revoked worker is there:\n%s", o.out)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if text, err := other.do("1", "worker", "--join", w.at, "--name", "c", "--devices", "cpu", "--certs", w.certs["gpu1"], "--patience", "1s"); err == nil {
		t.Errorf("a revoked certificate is taken:\n%s", text)
	}
	w.log.until(`it was revoked`)
}

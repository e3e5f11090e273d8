package cli_test

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestStranger: who listens on loopback is reached by every user of the machine. One
// that has not the owner's secret learns nothing, and has nothing done.
func TestStranger(t *testing.T) {
	t.Chdir(t.TempDir())
	at := coordinator(t)
	out, _ := serve(t, "worker", "--join", at, "--name", "a", "--devices", "cpu", "--json")
	out.until("joined")
	refuses(t, at)

	// The same with the very commands, as another user where that can be tried, and as
	// one with another home where it cannot.
	other := newStranger(t)
	var all sync.WaitGroup
	for _, args := range [][]string{
		{"status", "--cluster", at},
		{"stop", "x", "--cluster", at},
		{"train", "ppo", "--env", "Identity-v0", "--steps", "64", "--cluster", at},
		{"worker", "--join", at, "--name", "stranger", "--devices", "cpu", "--patience", "1s"},
	} {
		all.Go(func() {
			text, err := other.do("1", args...)
			if err == nil || !strings.Contains(text, "certificate") {
				t.Errorf("weft %s as another user: %v\n%s", strings.Join(args, " "), err, text)
			}
		})
	}
	all.Wait()
	contains(t, do(t, 0, "status", "--cluster", at).out, "1 worker")
}

// TestStrangerProcesses: the processes of a run know each other and nobody else, the
// user's other processes neither.
func TestStrangerProcesses(t *testing.T) {
	t.Chdir(t.TempDir())
	cmd, lines := parent(t, tiny("--processes", "1", "--steps", "1_000_000_000", "--json")...)
	scanTo(t, lines, `"iteration"`)
	listeners := 0
	for pid, line := range children(t, cmd.Process.Pid) {
		for _, at := range listening(t, pid) {
			listeners++
			refuses(t, at)
			if strings.Contains(line, "coordinator") {
				do(t, 1, "status", "--cluster", at)
			}
		}
	}
	if listeners == 0 {
		t.Error("none of its processes listens: a coordinator was to be tried")
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	_ = cmd.Wait() // it was interrupted
}

// refuses checks that an address asks for a certificate.
func refuses(t *testing.T, at string) {
	t.Helper()
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Minute}, "tcp", at, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		if strings.Contains(err.Error(), "first record does not look like a TLS handshake") {
			t.Errorf("%s speaks with anybody", at)
		}
		return
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute)) // a refusal comes with the first record
	if _, err := conn.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("%s takes who shows no certificate: %v", at, err)
	}
}

// nobody is a user that owns nothing.
const nobody = 65534

// stranger is another user of this machine, with a home that has nothing but this program. Where
// the test may not start processes of other users, it is this one with another home.
type stranger struct {
	*testing.T
	home, program string
}

func newStranger(t *testing.T) stranger {
	t.Helper()
	home, err := os.MkdirTemp("", "stranger-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	program, err := os.Executable()
	if err == nil {
		program, err = forAll(home, program) // whose folder is the test's own
	}
	if err == nil && os.Getuid() == 0 {
		err = os.Chown(home, nobody, nobody)
	}
	if err != nil {
		t.Fatal(err)
	}
	return stranger{t, home, program}
}

// do runs the program as a command ("1"), or for one of acts, and returns what it printed.
func (s stranger) do(what string, args ...string) (string, error) {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), s.program, args...)
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	cmd.Dir = s.home
	cmd.Env = []string{"HOME=" + s.home, "XDG_CONFIG_HOME=" + s.home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + s.home, asCommand + "=" + what}
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// forAll links or copies a program to a folder in which everybody may start it.
func forAll(dir, program string) (string, error) {
	to := filepath.Join(dir, "program")
	if os.Link(program, to) == nil {
		return to, nil
	}
	text, err := os.ReadFile(program)
	if err == nil {
		err = os.WriteFile(to, text, 0o755)
	}
	return to, err
}

// listening lists the addresses at which a process listens on loopback.
func listening(t *testing.T, pid int) (out []string) {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	open, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range open {
		to, _ := os.Readlink(fd) // it may be closed by now
		for line := range strings.Lines(string(table)) {
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != "0A" || to != "socket:["+f[9]+"]" { // 0A is listening
				continue
			}
			_, hex, _ := strings.Cut(f[1], ":")
			port, err := strconv.ParseUint(hex, 16, 16)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprintf("127.0.0.1:%d", port))
		}
	}
	return out
}

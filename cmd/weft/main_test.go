package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// binary builds the command once for all tests.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "weft-test-")
	if err != nil {
		return "", err
	}
	built = dir
	bin := filepath.Join(dir, "weft")
	if out, err := exec.Command("go", "build", "-ldflags=-w", "-o", bin, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return bin, nil
})

var built string // the folder of the binary, once there is one

func TestMain(m *testing.M) {
	becomeContainer()
	if signal.Ignored(syscall.SIGHUP) { // under nohup: commands that tests start are to take it as usual
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	home, err := os.MkdirTemp("", "weft-test-home-") // of the user's certificate
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_CONFIG_HOME", home)
	code := m.Run()
	os.RemoveAll(home)
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(code)
}

// process is the command at work.
type process struct {
	t *testing.T
	*exec.Cmd
	lines  *bufio.Scanner
	stderr bytes.Buffer
}

// start starts the command in a folder.
func start(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return begin(t, dir, bin, args...)
}

// begin starts a program in a folder.
func begin(t *testing.T, dir, program string, args ...string) *process {
	t.Helper()
	p := &process{t: t, Cmd: exec.CommandContext(t.Context(), program, args...)}
	p.Dir, p.Stderr = dir, &p.stderr
	p.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "GOWORK=off", "TMPDIR="+t.TempDir())
	out, err := p.StdoutPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(out)
	return p
}

// until reads lines of output up to the n-th with a text, and reports whether
// there were as many.
func (p *process) until(text string, n int) bool {
	for p.lines.Scan() {
		if strings.Contains(p.lines.Text(), text) {
			if n--; n == 0 {
				return true
			}
		}
	}
	return false
}

// signal sends a signal, unless the process is over.
func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(s); err != nil && err != os.ErrProcessDone {
		p.t.Fatal(err)
	}
}

// end reads the rest of the output, and returns its last line and the exit code.
func (p *process) end() (string, int) {
	p.t.Helper()
	last := ""
	for p.lines.Scan() {
		last = p.lines.Text()
	}
	if err := p.lines.Err(); err != nil && err != io.EOF {
		p.t.Fatal(err)
	}
	err := p.Wait()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		p.t.Fatal(err)
	}
	return last, p.ProcessState.ExitCode()
}

// do runs the command to an end with an exit code, and returns the last line of
// its output and what it said of errors.
func do(t *testing.T, dir string, code int, args ...string) (last, errors string) {
	t.Helper()
	p := start(t, dir, args...)
	last, got := p.end()
	if got != code {
		t.Fatalf("weft %s: exit code %d, want %d\n%s\n%s", strings.Join(args, " "), got, code, last, p.stderr.String())
	}
	return last, p.stderr.String()
}

// event is the last line of a run.
type event struct {
	Event     string
	Algorithm string
	Env       string
	Steps     int64
	Weights   string `json:"weights_sha256"`
	State     string `json:"state_sha256"`
	Episodes  int64
	Out       string
}

func parse(t *testing.T, line string) (e event) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return e
}

// sameBits compares two runs' ends.
func sameBits(t *testing.T, got, want event) {
	t.Helper()
	got.Out, want.Out = "", ""
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

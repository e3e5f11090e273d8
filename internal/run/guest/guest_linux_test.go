package guest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/run/guest"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/part/parttest"
)

// The test's own binary is the program that runs bring, and, with another argument, a worker's
// process that can be killed.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == guest.Command:
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	case len(os.Args) == 3 && os.Args[1] == "worker":
		path, _ := os.Executable()
		_ = host(nil, path).Run(context.Background(), assignment("hang", os.Args[2]), parttest.NewDesk(1)) // it is killed
		return
	}
	os.Exit(m.Run())
}

// serve runs the program.
func serve() error {
	conn, l, err := guest.Inherited()
	if err != nil {
		return err
	}
	return guest.Serve(context.Background(), conn, func(ctx context.Context, s guest.Setup, a part.Assignment, to part.Reporter) error {
		return behave(ctx, l, s, a, to)
	})
}

// behave does what the assignment's configuration says.
func behave(ctx context.Context, l net.Listener, s guest.Setup, a part.Assignment, to part.Reporter) error {
	what, arg, _ := strings.Cut(a.Config, " ")
	switch what {
	case "work":
		if err := to.Ready(ctx); err != nil {
			return err
		}
		to.Progress(part.Progress{Steps: 7})
		to.Note(fmt.Sprintf("%s at %s in %s", strings.Join(os.Environ(), "\n"), l.Addr(), s.Place))
		err := to.Record(ctx, bytes.Repeat([]byte("line\n"), 100_000))
		if err == nil {
			err = to.Commit(ctx, part.Manifest{Step: 7})
		}
		if refused := to.Commit(ctx, part.Manifest{Step: 8}); refused == nil || refused.Error() != "too late" {
			return fmt.Errorf("a refused checkpoint is %v", refused)
		}
		<-to.Halted()
		return err
	case "fail":
		return part.Failure{Text: "it fails", Peer: true, Broken: []string{"b"}}.Err()
	case "panic":
		go panic("of the author's own")
		<-ctx.Done()
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		<-ctx.Done()
	case "hang", "hang-with-child": // neither ends by itself
		out, err := os.OpenFile(arg, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		cmd := exec.Command("sleep", "600")
		cmd.Stdout = out
		if what == "hang-with-child" {
			err = cmd.Start()
		}
		fmt.Fprintln(out, "hangs")
		for err == nil {
			time.Sleep(time.Hour)
		}
		return err
	}
	return nil
}

func host(t *testing.T, program string) *guest.Host {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	if t != nil {
		t.Cleanup(func() { l.Close() })
	}
	return &guest.Host{
		Fetch:    func(context.Context, part.Program) (string, error) { return program, nil },
		Listener: l.(*net.TCPListener), Setup: guest.Setup{Place: "place"}, Leave: 100 * time.Millisecond,
		Env: []string{"PATH=" + os.Getenv("PATH"), "AWS_SECRET_ACCESS_KEY=hush", "WEFT_PYTHON=py", "HOME=/home/me"},
	}
}

func assignment(config ...string) part.Assignment {
	return part.Assignment{
		Run: "r", Epoch: 1, Config: strings.Join(config, " "), Workers: []part.Worker{{Name: "a"}},
		Program: &part.Program{Platform: "linux/amd64", SHA256: strings.Repeat("0", 64), Size: 1},
	}
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestWork: what a program reports goes on to the coordinator, and what the coordinator says comes
// back. The program has nothing of its worker's secrets, and leaves no files.
func TestWork(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	h, d := host(t, self(t)), parttest.NewDesk(1)
	d.Committed = func(m part.Manifest) error {
		if m.Step != 7 {
			return errors.New("too late")
		}
		return nil
	}
	d.Progressed = func(part.Progress) { d.Halt() }
	if err := h.Run(t.Context(), assignment("work"), d); err != nil {
		t.Fatal(err, d.Notes())
	}
	if len(d.Lines()) != 500_000 || d.Last().Steps != 7 || len(d.Commits()) != 1 || len(d.Notes()) != 1 {
		t.Fatalf("%d bytes, %+v, %v, %v", len(d.Lines()), d.Last(), d.Commits(), d.Notes())
	}
	note := d.Notes()[0]
	if strings.Contains(note, "hush") || strings.Contains(note, "/home/me") || !strings.Contains(note, "WEFT_PYTHON=py") {
		t.Errorf("the program's environment is %s", note)
	}
	if !strings.Contains(note, h.Listener.Addr().String()) || !strings.HasSuffix(note, "in place") {
		t.Error(note)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

// TestFailures: how a program ends is told in a sentence, with what the coordinator needs to know
// about it.
func TestFailures(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	silent := filepath.Join(t.TempDir(), "silent")
	if err := os.WriteFile(silent, []byte("#!/bin/sh\nexec sleep 600\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		program, config string
		want            string
		is              part.Failure
	}{
		"own":     {"", "fail", "it fails", part.Failure{Peer: true, Broken: []string{"b"}}},
		"panic":   {"", "panic", "ended before its part did (exit status 2): panic: of the author's own", part.Failure{}},
		"killed":  {"", "kill", "was ended by a signal (killed)", part.Failure{}},
		"noexec":  {text, "", "cannot be run: ", part.Failure{Program: true}},
		"missing": {text + "2", "", "cannot be run: ", part.Failure{Program: true}},
		"no weft": {"/bin/false", "", "ended before its part did (exit status 1)", part.Failure{}},
		"speaks":  {"/bin/echo", "", "ended before its part did (exit status 0): guest", part.Failure{}},
		"not had": {"-", "", "cannot be had: no", part.Failure{Program: true}},
		"silent":  {silent, "", "did not introduce itself within 100ms", part.Failure{Program: true}},
	} {
		t.Run(name, func(t *testing.T) {
			h := host(t, c.program)
			switch c.program {
			case "":
				h = host(t, self(t))
			case silent:
				h.Start = 100 * time.Millisecond
			case "-":
				h.Fetch = func(context.Context, part.Program) (string, error) { return "", errors.New("no") }
			}
			err := h.Run(t.Context(), assignment(c.config), parttest.NewDesk(1))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			is := part.FailureOf(err)
			if is.Text = ""; fmt.Sprint(is) != fmt.Sprint(c.is) {
				t.Errorf("%+v, want %+v", is, c.is)
			}
		})
	}
}

// hangs starts what waits for the program that hangs: a named pipe that ends when the program and
// its own child are gone.
func hangs(t *testing.T) (path string, begun func() io.Reader) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, func() io.Reader {
		in, err := os.Open(path) // waits for the program
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { in.Close() })
		if _, err := io.ReadFull(in, make([]byte, len("hangs\n"))); err != nil {
			t.Fatal(err)
		}
		return in
	}
}

// TestAbort: a part that is given up ends, with all processes of it, though its program does not.
func TestAbort(t *testing.T) {
	path, begun := hangs(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	h := host(t, self(t))
	go func() { ended <- h.Run(ctx, assignment("hang-with-child", path), parttest.NewDesk(1)) }()
	in := begun()
	cancel()
	if err := <-ended; err == nil {
		t.Error("it was done")
	}
	if _, err := io.ReadAll(in); err != nil {
		t.Error(err)
	}
}

// TestOrphan: no program outlives its worker's process.
func TestOrphan(t *testing.T) {
	path, begun := hangs(t)
	cmd := exec.Command(self(t), "worker", path)
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := begun()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if _, err := io.ReadAll(in); err != nil {
		t.Error(err)
	}
}

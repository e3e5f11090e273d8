// Package tracker passes the events of a run on to an experiment tracker, through the tracker's own
// Python client, which runs in a process of its own and reads events from its standard input. A
// tracker that is slow does not slow a run down: events wait in memory.
package tracker

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"strings"
	"sync"
	"time"
)

//go:embed clients/*.py
var clients embed.FS

// Names lists the trackers.
var Names = []string{"wandb", "mlflow"}

// Tracker is a tracker's client that events are written to, as JSON lines.
type Tracker struct {
	Name string

	cmd    *exec.Cmd
	in     io.WriteCloser
	said   bytes.Buffer // what it wrote; to be read when it has ended
	sender sync.WaitGroup

	mu     sync.Mutex
	more   *sync.Cond
	wait   bytes.Buffer
	closed bool
}

// starting is held while a client starts: two that make the database of a tracker at once fail.
var starting sync.Mutex

// Start starts the client of a tracker, and waits until it has imported its package. Header is the
// first line that it gets: what the run is.
func Start(ctx context.Context, name, python string, header []byte) (*Tracker, error) {
	common, err := clients.ReadFile("clients/common.py")
	if err != nil {
		return nil, err
	}
	client, err := clients.ReadFile(path.Join("clients", name+".py"))
	if err != nil {
		return nil, err
	}
	starting.Lock()
	defer starting.Unlock()
	python = interpreter(python)
	t := &Tracker{Name: name, cmd: exec.CommandContext(context.WithoutCancel(ctx), python, "-c", string(common)+string(client))}
	t.more = sync.NewCond(&t.mu)
	t.cmd.Stderr = &t.said
	t.cmd.WaitDelay = time.Second
	out, err := t.cmd.StdoutPipe()
	if err == nil {
		t.in, err = t.cmd.StdinPipe()
	}
	if err == nil {
		err = t.cmd.Start()
	}
	if err != nil {
		return nil, unstarted(name, err)
	}
	first := make([]byte, 64)
	n, err := io.ReadAtLeast(out, first, len("ready"))
	if err != nil || !strings.HasPrefix(string(first[:n]), "ready") {
		_ = t.in.Close()
		_ = t.cmd.Wait() // it has ended
		return nil, unusable(name, python, t.said.String())
	}
	_, _ = t.Write(append(header, '\n'))
	t.sender.Go(t.send)
	t.sender.Go(func() { _, _ = io.Copy(io.Discard, out) })
	return t, nil
}

// Check reports why Start would fail, for those who are to start several later.
func Check(ctx context.Context, name, python string) error {
	python = interpreter(python)
	said, err := exec.CommandContext(ctx, python, "-c", "import "+name).CombinedOutput()
	if errors.As(err, new(*exec.ExitError)) {
		return unusable(name, python, string(said))
	}
	if err != nil {
		return unstarted(name, err)
	}
	return nil
}

func interpreter(python string) string {
	return cmp.Or(python, os.Getenv("WEFT_PYTHON"), "python3")
}

// unstarted returns the error of a tracker without an interpreter, unusable that of one without its
// package.
func unstarted(name string, err error) error {
	return fmt.Errorf("%s: %w: install Python and %s, or name an interpreter with --python", name, err, name)
}

func unusable(name, python, said string) error {
	return fmt.Errorf("%s cannot be used (%s): %s -m pip install %s", name, lastLine(said), python, name)
}

// Write takes an event, and does not wait for the client.
func (t *Tracker) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.more.Signal()
	return t.wait.Write(p)
}

// send passes events on as they come, and closes the client's input behind the last.
func (t *Tracker) send() {
	defer t.in.Close()
	for {
		t.mu.Lock()
		for t.wait.Len() == 0 && !t.closed {
			t.more.Wait()
		}
		text := bytes.Clone(t.wait.Bytes())
		t.wait.Reset()
		t.mu.Unlock()
		if len(text) == 0 {
			return
		}
		if _, err := t.in.Write(text); err != nil {
			return // it has ended, which Close tells
		}
	}
}

// Close waits until the client has passed everything on. Its error is no reason to fail a run.
func (t *Tracker) Close() error {
	t.mu.Lock()
	t.closed = true
	t.more.Signal()
	t.mu.Unlock()
	t.sender.Wait() // and with it for the client, which ends with its input
	if err := t.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w: %s", t.Name, err, lastLine(t.said.String()))
	}
	return nil
}

// lastLine returns the last line of a text.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

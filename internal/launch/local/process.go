package local

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// Process is a child process that reads its standard input, and ends when that does.
type Process struct {
	Cmd *exec.Cmd

	in   io.Closer
	over chan struct{}

	mu     sync.Mutex
	asked  bool
	killed bool
}

// Run starts a command that ends with this process, even if this one is killed, and passes it to
// started. It returns when the process has ended, with the error of exec.Cmd.Wait, after read was
// given all lines of its standard output.
//
// The thread that starts it stays, because the kernel ends a bound process with the thread that
// started it.
func Run(cmd *exec.Cmd, started func(*Process), read func(line string)) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	Bind(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p := &Process{Cmd: cmd, in: in, over: make(chan struct{})}
	defer close(p.over)
	started(p)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		read(lines.Text())
	}
	_, _ = io.Copy(io.Discard, out) // of a line that is too long
	err = cmd.Wait()
	_ = in.Close() // it may be closed already
	return err
}

// maxLine bounds the lines that are read of a process.
const maxLine = 16 << 20

// Over returns a channel that is closed when the process has ended.
func (p *Process) Over() <-chan struct{} { return p.over }

// Ask asks the process to end, by closing its standard input.
func (p *Process) Ask() {
	p.mu.Lock()
	p.asked = true
	p.mu.Unlock()
	_ = p.in.Close() // it may have ended
}

// Signal sends the process a signal. One that has ended is not an error.
func (p *Process) Signal(s os.Signal) {
	p.mu.Lock()
	p.killed = p.killed || s == syscall.SIGKILL || s == syscall.SIGQUIT
	p.mu.Unlock()
	_ = p.Cmd.Process.Signal(s) // it may have ended
}

// Asked reports whether the process was asked to end, and killed whether it was sent a signal that
// ends it at once.
func (p *Process) Asked() (asked, killed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked, p.killed
}

// Tail keeps the last 4 KiB of what is written to it. It is for one goroutine at a time to write.
type Tail struct {
	mu   sync.Mutex
	kept []byte
}

const tailSize = 4 << 10

// Write implements io.Writer.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-tailSize):]
	return len(p), nil
}

// String returns what was kept.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}

package kubernetes

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/weft-rl/weft/internal/launch"
	"github.com/weft-rl/weft/internal/launch/local"
)

// agent runs the worker of a pod that does not lead, as the leading pod says.
type agent struct {
	hello
	ip   string
	join string // address of the leading pod
	tls  *tls.Config
	now  func(bool) // told whether a worker runs

	mu      sync.Mutex
	busy    bool                   // a process runs, or is about to
	process *local.Process         // nil until it has started
	later   []func(*local.Process) // what is to be done to it when it has
	leaving bool
}

// retry is the time between two attempts to reach the leading pod.
const retry = 200 * time.Millisecond

// errLeave is the end of a pod whose worker has left.
var errLeave = errors.New("the pod is told to end")

// serve runs workers until ctx is done. Then the leading pod is told, and the worker has the pod's
// grace period to leave its run.
func (a *agent) serve(ctx context.Context) error {
	for ctx.Err() == nil {
		conn, err := (&tls.Dialer{NetDialer: &net5, Config: a.tls}).DialContext(ctx, "tcp", a.join)
		if err == nil {
			err = a.attend(ctx, newLink(conn))
		}
		if errors.Is(err, errLeave) {
			break
		}
		select { // the leading pod may be made anew
		case <-time.After(retry):
		case <-ctx.Done():
		}
	}
	return context.Cause(ctx)
}

// attend does what the leading pod says, until the link is lost or the pod may leave.
func (a *agent) attend(ctx context.Context, l *link) error {
	done := make(chan struct{})
	var all sync.WaitGroup
	defer all.Wait()
	defer a.signal(func(p *local.Process) { p.Signal(syscall.SIGKILL) })
	defer close(done)
	defer l.conn.Close()
	l.say(message{Hello: &a.hello})
	all.Go(func() { l.tick(done) })
	all.Go(func() { // so that the run is told, and goes on elsewhere from where it is
		select {
		case <-ctx.Done():
			l.say(message{Leave: true})
			a.mu.Lock()
			a.leaving = true
			idle := !a.busy
			a.mu.Unlock()
			if idle {
				_ = l.conn.Close() // it may be lost already
			}
		case <-done:
		}
	})
	for {
		m, err := l.hear()
		switch {
		case err != nil && ctx.Err() != nil:
			return errLeave
		case err != nil:
			return err
		case m.Start != nil:
			s := *m.Start
			a.mu.Lock()
			a.busy, a.later = true, nil
			a.mu.Unlock()
			all.Go(func() { a.run(s, l) })
		case m.Ask:
			a.signal((*local.Process).Ask)
		case m.Kill:
			a.signal(func(p *local.Process) { p.Signal(syscall.SIGKILL) })
		}
	}
}

// signal does something to the process, once it has started, if there is one.
func (a *agent) signal(do func(*local.Process)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.process != nil {
		do(a.process)
	} else if a.busy {
		a.later = append(a.later, do)
	}
}

// run runs a process to its end, and tells of it. Its output is the pod's.
func (a *agent) run(s start, l *link) {
	var killed bool
	err := s.write()
	if err == nil {
		line := at(launch.Task{Args: s.Line}, a.ip).Args
		cmd := exec.Command(line[0], line[1:]...)
		cmd.Dir, cmd.Env, cmd.Stderr = s.Dir, append(os.Environ(), s.Env...), teller{l}
		err = local.Run(cmd, func(p *local.Process) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.process = p
			for _, do := range a.later {
				do(p)
			}
			a.now(true)
		}, func(line string) { fmt.Fprintln(os.Stdout, line) })
	}
	a.mu.Lock()
	if a.process != nil {
		_, killed = a.process.Asked()
	}
	a.process, a.busy = nil, false
	leaving := a.leaving
	a.mu.Unlock()
	a.now(false)
	if leaving {
		defer l.conn.Close()
	}
	e := ended{Killed: killed}
	if err = errors.Join(err, s.forget()); err != nil {
		e.Err = err.Error()
	}
	l.say(message{Ended: &e})
}

// write writes the files of a process.
func (s start) write() error {
	for path, text := range s.Files {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// forget removes them.
func (s start) forget() (err error) {
	for path := range s.Files {
		if e := os.Remove(path); e != nil && !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// teller tells what is written to it, and writes it to standard error.
type teller struct{ l *link }

// Write implements io.Writer.
func (t teller) Write(p []byte) (int, error) {
	t.l.say(message{Tail: strings.ToValidUTF8(string(p), "?")})
	return os.Stderr.Write(p)
}

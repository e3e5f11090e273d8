package chaos

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a process under test. It has a folder for its temporary files, which must
// be empty when it has ended by itself.
type process struct {
	name   string
	cmd    *exec.Cmd
	in     io.Closer // its end is asked for by closing it
	temp   string
	errors string // file
	over   chan struct{}

	mu     sync.Mutex
	killed bool
	asked  bool
	err    error
}

// starter starts processes.
type starter struct {
	program string
	env     []string
	dir     string
	mu      sync.Mutex
	count   int
	all     []*process
}

// run runs a process to its end, telling of it once it has started and reading what it
// prints. The thread that starts it stays, because the kernel ends a process with the
// thread that started it.
func (s *starter) run(name string, at place, args []string, started func(*process), read func(line string)) (*process, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s.mu.Lock()
	s.count++
	p := &process{name: name, over: make(chan struct{})}
	p.temp = filepath.Join(s.dir, "tmp", fmt.Sprint(s.count))
	p.errors = filepath.Join(s.dir, fmt.Sprintf("%s.%d.txt", name, s.count))
	s.mu.Unlock()
	defer close(p.over)
	if err := os.MkdirAll(p.temp, 0o755); err != nil {
		return p, err
	}
	line := append(append(append([]string{}, at.prefix...), s.program), append(args, at.flags...)...)
	p.cmd = exec.Command(line[0], line[1:]...)
	p.cmd.Dir = s.dir
	p.cmd.Env = append(append(os.Environ(), s.env...), "TMPDIR="+p.temp)
	bind(p.cmd)
	errs, err := os.Create(p.errors)
	if err != nil {
		return p, err
	}
	defer errs.Close()
	p.cmd.Stderr = errs
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return p, err
	}
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return p, err
	}
	s.mu.Lock()
	s.all = append(s.all, p)
	s.mu.Unlock()
	started(p)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		read(lines.Text())
	}
	_, _ = io.Copy(io.Discard, out) // of a line that is too long
	p.err = p.cmd.Wait()
	_ = p.in.Close() // it may be closed already
	return p, nil
}

// leftovers are what is wrong with how a process ended.
func (p *process) leftovers() (errs []error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed { // it could not clear up
		return nil
	}
	if p.err != nil || !p.asked {
		errs = append(errs, fmt.Errorf("%s ended by itself (%v): %s", p.name, p.err, p.tail()))
	}
	left, err := os.ReadDir(p.temp)
	for _, x := range left {
		errs = append(errs, fmt.Errorf("%s left %s behind", p.name, x.Name()))
	}
	return append(errs, err)
}

// tail is the end of what a process wrote to standard error.
func (p *process) tail() string {
	text, err := os.ReadFile(p.errors)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-2000):]))
}

// signal sends a signal.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	p.killed = p.killed || s == sigKill || s == sigDump
	p.mu.Unlock()
	signal(p.cmd, s)
}

// ask asks it to end.
func (p *process) ask() {
	p.mu.Lock()
	p.asked = true
	p.mu.Unlock()
	_ = p.in.Close() // it may have ended
}

// slot is a process of a cluster that is started again when it has died.
type slot struct {
	name string
	on   *starter
	args func() (place, []string)
	read func(line string)
	bad  func(error)

	mu     sync.Mutex
	now    *process
	starts int
	away   bool // it is not to be started again
	back   chan struct{}
	moved  chan struct{} // closed, and made anew, when a process starts or ends
}

func newSlot(name string, on *starter, bad func(error)) *slot {
	return &slot{name: name, on: on, bad: bad, read: func(string) {}, back: make(chan struct{}, 1), moved: make(chan struct{})}
}

// keep keeps a process there until ctx is done.
func (s *slot) keep(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() {
		if p := s.process(); p != nil {
			p.ask()
		}
	})
	defer stop()
	for ctx.Err() == nil {
		at, args := s.args()
		p, err := s.on.run(s.name, at, args, func(p *process) {
			s.set(p)
			if ctx.Err() != nil {
				p.ask()
			}
		}, s.read)
		s.set(nil)
		if err != nil {
			s.bad(fmt.Errorf("%s cannot be started: %w", s.name, err))
			return
		}
		if err := errors.Join(p.leftovers()...); err != nil {
			s.bad(err)
		}
		s.mu.Lock()
		away := s.away
		s.mu.Unlock()
		if away {
			select {
			case <-s.back:
			case <-ctx.Done():
			}
		}
	}
}

func (s *slot) set(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now = p; p != nil {
		s.starts++
	}
	close(s.moved)
	s.moved = make(chan struct{})
}

// process is the one that is there, or nil.
func (s *slot) process() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// signal sends a signal to the process, if there is one.
func (s *slot) signal(x syscall.Signal) {
	if p := s.process(); p != nil {
		p.signal(x)
	}
}

// leave has the process end in peace, and not come back before rejoin.
func (s *slot) leave() {
	s.mu.Lock()
	s.away = true
	p := s.now
	s.mu.Unlock()
	if p != nil {
		p.ask()
	}
}

// fall kills the process, and returns when it has ended. Another comes with rejoin.
func (s *slot) fall() {
	s.mu.Lock()
	s.away = true
	p := s.now
	s.mu.Unlock()
	if p != nil {
		p.signal(sigKill)
		<-p.over
	}
}

func (s *slot) rejoin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = false
	select {
	case s.back <- struct{}{}:
	default:
	}
}

// end waits for the end of a process that was asked to; if it is late it says what it is
// at, and is killed.
func (s *slot) end(limit time.Duration) {
	p := s.process()
	if p == nil {
		return
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.over:
		return
	case <-timer.C:
	}
	s.bad(fmt.Errorf("%s does not end within %v: %s says what it is at", s.name, limit, p.errors))
	p.signal(sigThaw)
	p.signal(sigDump)
	timer.Reset(5 * time.Second)
	select {
	case <-p.over:
	case <-timer.C:
		p.signal(sigKill)
	}
}

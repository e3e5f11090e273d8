package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/weft-rl/weft/internal/launch"
)

// Start is a process that is about to start.
type Start struct {
	Name string // name of its member
	Cmd  *exec.Cmd
}

// Exit says how a process ended.
type Exit struct {
	Start
	Err           error // error of exec.Cmd.Wait or of the start; nil for exit code 0
	Asked, Killed bool  // this process asked the child to end, or killed it
}

// Member is a process of a cluster, and those that are started in its place.
type Member struct {
	cluster *Cluster
	task    launch.Task
	over    chan struct{} // closed when no process is there, nor will be

	mu      sync.Mutex
	now     *Process
	tail    *Tail // last output of the newest process
	starts  int
	away    bool // no process is to be started
	back    chan struct{}
	changed chan struct{} // closed, and made anew, when a process starts or ends
}

func newMember(c *Cluster, t launch.Task) *Member {
	return &Member{cluster: c, task: t, over: make(chan struct{}), tail: &Tail{}, back: make(chan struct{}, 1), changed: make(chan struct{})}
}

// keep keeps a process alive until ctx is done, and passes on the lines that it prints.
func (m *Member) keep(ctx context.Context, read func(line string)) {
	stop := context.AfterFunc(ctx, func() {
		if p := m.Process(); p != nil {
			p.Ask()
		}
	})
	defer stop()
	for short := 0; ctx.Err() == nil; {
		began := time.Now()
		killed, err := m.run(ctx, read)
		if short++; killed || time.Since(began) > m.cluster.launcher.Alive {
			short = 0
		}
		if ctx.Err() == nil && short >= attempts {
			m.cluster.failed <- launch.Unsteady{Member: m.task.Name, Why: err}
			return
		}
		m.awaitReturn(ctx)
	}
}

// run runs one process to its end, and returns why it ended, and whether this process killed it.
func (m *Member) run(ctx context.Context, read func(line string)) (killed bool, err error) {
	l, s := m.cluster.launcher, m.cluster.spec
	listen, join := m.cluster.places()
	line := s.Command(m.task, listen, join)
	tail := &Tail{}
	cmd := exec.Command(line[0], append(line[1:], "--"+ParentFlag)...)
	cmd.Dir, cmd.Stderr, cmd.Env = s.Dir, tail, append(os.Environ(), s.Env...)
	start := Start{Name: m.task.Name, Cmd: cmd}
	if l.Before != nil {
		if err := l.Before(&start); err != nil {
			return false, fmt.Errorf("it cannot be started: %w", err)
		}
	}
	var process *Process
	err = Run(cmd, func(p *Process) {
		process = p
		m.set(p, tail)
		if ctx.Err() != nil {
			p.Ask()
		}
	}, read)
	exit := Exit{Start: start, Err: err}
	if process == nil {
		exit.Err = fmt.Errorf("it cannot be started: %w", err)
	} else {
		m.set(nil, nil)
		exit.Asked, exit.Killed = process.Asked()
	}
	if l.After != nil {
		l.After(exit)
	}
	if process == nil {
		return false, exit.Err
	}
	if err == nil {
		err = errors.New("it ended")
	}
	if text := strings.TrimSpace(tail.String()); text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return exit.Killed, err
}

// awaitReturn blocks while the member is away, and ctx is not done.
func (m *Member) awaitReturn(ctx context.Context) {
	away := func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.away
	}
	for away() && ctx.Err() == nil {
		select {
		case <-m.back: // of this absence or an earlier one
		case <-ctx.Done():
		}
	}
}

// set says which process is there now; nil if none is.
func (m *Member) set(p *Process, tail *Tail) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now = p; p != nil {
		m.starts, m.tail = m.starts+1, tail
	}
	close(m.changed)
	m.changed = make(chan struct{})
}

// Process returns the process that is there, or nil.
func (m *Member) Process() *Process {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Name implements launch.Member.
func (m *Member) Name() string { return m.task.Name }

// State implements launch.Member.
func (m *Member) State() launch.State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return launch.State{Running: m.now != nil, Starts: m.starts}
}

// Changed implements launch.Member.
func (m *Member) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

// Tail implements launch.Member.
func (m *Member) Tail() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tail.String()
}

// Leave implements launch.Member.
func (m *Member) Leave() {
	if p := m.hold(); p != nil {
		p.Ask()
	}
}

// Fall kills the process, and returns when it has ended. None is started in its place before
// Return.
func (m *Member) Fall() {
	if p := m.hold(); p != nil {
		p.Signal(syscall.SIGKILL)
		<-p.Over()
	}
}

// hold has no process started before Return, and returns the one that is there.
func (m *Member) hold() *Process {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.away = true
	return m.now
}

// Return implements launch.Member.
func (m *Member) Return() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.away = false
	select {
	case m.back <- struct{}{}:
	default:
	}
}

// Signal sends a signal to the process, if there is one.
func (m *Member) Signal(s os.Signal) {
	if p := m.Process(); p != nil {
		p.Signal(s)
	}
}

// end waits until a member that was asked to end has done so, and kills its process if it is late.
func (m *Member) end(ctx context.Context, l Launcher) {
	timer := time.NewTimer(l.Grace)
	defer timer.Stop()
	select {
	case <-m.over:
		return
	case <-timer.C:
	case <-ctx.Done():
	}
	if l.Late != nil {
		l.Late(m)
	}
	for {
		changed := m.Changed()
		m.Signal(syscall.SIGKILL)
		select {
		case <-m.over:
			return
		case <-changed: // it has ended, or another had just been started
		}
	}
}

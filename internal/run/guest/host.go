package guest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/launch/local"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/scratch"
	"github.com/weft-rl/weft/internal/run/store"
)

// Host is a worker's end: a part.Runner for assignments whose run brought a program.
type Host struct {
	// Fetch returns the path of a program on this machine, whose bytes it has checked.
	Fetch func(ctx context.Context, p part.Program) (path string, err error)
	// Listener is where the program's data plane listens. One program after another has it.
	Listener *net.TCPListener
	Setup    Setup
	// Store is the store of all runs, if programs reach theirs through the worker (Setup.Remote).
	Store store.Store
	Env   []string      // variables of the worker's environment; nil is os.Environ
	Log   func(string)  // called with what is not for the run's log
	Start time.Duration // time for a program to introduce itself; 1 min by default
	Leave time.Duration // time for a program to end when its part has; 5 s by default
}

var _ part.Runner = (*Host)(nil)

// Run implements part.Runner.
func (h *Host) Run(ctx context.Context, a part.Assignment, to part.Reporter) error {
	p := *a.Program
	path, err := h.Fetch(ctx, p)
	if err != nil {
		return unable(fmt.Errorf("program %s cannot be had: %w", p, err))
	}
	dir, err := scratch.New("weft-guest-")
	if err != nil {
		return unable(err)
	}
	defer func() {
		if err := dir.Remove(); err != nil {
			h.log(fmt.Sprintf("the folder of a program is left: %v", err))
		}
	}()
	runtime.LockOSThread() // the kernel ends a bound process with the thread that started it
	defer runtime.UnlockOSThread()
	c, err := h.start(path, dir.Path, a.Run)
	if err != nil {
		return unable(fmt.Errorf("program %s cannot be run: %w%s", p, err, hint(err)))
	}
	c.name = p.String()
	return c.run(ctx, h, a, to)
}

func (h *Host) log(text string) {
	if h.Log != nil {
		h.Log(text)
	}
}

// unable returns the error of a machine that cannot run a program: others may.
func unable(err error) error {
	return part.Failure{Text: err.Error(), Program: true}.Err()
}

// hint says what may be wrong with a folder whose programs cannot be run.
func hint(err error) string {
	if errors.Is(err, os.ErrPermission) {
		return " (if its folder is mounted noexec, name another with --programs)"
	}
	return ""
}

// child is a program at work.
type child struct {
	name string
	cmd  *exec.Cmd
	line *line
	said local.Tail
	over chan error // what became of the process

	store net.Conn // connection by which it reaches its store; nil is none
}

func (c *child) closeStore() error {
	if c.store == nil {
		return nil
	}
	return c.store.Close()
}

// start starts a program of a run in a folder of its own.
func (h *Host) start(path, dir, run string) (*child, error) {
	mine, its, err := pair()
	if err != nil {
		return nil, err
	}
	defer its.Close()
	listener, err := h.Listener.File()
	if err != nil {
		return nil, errors.Join(err, mine.Close())
	}
	defer listener.Close()
	c := &child{cmd: exec.Command(path, Command), line: &line{conn: mine}, over: make(chan error, 1)}
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr = dir, &c.said, &c.said
	c.cmd.ExtraFiles = []*os.File{its, listener}
	if h.Setup.Remote {
		answers, asks, err := pair()
		if err != nil {
			return nil, errors.Join(err, mine.Close())
		}
		defer asks.Close()
		c.cmd.ExtraFiles = append(c.cmd.ExtraFiles, asks)
		c.store = answers
	}
	c.cmd.Env = Environment(h.Env, dir)
	c.cmd.WaitDelay = time.Second // for its own children that hold its output
	local.Bind(c.cmd)
	if err := c.cmd.Start(); err != nil {
		return nil, errors.Join(err, mine.Close(), c.closeStore())
	}
	if c.store != nil {
		go ServeStore(c.store, h.Store.Under(run)) // until it is closed
	}
	go func() { c.over <- c.cmd.Wait() }() // run waits for it
	return c, nil
}

// run has a program carry out an assignment, and returns when the process has ended.
func (c *child) run(ctx context.Context, h *Host, a part.Assignment, to part.Reporter) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { _ = c.line.conn.Close() }) // the program ends with it
	defer stop()
	err = c.greet(h, a)
	if err == nil {
		work.Go(func() {
			select {
			case <-to.Halted():
				_ = c.line.send(message{Kind: halt}) // if it is gone, that is seen below
			case <-ctx.Done():
			}
		})
		err = c.serve(ctx, to, &work)
	}
	cancel(nil)
	_ = c.line.conn.Close() // it may be closed already
	return c.end(h, to, err)
}

// greet waits for the program to introduce itself, and gives it the assignment.
func (c *child) greet(h *Host, a part.Assignment) error {
	limit := h.Start
	if limit == 0 {
		limit = time.Minute
	}
	_ = c.line.conn.SetReadDeadline(time.Now().Add(limit)) // of a socket: it has deadlines
	m, err := c.line.recv(maxSaid)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return unable(fmt.Errorf("program %s did not introduce itself within %v", c.name, limit))
	}
	if err != nil {
		return errLost
	}
	if m.Kind != hello || m.Version != Version {
		return part.Failure{Permanent: true, Text: fmt.Sprintf(
			"program %s speaks version %d of the protocol between workers and programs, and this worker version %d: build it with the weft of the workers, or upgrade them",
			c.name, m.Version, Version)}.Err()
	}
	_ = c.line.conn.SetReadDeadline(time.Time{})
	if err := c.line.send(message{Kind: assign, Setup: &h.Setup, Assignment: &a}); err != nil {
		return errLost
	}
	return nil
}

// errLost is the error of a program that is gone, until it is known why.
var errLost = errors.New("the program is gone")

// serve passes on what the program reports, until it says how its part has ended.
func (c *child) serve(ctx context.Context, to part.Reporter, work *sync.WaitGroup) error {
	for {
		m, err := c.line.recv(maxSaid)
		if err != nil {
			return errLost
		}
		switch m.Kind {
		case ready, commit, record:
			work.Go(func() { // the program says nothing of the kind before it is answered
				text := ""
				if err := pass(ctx, to, m); err != nil {
					text = err.Error()
				}
				_ = c.line.send(message{Kind: answer, Number: m.Number, Text: text})
			})
		case progress:
			if m.Progress != nil {
				to.Progress(*m.Progress)
			}
		case quiet:
			to.Quiet(m.Workers)
		case note:
			to.Note(m.Text)
		case done:
			return nil
		case failed:
			if m.Failure == nil {
				return fmt.Errorf("program %s failed without a reason", c.name)
			}
			return m.Failure.Err()
		default:
			return fmt.Errorf("program %s says %.40q, which this worker does not understand", c.name, m.Kind)
		}
	}
}

// pass passes on a report that is answered.
func pass(ctx context.Context, to part.Reporter, m message) error {
	switch {
	case m.Kind == ready:
		return to.Ready(ctx)
	case m.Kind == record:
		return to.Record(ctx, m.Lines)
	case m.Manifest == nil:
		return errors.New("a checkpoint without a manifest")
	}
	return to.Commit(ctx, *m.Manifest)
}

// end waits for the process to end, kills it if it does not, and returns why the part is over.
func (c *child) end(h *Host, to part.Reporter, why error) error {
	limit := h.Leave
	if limit == 0 {
		limit = 5 * time.Second
	}
	timer := time.AfterFunc(limit, func() { local.EndGroup(c.cmd) })
	err := <-c.over
	timer.Stop()
	_ = c.closeStore()    // the program has closed its end
	local.EndGroup(c.cmd) // what it has started itself
	if !errors.Is(why, errLost) {
		return why
	}
	text := strings.TrimSpace(c.said.String())
	if text != "" {
		to.Note(fmt.Sprintf("program %s said before it ended: %s", c.name, text))
	}
	if sig := killed(c.cmd.ProcessState); sig != "" { // with its number: the next one is another case
		return fmt.Errorf("program %s, process %d, was ended by a signal (%s)", c.name, c.cmd.Process.Pid, sig)
	}
	if err == nil {
		err = errors.New("exit status 0")
	}
	return fmt.Errorf("program %s ended before its part did (%w): %s", c.name, err, gist(text))
}

// gist returns the line of a program's last words that says what is wrong: that of a panic, or the
// last.
func gist(text string) string {
	lines := strings.Split(text, "\n")
	for _, l := range lines {
		if strings.HasPrefix(l, "panic:") || strings.HasPrefix(l, "fatal error:") {
			return l
		}
	}
	return lines[len(lines)-1]
}

// passed are the variables of a worker's environment that a program has too. None of them holds a
// secret of the worker.
var passed = []string{
	"PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV",
	"WEFT_PYTHON", "WEFT_MUJOCO", "WEFT_KERNELS", "WEFT_PINNED", "PJRT_PLUGIN_LIBRARY_PATH", "XLA_FLAGS", "TF_CPP_MIN_LOG_LEVEL",
	"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "CUDA_HOME", "CUDA_PATH",
	"GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GODEBUG", "OMP_NUM_THREADS",
}

// Environment returns the variables of a program that a run brought, whose folder is dir, among
// those of this process, or of another.
func Environment(of []string, dir string) []string {
	if of == nil {
		of = os.Environ()
	}
	out := []string{"HOME=" + dir, "TMPDIR=" + dir, "GOTRACEBACK=single"}
	for _, x := range of {
		if name, _, _ := strings.Cut(x, "="); slices.Contains(passed, name) {
			out = append(out, x)
		}
	}
	return out
}

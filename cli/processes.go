package cli

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/certs"
	"github.com/weft-rl/weft/internal/run/control"
	"github.com/weft-rl/weft/internal/run/port"
	"github.com/weft-rl/weft/internal/run/scratch"
)

// trainProcesses trains in processes of this machine: a coordinator and workers, all
// this very program.
func (c *command) trainProcesses(ctx context.Context, r *request.Request, f *trainFlags, workers bool) (err error) {
	if err := r.ShareAmongProcesses(f.processes, workers); err != nil {
		return err
	}
	out := f.out
	if out == "" {
		out = request.NewFolder(fmt.Sprintf("%s-seed%d", r.Name(), r.Seed))
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	return c.inProcesses(ctx, r, f, out, (*control.Client).Submit)
}

// spare says that some processes have nothing to do.
func spare(r *request.Request, processes int, w watcher) {
	if n := processes - r.Workers; n > 0 && processes > 1 {
		w.Note(fmt.Sprintf("%d of the %d processes are spare: the run has %d workers (--workers)", n, processes, r.Workers))
	}
}

// inProcesses has a run begin or go on in processes of its own.
func (c *command) inProcesses(ctx context.Context, r *request.Request, f *trainFlags, out string, begin func(*control.Client, context.Context, string, string) error) (err error) {
	w := c.watcher(r, out, f.json)
	spare(r, f.processes, w)
	h, err := newHousehold(f, filepath.Dir(out), r.Device)
	if err != nil {
		return err
	}
	c.started = true
	defer func() {
		if e := h.close(); err == nil {
			err = e
		}
	}()
	client, err := h.start(ctx)
	if err != nil {
		return err
	}
	watched, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	h.all.Go(func() { h.watch(watched, cancel) })
	submit := func(ctx context.Context, name, config string) error { return begin(client, ctx, name, config) }
	err = c.follow(watched, client, r, filepath.Base(out), submit, &viewer{w: w})
	if why := context.Cause(watched); why != nil && ctx.Err() == nil {
		return why
	}
	return err
}

// household is a cluster of this machine's, whose processes are started again when
// they die, and die with this one.
type household struct {
	program string
	data    *scratch.Folder // of the embedded etcd
	certs   string          // folder of the certificate by which they know each other, and nobody else
	tls     *tls.Config     // with it
	runs    string
	store   string // of checkpoints
	device  string
	workers int
	stop    context.CancelFunc
	all     sync.WaitGroup
	failed  chan error // of a process that does not stay alive
}

func newHousehold(f *trainFlags, runs, device string) (*household, error) {
	program, err := self()
	if err != nil {
		return nil, err
	}
	data, err := scratch.New("weft-cluster-")
	if err != nil {
		return nil, err
	}
	h := &household{program: program, data: data, certs: filepath.Join(data.Path, "certs"), runs: runs, store: cmp.Or(f.store, runs), device: device, workers: f.processes, failed: make(chan error, f.processes+1)}
	files, err := certs.Household(h.certs)
	if err == nil {
		h.tls, err = files.Load()
	}
	if err != nil {
		return nil, errors.Join(err, data.Remove())
	}
	return h, nil
}

// start starts all processes, and waits until the workers have joined.
func (h *household) start(ctx context.Context) (*control.Client, error) {
	// They outlive an interruption of the run, which they are told of in another way.
	living, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.stop = stop
	address := make(chan string, 1)
	h.all.Go(func() { h.coordinator(living, address) })
	var at string
	select {
	case at = <-address:
	case err := <-h.failed:
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for i := range h.workers {
		h.all.Go(func() {
			h.keep(living, fmt.Sprintf("worker w%d", i), func() []string {
				return []string{
					"worker", "--join", at, "--name", fmt.Sprintf("w%d", i), "--store", h.store, "--devices", h.device,
					"--certs", h.certs, "--cores", fmt.Sprint(max(1, runtime.NumCPU()/h.workers)), "--memory", fmt.Sprintf("%.3f", gib(memory())/float64(h.workers)), "--json", "--" + parentFlag,
				}
			}, func(string) {})
		})
	}
	client := &control.Client{Addresses: []string{at}, TLS: h.tls, Patience: 30 * time.Second}
	return client, h.complete(ctx, client)
}

// coordinator keeps a coordinator alive, always at the address of the first.
func (h *household) coordinator(ctx context.Context, address chan<- string) {
	at, listened := "", false
	h.keep(ctx, "coordinator", func() []string {
		if !listened {
			at = port.Lasting()
		}
		return []string{
			"coordinator", "--listen", at, "--certs", h.certs, "--data", h.data.Path, "--runs", h.runs, "--patience", fmt.Sprint(returning), "--json", "--" + parentFlag,
		}
	}, func(line string) {
		var e listeningEvent
		if json.Unmarshal([]byte(line), &e) == nil && e.Event == "listening" {
			at, listened = e.Address, true
			select {
			case address <- at:
			default:
			}
		}
	})
}

// complete waits until all workers have joined.
func (h *household) complete(ctx context.Context, client *control.Client) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		s, err := client.Status(ctx, "")
		if err != nil || len(s.Workers) == h.workers {
			return err
		}
		select {
		case <-ticker.C:
		case err := <-h.failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watch ends a run whose processes do not stay alive.
func (h *household) watch(ctx context.Context, end context.CancelCauseFunc) {
	select {
	case err := <-h.failed:
		end(err)
	case <-ctx.Done():
	}
}

// close ends all processes and waits for them.
func (h *household) close() error {
	if h.stop != nil {
		h.stop()
	}
	h.all.Wait()
	return h.data.Remove()
}

// unsteady is why a run ends whose processes do not stay alive.
type unsteady struct{ error }

// A process that dies is started again; one that never lives for a moment is given up.
const (
	alive    = time.Second
	attempts = 5
	goodbye  = 5 * time.Second // for a process to end when it is asked to
	// returning is how long a run waits for workers: all there are have joined before it begins, so it waits only for those that
	// are started again.
	returning = time.Minute
)

// keep keeps a process alive until ctx is done, and reads what it prints.
func (h *household) keep(ctx context.Context, what string, args func() []string, read func(line string)) {
	for short := 0; ctx.Err() == nil; {
		began := time.Now()
		err := h.process(ctx, args(), read)
		if short++; time.Since(began) > alive {
			short = 0
		}
		if ctx.Err() == nil && short >= attempts {
			h.failed <- unsteady{fmt.Errorf("the %s does not stay alive: %w", what, err)}
			return
		}
	}
}

// process runs this program to its end. The thread that starts it stays, because the
// kernel ends a process with the thread that started it.
func (h *household) process(ctx context.Context, args []string, read func(line string)) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command(h.program, args...)
	var problems tail
	cmd.Stderr = &problems
	cmd.Env = append(os.Environ(), "TMPDIR="+h.data.Path) // what a process that is killed leaves goes with the rest
	bind(cmd)
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
	stop := context.AfterFunc(ctx, func() { in.Close() })
	defer stop()
	kill := context.AfterFunc(ctx, func() { time.AfterFunc(goodbye, func() { _ = cmd.Process.Kill() }) })
	defer kill()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		read(lines.Text())
	}
	_, _ = io.Copy(io.Discard, out) // of a line that is too long
	err = cmd.Wait()
	in.Close()
	if text := strings.TrimSpace(problems.String()); text != "" {
		return fmt.Errorf("%w: %s", errOr(err), text)
	}
	return errOr(err)
}

// errOr is why a process ended.
func errOr(err error) error {
	if err == nil {
		return errors.New("it ended")
	}
	return err
}

// tail keeps the last of what is written to it.
type tail struct{ kept []byte }

const tailSize = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-tailSize):]
	return len(p), nil
}

func (t *tail) String() string { return string(t.kept) }

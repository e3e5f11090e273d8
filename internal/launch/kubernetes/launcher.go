package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/launch"
	"github.com/weft-rl/weft/internal/launch/local"
)

// podAddress stands in arguments for the address of the pod that a process runs in.
const podAddress = "{pod}"

// launcher starts the coordinator and the first worker as child processes, and each other worker in
// the pod of its index.
type launcher struct {
	hub   *hub
	ip    string // address of this pod
	certs string // folder of certificates that processes of other pods need
}

// A member whose processes do not live for a moment is given up after some.
const (
	alive    = time.Second
	attempts = 5
	goodbye  = 5 * time.Second
)

// Launch implements launch.Launcher.
func (l launcher) Launch(ctx context.Context, s launch.Spec) (launch.Cluster, error) {
	if len(s.Workers) > len(l.hub.seats) {
		return nil, fmt.Errorf("%d workers are more than the %d pods of the job", len(s.Workers), len(l.hub.seats))
	}
	files, err := contents(l.certs)
	if err != nil {
		return nil, err
	}
	here := s
	here.Workers = nil
	for _, t := range s.Workers[:min(1, len(s.Workers))] {
		here.Workers = append(here.Workers, at(t, l.ip))
	}
	here.Coordinator = at(s.Coordinator, l.ip)
	c := &spread{failed: make(chan error, 1+len(s.Workers))}
	if c.Cluster, err = (local.Launcher{Host: l.ip}).Launch(ctx, here); err != nil {
		return nil, err
	}
	living, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	c.running.Go(func() { // the local ones
		for {
			select {
			case err := <-c.Cluster.Failed():
				c.failed <- err
			case <-living.Done():
				return
			}
		}
	})
	for i := 1; i < len(s.Workers); i++ {
		m := &member{seat: l.hub.seats[i], name: s.Workers[i].Name, tail: &local.Tail{}, changed: make(chan struct{}), ended: make(chan struct{})}
		m.what = start{Line: append(s.Command(s.Workers[i], "", c.Address()), "--"+local.ParentFlag), Env: s.Env, Dir: s.Dir, Files: files}
		c.others = append(c.others, m)
		c.running.Go(func() { m.keep(living, c.failed) })
	}
	return c, nil
}

// at returns a task with the address of its pod, before whose ports an address of IPv6 has
// brackets.
func at(t launch.Task, ip string) launch.Task {
	if strings.Contains(ip, ":") {
		ip = "[" + ip + "]"
	}
	args := make([]string, len(t.Args))
	for i, a := range t.Args {
		args[i] = strings.ReplaceAll(a, podAddress, ip)
	}
	t.Args = args
	return t
}

// contents returns the files of a folder, which may not be there.
func contents(dir string) (map[string][]byte, error) {
	all, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) || dir == "" {
		return nil, nil
	}
	out := map[string][]byte{}
	for _, f := range all {
		if f.IsDir() {
			continue
		}
		path := filepath.Join(dir, f.Name())
		text, e := os.ReadFile(path)
		if err = errors.Join(err, e); e == nil {
			out[path] = text
		}
	}
	return out, err
}

// spread is a cluster of which some members are in other pods.
type spread struct {
	launch.Cluster // of this pod
	others         []*member
	failed         chan error
	stop           context.CancelFunc
	running        sync.WaitGroup
}

// Members implements launch.Cluster.
func (c *spread) Members() []launch.Member {
	out := c.Cluster.Members()
	for _, m := range c.others {
		out = append(out, m)
	}
	return out
}

// Failed implements launch.Cluster.
func (c *spread) Failed() <-chan error { return c.failed }

// Stop implements launch.Cluster.
func (c *spread) Stop(ctx context.Context) error {
	c.stop()
	var ends sync.WaitGroup
	for _, m := range c.others {
		ends.Go(func() { m.end(ctx) })
	}
	err := c.Cluster.Stop(ctx)
	ends.Wait()
	c.running.Wait()
	return err
}

// member is a process in another pod, and those that are started in its place.
type member struct {
	seat  *seat
	name  string
	what  start
	ended chan struct{} // closed when no process is there, nor will be

	mu      sync.Mutex
	now     *remote
	tail    *local.Tail
	starts  int
	away    bool
	changed chan struct{}
}

var _ launch.Member = (*member)(nil)

// keep keeps a process alive until ctx is done.
func (m *member) keep(ctx context.Context, failed chan<- error) {
	defer close(m.ended)
	for short := 0; ctx.Err() == nil; {
		if !m.back(ctx) {
			return
		}
		r, err := m.seat.launch(ctx, m.what)
		if err != nil {
			return
		}
		began := time.Now()
		m.set(r)
		if ctx.Err() != nil || m.gone() {
			m.seat.tell(r, message{Ask: true})
		}
		stop := context.AfterFunc(ctx, func() { m.seat.tell(r, message{Ask: true}) })
		forgiven, err := r.wait()
		stop()
		m.set(nil)
		if short++; forgiven || m.gone() || time.Since(began) > alive {
			short = 0
		}
		if ctx.Err() == nil && short >= attempts {
			if err == nil {
				err = errors.New("it ended")
			}
			if text := strings.TrimSpace(r.tail.String()); text != "" {
				err = fmt.Errorf("%w: %s", err, text)
			}
			failed <- launch.Unsteady{Member: m.name, Why: err}
			return
		}
	}
}

// set says which process is there now; nil if none is.
func (m *member) set(r *remote) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now = r; r != nil {
		m.starts, m.tail = m.starts+1, r.tail
	}
	m.news()
}

// news tells those that wait for a change.
func (m *member) news() {
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *member) gone() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.away
}

// back blocks while the member is away, and reports whether ctx is not done.
func (m *member) back(ctx context.Context) bool {
	for m.gone() && ctx.Err() == nil {
		changed := m.Changed()
		if !m.gone() {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

// Name implements launch.Member.
func (m *member) Name() string { return m.name }

// State implements launch.Member.
func (m *member) State() launch.State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return launch.State{Running: m.now != nil, Starts: m.starts}
}

// Changed implements launch.Member.
func (m *member) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

// Tail implements launch.Member.
func (m *member) Tail() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tail.String()
}

// Leave implements launch.Member.
func (m *member) Leave() {
	m.mu.Lock()
	m.away = true
	r := m.now
	m.mu.Unlock()
	if r != nil {
		m.seat.tell(r, message{Ask: true})
	}
}

// Return implements launch.Member.
func (m *member) Return() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.away = false
	m.news()
}

// end waits until a member that was asked to end has done so, and has its process killed if it is
// late.
func (m *member) end(ctx context.Context) {
	select {
	case <-m.ended:
		return
	case <-time.After(goodbye):
	case <-ctx.Done():
	}
	for {
		m.mu.Lock()
		r := m.now
		m.mu.Unlock()
		if r != nil {
			m.seat.tell(r, message{Kill: true})
		}
		select {
		case <-m.ended:
			return
		case <-time.After(silence): // by then the pod has answered, or is lost
		}
	}
}

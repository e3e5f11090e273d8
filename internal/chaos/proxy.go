package chaos

import (
	"errors"
	"net"
	"sync"
	"time"
)

// proxy stands between who connects and who listens, and can be a bad network. What it
// holds back arrives later, as what is lost on a network and sent again does.
type proxy struct {
	listener net.Listener
	tasks    sync.WaitGroup
	over     chan struct{}

	mu    sync.Mutex
	to    string
	late  time.Duration
	open  chan struct{} // closed while bytes pass
	conns map[*net.TCPConn]bool
	pids  func() []int          // process ids of workers; nil if callers are not told apart
	bars  map[int]chan struct{} // channels that are closed when bytes pass again, by the worker that connects
}

func newProxy() (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, over: make(chan struct{}), open: make(chan struct{}), conns: map[*net.TCPConn]bool{}, bars: map[int]chan struct{}{}}
	close(p.open)
	p.tasks.Go(p.accept)
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// lead says where connections go.
func (p *proxy) lead(to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = to
}

func (p *proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.tasks.Go(func() { p.serve(c.(*net.TCPConn)) })
	}
}

// serve passes bytes in both directions, until either side or the proxy ends.
func (p *proxy) serve(in *net.TCPConn) {
	defer p.forget(in)
	if !p.remember(in) {
		return
	}
	p.mu.Lock()
	to := p.to
	p.mu.Unlock()
	c, err := net.DialTimeout("tcp", to, time.Second)
	if err != nil {
		return
	}
	out := c.(*net.TCPConn)
	defer p.forget(out)
	if !p.remember(out) {
		return
	}
	who := p.who(in)
	var back sync.WaitGroup
	back.Go(func() { p.pass(in, out, who) })
	p.pass(out, in, who)
	back.Wait()
}

// remember registers a connection to be closed with the proxy; it returns false if the proxy is
// closed.
func (p *proxy) remember(c *net.TCPConn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.over:
		return false
	default:
		p.conns[c] = true
		return true
	}
}

func (p *proxy) forget(c *net.TCPConn) {
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
	_ = c.Close() // it may be closed already
}

// pass carries bytes one way; its end is that of both ways. who is the worker that connected.
func (p *proxy) pass(to, from *net.TCPConn, who int) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if !p.wait(who) {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// wait holds bytes back for as long as the network is bad; false if the proxy is over.
func (p *proxy) wait(who int) bool {
	p.mu.Lock()
	late, open, bar := p.late, p.open, p.bars[who]
	p.mu.Unlock()
	if bar != nil {
		select {
		case <-bar:
		case <-p.over:
			return false
		}
	}
	if late > 0 {
		timer := time.NewTimer(late)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-p.over:
			return false
		}
	}
	select {
	case <-open:
		return true
	case <-p.over:
		return false
	}
}

// cut resets all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.SetLinger(0) // so that it is no orderly end
		_ = c.Close()
	}
}

// drop lets nothing pass.
func (p *proxy) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.open:
		p.open = make(chan struct{})
	default:
	}
}

// know has the proxy tell apart which worker connects.
func (p *proxy) know(pids func() []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pids = pids
}

// who returns the worker that has connected, or -1 if that is not known.
func (p *proxy) who(c *net.TCPConn) int {
	p.mu.Lock()
	pids := p.pids
	p.mu.Unlock()
	if pids == nil {
		return -1
	}
	return owner(c.RemoteAddr().(*net.TCPAddr).Port, pids())
}

// bar lets nothing pass that is from or for a worker that has connected or does, or everything
// again.
func (p *proxy) bar(who int, cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.bars[who]
	switch {
	case cut && old == nil:
		p.bars[who] = make(chan struct{})
	case !cut && old != nil:
		close(old)
		delete(p.bars, who)
	}
}

// delay makes everything late.
func (p *proxy) delay(by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late = by
}

// heal ends drop and delay.
func (p *proxy) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late = 0
	select {
	case <-p.open:
	default:
		close(p.open)
	}
}

func (p *proxy) close() error {
	err := p.listener.Close()
	p.mu.Lock()
	close(p.over)
	p.mu.Unlock()
	p.cut()
	p.tasks.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

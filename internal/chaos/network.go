package chaos

import (
	"crypto/tls"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/weft-rl/weft/internal/launch"
	"github.com/weft-rl/weft/internal/run/certs"
	"github.com/weft-rl/weft/internal/run/port"
)

// network connects the processes of a cluster.
type network interface {
	// coordinator is how the coordinator is started.
	coordinator() place
	// listens says where it was found to listen.
	listens(at string)
	// worker is how a worker is started.
	worker(i int) place
	// reach is where this process, and clients that it starts, find the coordinator.
	reach() (address string, flags []string, config *tls.Config)
	// disturb does something of a kind that needs a network to a worker's connections;
	// mend ends it.
	disturb(i int, k Kind) error
	mend(i int) error
	// sever has nothing pass between two workers, or everything again.
	sever(i, j int, cut bool) error
	// workers is told how to find the processes of workers.
	workers(pids func() []int)
	// severs says whether cut connections are gone, rather than silent for a moment.
	severs() bool
	name() string
	close() error
}

// place is where a process is: what its command begins with, and flags.
type place struct{ prefix, flags []string }

// task returns a process of that place.
func (p place) task(name string, args ...string) launch.Task {
	return launch.Task{Name: name, Wrap: p.prefix, Args: append(args, p.flags...)}
}

// sockets is no network: data goes through Unix sockets, and nothing can be disturbed.
type sockets struct {
	at     string // where the coordinator listens, once it does
	certs  string // folder of the certificate that all have
	config *tls.Config
}

// newSockets makes a certificate in a folder, by which processes know each other.
func newSockets(dir string) (*sockets, error) {
	s := &sockets{certs: filepath.Join(dir, "certs")}
	files, err := certs.Household(s.certs)
	if err == nil {
		s.config, err = files.Load()
	}
	return s, err
}

func (s *sockets) place(flags ...string) place {
	return place{flags: append(flags, "--certs", s.certs)}
}
func (s *sockets) coordinator() place { return s.place("--listen", launch.Listen) }
func (s *sockets) listens(at string)  { s.at = at }
func (s *sockets) worker(int) place   { return s.place("--join", launch.Join) }
func (s *sockets) reach() (string, []string, *tls.Config) {
	return s.at, []string{"--certs", s.certs}, s.config
}
func (s *sockets) disturb(int, Kind) error { return errors.New("there is no network to disturb") }
func (s *sockets) mend(int) error          { return nil }
func (s *sockets) sever(int, int, bool) error {
	return errors.New("there is no network to disturb")
}
func (s *sockets) workers(func() []int) {}
func (s *sockets) severs() bool         { return false }
func (s *sockets) name() string         { return "sockets" }
func (s *sockets) close() error         { return nil }

// proxies is TCP with a proxy before each worker, and one between it and the coordinator.
type proxies struct {
	sockets
	control, data []*proxy
	ports         []string // ports of the workers
}

func newProxies(workers int, dir string) (_ *proxies, err error) {
	s, err := newSockets(dir)
	if err != nil {
		return nil, err
	}
	p := &proxies{sockets: *s}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	for range workers {
		for _, list := range []*[]*proxy{&p.control, &p.data} {
			x, err := newProxy()
			if err != nil {
				return nil, err
			}
			*list = append(*list, x)
		}
		at := port.Lasting()
		p.ports = append(p.ports, at)
		p.data[len(p.data)-1].lead(at)
	}
	return p, nil
}

func (p *proxies) listens(at string) {
	p.at = at
	for _, x := range p.control {
		x.lead(at)
	}
}

func (p *proxies) worker(i int) place {
	return p.place("--join", p.control[i].address(), "--listen", p.ports[i], "--advertise", p.data[i].address())
}

func (p *proxies) disturb(i int, k Kind) error {
	switch k {
	case CutControl:
		p.control[i].cut()
	case CutData:
		p.data[i].cut()
	case Drop:
		p.control[i].drop()
		p.data[i].drop()
	case Delay:
		p.control[i].delay(lateness)
		p.data[i].delay(lateness)
	default:
		return fmt.Errorf("%s is nothing that a network does", k)
	}
	return nil
}

// lateness is by how much packets are late.
const lateness = 20 * time.Millisecond

func (p *proxies) mend(i int) error {
	p.control[i].heal()
	p.data[i].heal()
	return nil
}

// sever has the proxies before two workers hold back what comes from the other one.
func (p *proxies) sever(i, j int, cut bool) error {
	p.data[i].bar(j, cut)
	p.data[j].bar(i, cut)
	return nil
}

func (p *proxies) workers(pids func() []int) {
	for _, x := range p.data {
		x.know(pids)
	}
}

func (p *proxies) severs() bool { return true }
func (p *proxies) name() string { return "TCP" }

func (p *proxies) close() error {
	var errs []error
	for _, list := range [][]*proxy{p.control, p.data} {
		for _, x := range list {
			errs = append(errs, x.close())
		}
	}
	return errors.Join(errs...)
}

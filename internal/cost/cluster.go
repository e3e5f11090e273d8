package cost

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/plan"
)

// Cluster describes machines that need not be here.
type Cluster struct {
	Kinds      []Machine
	Network    Network
	Checkpoint Checkpoint
}

// Machine is a kind of machines.
type Machine struct {
	Name        string  `names:"-" doc:"name of the kind"`
	Count       int     `default:"1" unit:"machines" range:"[1,)" doc:"machines of this kind"`
	Cores       int     `default:"1" unit:"cores" range:"[1,)" doc:"cores of a machine"`
	Memory      float64 `default:"0" unit:"GiB" range:"[0,)" doc:"memory of a machine; 0 is unknown"`
	Devices     int     `default:"0" unit:"GPUs" range:"[0,)" doc:"GPUs of a machine, each with a worker"`
	WorkerCores int     `default:"1" unit:"cores" range:"[1,)" doc:"cores of a worker, on machines without GPUs"`
	Speed       float64 `default:"1" range:"(0,)" doc:"speed of a core, relative to those that programs are recorded on"`
	DeviceSpeed float64 `default:"10" range:"(0,)" doc:"speed of a GPU at what runs there, relative to what programs are recorded on"`
	Price       float64 `default:"0" range:"[0,)" doc:"price of a machine for an hour"`
	Lifetime    float64 `default:"0" unit:"hours" range:"[0,)" doc:"mean time between failures of a machine; 0 is that it never fails"`
}

// Network describes the links between machines.
type Network struct {
	Latency   time.Duration `default:"50us" range:"[0s,)" doc:"time of a small message from one machine to another"`
	Bandwidth float64       `default:"1.25" unit:"GB/s" range:"(0,)" doc:"bandwidth of a machine's network interface"`
}

// Checkpoint says how long saving and restarting a run take.
type Checkpoint struct {
	Write   time.Duration `default:"1s" range:"[0s,)" doc:"time that a checkpoint takes"`
	Restart time.Duration `default:"30s" range:"[0s,)" doc:"time until a run goes on after a machine was lost"`
}

//go:embed clusters/*.yaml
var examples embed.FS

// Examples returns the names of the clusters that come with Weft.
func Examples() (out []string) {
	list, _ := fs.Glob(examples, "clusters/*.yaml") // the pattern is right
	for _, f := range list {
		out = append(out, strings.TrimSuffix(strings.TrimPrefix(f, "clusters/"), ".yaml"))
	}
	return out
}

// ReadCluster reads the description of a cluster: one that comes with Weft, by name, or a file.
func ReadCluster(name string) (*Cluster, error) {
	text, err := examples.ReadFile("clusters/" + name + ".yaml")
	if err != nil {
		text, err = os.ReadFile(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--cluster: %s is no file, and none of the clusters that come with Weft: %s", name, strings.Join(Examples(), ", "))
	}
	if err != nil {
		return nil, err
	}
	return ParseCluster(text, name)
}

// ParseCluster reads a description, YAML: machines by kind, network, checkpoint. All that is wrong
// with it is reported at once.
func ParseCluster(text []byte, source string) (*Cluster, error) {
	all, err := config.ParseYAML(text, source)
	c := &Cluster{}
	errs := []error{err, config.Defaults(&c.Network), config.Defaults(&c.Checkpoint)}
	var names []string
	of := map[string][]config.Assignment{}
	for _, a := range all {
		section, rest, ok := strings.Cut(a.Key, ".")
		kind, field, inKind := strings.Cut(rest, ".")
		switch {
		case ok && section == "network":
			a.Key = rest
			errs = append(errs, config.Set(&c.Network, []config.Assignment{a}))
		case ok && section == "checkpoint":
			a.Key = rest
			errs = append(errs, config.Set(&c.Checkpoint, []config.Assignment{a}))
		case ok && section == "machines" && inKind:
			if !slices.Contains(names, kind) {
				names = append(names, kind)
			}
			a.Key = field
			of[kind] = append(of[kind], a)
		default:
			errs = append(errs, fmt.Errorf("%s: %s is neither of machines, as in machines: {node: {count: 8}}, nor of network or checkpoint", a.Source, a.Key))
		}
	}
	for _, name := range names {
		m := Machine{}
		errs = append(errs, config.Defaults(&m), config.Set(&m, of[name]))
		m.Name = name
		c.Kinds = append(c.Kinds, m)
	}
	if len(names) == 0 {
		errs = append(errs, fmt.Errorf("%s: it has no machines", source))
	}
	return c, errors.Join(errs...)
}

// workers returns how many workers a machine has.
func (m Machine) workers() int {
	if m.Devices > 0 {
		return m.Devices
	}
	return max(1, m.Cores/m.WorkerCores)
}

// Workers returns how many workers all machines have.
func (c *Cluster) Workers() (n int) {
	for _, m := range c.Kinds {
		n += m.Count * m.workers()
	}
	return n
}

// Site returns where a plan of so many workers would run: machines are filled one after another.
func (c *Cluster) Site(workers int) Site {
	net := Link{Latency: c.Network.Latency.Seconds(), Bandwidth: c.Network.Bandwidth * 1e9, Wired: true}
	s := Site{Links: Links{Lane: Here.Lane, Host: Here.Host, Net: net}, Speeds: map[string][2]float64{}}
	for _, m := range c.Kinds {
		for i := range m.Count {
			host, n := fmt.Sprintf("%s-%d", m.Name, i), m.workers()
			s.Speeds[host] = [2]float64{m.Speed, m.DeviceSpeed}
			for j := range n {
				if len(s.Cluster.Workers) == workers {
					return s
				}
				w := plan.Worker{Name: fmt.Sprintf("%s/%d", host, j), Host: host, Cores: max(1, m.Cores/n), Memory: int64(m.Memory * (1 << 30) / float64(n)), Devices: []string{plan.CPU}}
				if m.Devices > 0 {
					w.Devices = []string{fmt.Sprintf("gpu:%d", j), plan.CPU}
				}
				s.Cluster.Workers = append(s.Cluster.Workers, w)
			}
		}
	}
	return s
}

// used returns how many machines of each kind have so many workers.
func (c *Cluster) used(workers int) (out []int) {
	for _, m := range c.Kinds {
		n := min(m.Count, (workers+m.workers()-1)/m.workers())
		workers = max(0, workers-n*m.workers())
		out = append(out, n)
	}
	return out
}

// Machines returns how many machines so many workers take.
func (c *Cluster) Machines(workers int) (n int) {
	for _, x := range c.used(workers) {
		n += x
	}
	return n
}

// Price returns that of an hour of so many workers' machines.
func (c *Cluster) Price(workers int) (p float64) {
	for i, n := range c.used(workers) {
		p += float64(n) * c.Kinds[i].Price
	}
	return p
}

// Goodput returns the part of the time that a synchronous run on so many workers gets on, and the
// time between checkpoints that makes it largest: a machine that fails takes the work since the
// last checkpoint with it. The interval is Young's (1974), the square root of twice the time of a
// checkpoint times the mean time between failures; it is 0 where nothing fails.
func (c *Cluster) Goodput(workers int) (part, interval float64) {
	failures := 0.0 // a second
	for i, n := range c.used(workers) {
		if l := c.Kinds[i].Lifetime; l > 0 {
			failures += float64(n) / (l * 3600)
		}
	}
	if failures == 0 {
		return 1, 0
	}
	write, restart := c.Checkpoint.Write.Seconds(), c.Checkpoint.Restart.Seconds()
	interval = math.Sqrt(2 * write / failures)
	return max(0, 1-write/max(interval, 1e-9)-failures*(interval/2+restart)), interval
}

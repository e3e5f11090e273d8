package cost

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// Site is where a plan would run.
type Site struct {
	Cluster plan.Cluster
	// Lanes is true if all workers are lanes of one process, which share Cores.
	Lanes bool
	Cores int
	Links Links
	// Speeds gives, by the name of a machine, how fast its cores and its devices are, relative to
	// the machine that recorded the programs. A machine that is not named is as fast as that one.
	Speeds map[string][2]float64
}

// Links says how long messages between two replicas take.
type Links struct {
	Lane Link // of one process
	Host Link // of two processes of one machine
	Net  Link // of two machines
}

// Here is the links of one machine, as weft bench edges measured them on one of two cores: half a
// round trip of 1 KiB, and one direction of 1 MiB. Lanes measures that of its own process.
var Here = Links{
	Lane: Link{Latency: 2e-6},
	Host: Link{Latency: 7e-6, Bandwidth: 6e9},
	Net:  Link{Latency: 100e-6, Bandwidth: 1.2e9, Wired: true},
}

// Prediction describes an iteration under a plan.
type Prediction struct {
	Seconds        float64 `json:"seconds"`          // of an iteration
	StepsPerSecond float64 `json:"steps_per_second"` // of environments
	Used           float64 `json:"used"`             // part of all cores and devices that computes
	Bound          string  `json:"bound"`            // what it is bound by
}

// rounds is how often a simulation repeats the recorded iterations.
const rounds = 5

// Predict simulates a plan's programs. The plan is fused; model is its grouping's, or the plain
// loop's if nothing is left to exchange.
func Predict(m *Model, p plan.Plan, f plan.Facts, s Site) (Prediction, error) {
	if err := s.fits(m, p); err != nil {
		return Prediction{}, err
	}
	sim, err := m.instance(p, f, s)
	if err != nil {
		return Prediction{}, err
	}
	out, err := sim.Run()
	if err != nil {
		return Prediction{}, err
	}
	var used, cores float64
	for i, h := range sim.Hosts {
		used, cores = used+out.Used[i], cores+h.Cores
	}
	seconds := out.Round / float64(m.Iterations)
	if s.Lanes {
		seconds *= m.ratio(p.Shards)
	}
	x := Prediction{Seconds: seconds, Used: used / max(cores*out.Seconds, 1e-12), Bound: bound(sim, out)}
	x.StepsPerSecond = m.EnvSteps / max(x.Seconds, 1e-12)
	return x, nil
}

// fits refuses a plan whose replicas do not fit into the memory of their workers, where that is
// known.
func (s Site) fits(m *Model, p plan.Plan) error {
	var errs []error
	need := make([]float64, len(s.Cluster.Workers))
	for _, r := range p.Replicas {
		need[r.Worker] += m.PerReplica * float64(r.Last-r.First)
		if r.Group == m.Owner || m.Owner == "" {
			need[r.Worker] += m.Memory
		}
	}
	for i, w := range s.Cluster.Workers {
		if w.Memory > 0 && need[i] > float64(w.Memory) {
			errs = append(errs, fmt.Errorf("worker %s has %.1f GiB of memory, and its replicas hold about %.1f: give it fewer, or more memory", w.Name, float64(w.Memory)/(1<<30), need[i]/(1<<30)))
		}
	}
	return errors.Join(errs...)
}

// instance makes the simulation of a plan.
func (m *Model) instance(p plan.Plan, f plan.Facts, s Site) (*Sim, error) {
	sim := &Sim{Queue: 1, Rounds: rounds}
	var at []plan.Replica
	first := make([]int, len(p.Groups)) // number of each group's first replica
	for g, group := range p.Groups {
		first[g] = len(at)
		at = append(at, p.Of(group.Name)...)
	}
	if len(p.Groups) == 0 {
		at, first = p.Replicas[:1], []int{0}
	}
	hosts := newHosts(s)
	shares := make([]float64, len(at))
	for i, r := range at {
		shares[i] = shareOf(p, f, r)
	}
	if n := m.messages(p); n > most {
		return nil, fmt.Errorf("%d messages in an iteration are too many to simulate", n)
	}
	for i, r := range at {
		g := max(0, slices.IndexFunc(p.Groups, func(x plan.Group) bool { return x.Name == r.Group }))
		t := Task{Name: fmt.Sprintf("%s %d", r.Group, r.Rank), Host: hosts.of(r)}
		speed := s.speed(r)
		for _, x := range m.program(g, r.Rank) {
			x.Time = Line{x.Time.Fixed / speed, x.Time.Whole / speed}
			t.Steps = append(t.Steps, x.step(i, r.Rank, g, shares, first, len(at))...)
		}
		sim.Tasks = append(sim.Tasks, t)
	}
	sim.Hosts = hosts.list
	sim.Between = func(from, to int) Link { return s.link(at[from], at[to]) }
	sim.ownerFirst(m, first)
	return sim, nil
}

// most is how many messages of an iteration are simulated.
const most = 2_000_000

// messages returns about how many messages an iteration has.
func (m *Model) messages(p plan.Plan) (n int) {
	for g, pair := range m.Programs {
		if len(p.Groups) == 0 {
			return 0
		}
		k := len(p.Of(p.Groups[g].Name))
		for _, x := range pair.First {
			if x.Do == Send && x.Whom.Group < len(p.Groups) {
				peers := len(p.Of(p.Groups[x.Whom.Group].Name))
				if x.Whom.Rule == FirstR {
					peers = 1
				}
				n += peers
				if pair.Others != nil {
					n += (k - 1) * peers
				}
			}
		}
	}
	return n / max(1, m.Iterations)
}

// speed returns that of what a replica computes on.
func (s Site) speed(r plan.Replica) float64 {
	x, ok := s.Speeds[s.Cluster.Workers[r.Worker].Host]
	switch {
	case !ok:
		return 1
	case r.Device == plan.CPU || r.Device == "":
		return x[0]
	}
	return x[1]
}

// program returns the program of a replica.
func (m *Model) program(group, rank int) []Sketch {
	if p := m.Programs[group]; rank > 0 && p.Others != nil {
		return p.Others
	}
	return m.Programs[group].First
}

// shareOf returns the part of its group's axis that a replica has.
func shareOf(p plan.Plan, f plan.Facts, r plan.Replica) float64 {
	g := p.Group(r.Group)
	if g == nil || g.Over == fdg.None {
		return 1
	}
	if g.Over == fdg.Environments && f.Envs > 0 {
		lo, _ := rl.System.Shard(f.Envs, max(1, f.Block), r.First, p.Shards)
		_, hi := rl.System.Shard(f.Envs, max(1, f.Block), r.Last-1, p.Shards)
		return float64(hi-lo) / float64(f.Envs)
	}
	return float64(r.Last-r.First) / float64(p.Shards)
}

// step makes the steps of replica number i, of a rank of group g, out of a sketch. Messages whose
// sizes differ are steps of their own.
func (x Sketch) step(i, rank, g int, shares []float64, first []int, all int) []Step {
	if x.Do == Compute {
		return []Step{{Do: Compute, Seconds: x.Time.At(shares[i]), Cores: x.Cores}}
	}
	end := all
	if x.Whom.Group+1 < len(first) {
		end = first[x.Whom.Group+1]
	}
	me := -1
	if x.Whom.Group == g {
		me = rank
	}
	base := first[x.Whom.Group]
	var peers []int
	for _, r := range x.Whom.ranks(end-base, me) {
		peers = append(peers, base+r)
	}
	switch {
	case len(peers) == 0:
		return nil
	case x.ByShare == Receiver:
		var out []Step
		for _, p := range peers {
			out = append(out, Step{Do: x.Do, Edge: x.Edge, Peers: []int{p}, Bytes: x.Bytes * shares[p]})
		}
		return out
	case x.ByShare == Sender:
		x.Bytes *= shares[i]
	}
	return []Step{{Do: x.Do, Edge: x.Edge, Peers: peers, Bytes: x.Bytes}}
}

// ownerFirst makes the replica that decides the task whose rounds are measured.
func (s *Sim) ownerFirst(m *Model, first []int) {
	g := slices.IndexFunc(m.Grouping.Groups, func(x plan.Group) bool { return x.Name == m.Owner })
	if g > 0 {
		s.Timed = first[g]
	}
}

// link returns what messages between two replicas take.
func (s Site) link(a, b plan.Replica) Link {
	x, y := s.Cluster.Workers[a.Worker], s.Cluster.Workers[b.Worker]
	switch {
	case s.Lanes || a.Worker == b.Worker:
		return s.Links.Lane
	case x.Host == y.Host:
		return s.Links.Host
	}
	return s.Links.Net
}

// hosts lists where replicas compute: on the cores of a machine, or on a device.
type hosts struct {
	site  Site
	names []string
	list  []Host
	wires []string
}

func newHosts(s Site) *hosts { return &hosts{site: s} }

// of returns the number of what a replica computes on.
func (h *hosts) of(r plan.Replica) int {
	w := h.site.Cluster.Workers[r.Worker]
	device := r.Device != plan.CPU && r.Device != ""
	name := w.Host
	if device {
		name += "/" + r.Device
	}
	if i := slices.Index(h.names, name); i >= 0 {
		return i
	}
	cores := 0
	switch {
	case device:
		cores = 1
	case h.site.Lanes:
		cores = h.site.Cores
	default:
		for _, x := range h.site.Cluster.Workers {
			if x.Host == w.Host {
				cores += x.Cores
			}
		}
	}
	wire := slices.Index(h.wires, w.Host)
	if wire < 0 {
		wire = len(h.wires)
		h.wires = append(h.wires, w.Host)
	}
	h.names, h.list = append(h.names, name), append(h.list, Host{Cores: float64(max(1, cores)), Wire: wire})
	return len(h.list) - 1
}

// bound says what a simulated run is bound by.
func bound(s *Sim, o Outcome) string {
	busiest, most := 0, 0.0
	for i := range s.Tasks {
		if active := 1 - o.Waits[i]/o.Seconds; active > most {
			busiest, most = i, active
		}
	}
	for i, h := range s.Hosts {
		if used := o.Used[i] / (h.Cores * o.Seconds); used > .95 && len(s.Tasks) > 1 {
			if h.Cores == 1 {
				return "one core or device, which is busy all the time"
			}
			return fmt.Sprintf("%.0f cores, which are busy all the time", h.Cores)
		}
	}
	for _, w := range o.Wires {
		if w/o.Seconds > .8 {
			return fmt.Sprintf("a network interface, which sends %.0f %% of the time", 100*w/o.Seconds)
		}
	}
	name := s.Tasks[busiest].Name
	switch {
	case len(s.Tasks) == 1:
		return "one goroutine"
	case most > .9:
		return fmt.Sprintf("%s, which computes %.0f %% of the time", name, 100*most)
	}
	computes := map[string]float64{}
	var groups []string
	for i, t := range s.Tasks {
		g, _, _ := strings.Cut(t.Name, " ")
		if !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
		computes[g] = max(computes[g], 1-o.Waits[i]/o.Seconds)
	}
	var parts []string
	total := 0.0
	for _, g := range groups {
		parts = append(parts, fmt.Sprintf("%s %.0f %%", g, 100*computes[g]))
		total += computes[g]
	}
	if total < .7 {
		return fmt.Sprintf("messages, which are under way %.0f %% of the time", 100*(1-total))
	}
	return "groups that wait for each other: " + strings.Join(parts, ", ")
}

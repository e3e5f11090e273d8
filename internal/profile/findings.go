package profile

import (
	"cmp"
	"fmt"
	"slices"
)

// Finding is something that bounds a run.
type Finding struct {
	Cause Cause `json:"cause"`
	// Part is the part of an iteration that the cause accounts for, at most.
	Part float64 `json:"part"`
	Text string  `json:"text"` // what was seen
	Help string  `json:"help"` // what would help
}

// Cause is a bottleneck of a run.
type Cause string

// The causes.
const (
	SlowWork       Cause = "work"           // one class of operations takes most of the time
	SlowLink       Cause = "link"           // messages are under way while everybody waits
	Starved        Cause = "starved"        // the learner waits for replicas that are busy with many things
	Straggler      Cause = "straggler"      // one replica of a group is slower than the others
	Oversubscribed Cause = "oversubscribed" // more replicas want to compute than there are cores
)

// least is the part of an iteration below which a cause is not worth a sentence.
const least = .1

// Findings returns what bounds the run, the largest first.
func (p *Profile) Findings() (out []Finding) {
	if p.Check() != nil {
		return nil
	}
	for _, look := range []func() []Finding{p.crowded, p.stragglers, p.links, p.starved, p.work} {
		out = append(out, look()...)
	}
	out = slices.DeleteFunc(out, func(f Finding) bool { return f.Part < least })
	slices.SortStableFunc(out, func(a, b Finding) int { return cmp.Compare(b.Part, a.Part) })
	return out
}

// group is the replicas of a group, by number.
type group struct {
	name    string
	numbers []int
}

func (p *Profile) groups() (out []group) {
	for i, r := range p.Replicas {
		if len(out) == 0 || out[len(out)-1].name != r.Group {
			out = append(out, group{name: r.Group})
		}
		g := &out[len(out)-1]
		g.numbers = append(g.numbers, i)
	}
	return out
}

// busiest returns the group's replica that waits least.
func (p *Profile) busiest(g group) *Replica {
	return &p.Replicas[slices.MaxFunc(g.numbers, func(i, j int) int {
		return cmp.Compare(p.Replicas[i].Busy(), p.Replicas[j].Busy())
	})]
}

// crowded finds machines on which more replicas compute than there are cores.
func (p *Profile) crowded() (out []Finding) {
	type machine struct {
		busy  float64
		cores int
		n     int
	}
	hosts, names := map[string]*machine{}, []string(nil)
	for _, r := range p.Replicas {
		m := hosts[r.Host]
		if m == nil {
			m = &machine{}
			hosts[r.Host], names = m, append(names, r.Host)
		}
		m.busy, m.cores, m.n = m.busy+r.Busy(), max(m.cores, r.Cores), m.n+1
	}
	for _, name := range names {
		m := hosts[name]
		if m.cores == 0 || m.busy <= 1.05*float64(m.cores) {
			continue
		}
		out = append(out, Finding{
			Cause: Oversubscribed, Part: 1 - float64(m.cores)/m.busy,
			Text: fmt.Sprintf("%d replicas on one machine want %.1f cores, and it has %d", m.n, m.busy, m.cores),
			Help: fmt.Sprintf("--workers %d or fewer there, or another machine", max(1, m.cores)),
		})
	}
	return out
}

// stragglers finds replicas that the others of their group wait for.
func (p *Profile) stragglers() (out []Finding) {
	for _, g := range p.groups() {
		if len(g.numbers) < 2 || p.Async {
			continue
		}
		order := slices.Clone(g.numbers)
		own := func(i int) float64 { r := &p.Replicas[i]; return r.Busy() * r.Seconds / float64(r.Iterations) }
		slices.SortFunc(order, func(i, j int) int { return cmp.Compare(own(i), own(j)) })
		slow, median := order[len(order)-1], own(order[(len(order)-1)/2])
		if own(slow) < 1.2*median {
			continue
		}
		r := &p.Replicas[slow]
		out = append(out, Finding{
			Cause: Straggler, Part: (own(slow) - median) / r.period(),
			Text: fmt.Sprintf("%s computes %.1f times as long as its group's median, and all others wait for it in every iteration", r, own(slow)/max(median, 1e-12)),
			Help: "look at its machine and its environments; --async does not wait for the slowest",
		})
	}
	return out
}

// period returns the time of an iteration.
func (r *Replica) period() float64 { return r.Seconds / float64(r.Iterations) }

// links finds time in which no group computes: something is under way.
func (p *Profile) links() []Finding {
	groups := p.groups()
	if len(p.Edges) == 0 {
		return nil
	}
	computing := 0.0
	for _, g := range groups {
		computing += p.busiest(g).Busy()
	}
	part := 1 - computing
	edge, waited := -1, 0.0
	by := make([]float64, len(p.Edges))
	for _, r := range p.Replicas {
		for _, e := range r.Edges {
			for _, w := range e.Waits {
				by[e.Edge] += w.Seconds / r.Seconds
			}
		}
	}
	for i, s := range by {
		if s > waited {
			edge, waited = i, s
		}
	}
	if part < least || edge < 0 {
		return nil
	}
	e, bytes := p.Edges[edge], int64(0)
	for _, r := range p.Replicas {
		for _, x := range r.Edges {
			if x.Edge == edge && r.Iterations > 0 {
				bytes += x.Bytes / r.Iterations
			}
		}
	}
	return []Finding{{
		Cause: SlowLink, Part: part,
		Text: fmt.Sprintf("for %s of an iteration nobody computes: messages are under way, most of them on edge %s from %s to %s (%s an iteration)", percent(part), e.Name, e.From, e.To, size(bytes)),
		Help: "put the groups on one machine, or take a policy whose edges carry less or cross less often",
	}}
}

// starved finds groups of one replica that wait for replicas which are busy with many things.
func (p *Profile) starved() (out []Finding) {
	for _, g := range p.groups() {
		r := &p.Replicas[g.numbers[0]]
		if len(g.numbers) > 1 {
			continue
		}
		for _, other := range p.groups() {
			if other.name == g.name {
				continue
			}
			waits := 0.0
			for _, w := range r.waits() {
				if slices.Contains(other.numbers, w.For) || w.For < 0 {
					waits += w.Seconds / r.Seconds
				}
			}
			busy := p.busiest(other)
			_, most := busy.most()
			if busy.Busy() < .6 || waits < least {
				continue
			}
			out = append(out, Finding{
				Cause: Starved, Part: waits * (1 - most),
				Text: fmt.Sprintf("%s waits %s of its time for %s, which is busy %s of its own", r, percent(waits), other.name, percent(busy.Busy())),
				Help: fmt.Sprintf("more replicas of %s: --workers, --processes", other.name),
			})
		}
	}
	return out
}

// most returns the class that takes most of the replica's busy time, and the part of it.
func (r *Replica) most() (c Class, part float64) {
	by, busy := r.By(), r.Busy()*r.Seconds
	for _, x := range Classes {
		if x != Waiting && busy > 0 && by[x]/busy > part {
			c, part = x, by[x]/busy
		}
	}
	return c, part
}

// helps says what would help against a class that takes most of the time.
var helps = map[Class]string{
	Environment: "more workers for the environments (single-learner-coarse, or -fine with --pipeline), or a faster environment",
	Inference:   "a smaller network, fewer and larger batches, or --device",
	Gradient:    "multi-learner shares gradients out; fewer epochs, a smaller network, or --device",
	Application: "a smaller network, or fewer and larger minibatches",
	Replay:      "smaller or fewer samples; --placement replay:WORKER puts the table on a worker of its own",
	Statistics:  "log less",
	Fused:       "--no-fuse graphs shows what it is made of; more workers share what is by environment",
	Device:      "more environments an iteration, or more devices: --workers",
	Edges:       "a policy whose edges carry less or cross less often",
	Rest:        "larger batches, so that the loop's own code and the runtime weigh less",
}

// work finds the class of operations that takes most of an iteration.
func (p *Profile) work() (out []Finding) {
	for _, g := range p.groups() {
		r := p.busiest(g)
		c, part := r.most()
		if c == "" {
			continue
		}
		who := g.name
		if who == "loop" {
			who = "the loop"
		}
		out = append(out, Finding{
			Cause: SlowWork, Part: part * r.Busy(),
			Text: fmt.Sprintf("%s spends %s of its time on %s", who, percent(part*r.Busy()), words(c)),
			Help: helps[c],
		})
	}
	return out
}

// words says in words what a class is.
func words(c Class) string {
	switch c {
	case Environment:
		return "environment steps"
	case Fused:
		return "a part of its program that is one graph"
	case Device:
		return "its device program"
	case Edges:
		return "copying and sending"
	case Rest:
		return "Go code between operations"
	}
	return string(c)
}

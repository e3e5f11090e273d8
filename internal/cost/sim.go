package cost

import (
	"container/heap"
	"errors"
	"fmt"
	"math"
)

// Sim is a discrete-event simulation of programs that compute, send and take messages. Tasks on one
// host share its cores: when they want more than it has, all of them slow down alike. Messages
// between tasks take what their link says; those that leave one host, or come to one, queue up.
type Sim struct {
	Hosts []Host
	Tasks []Task
	// Queue is how many messages of an edge may wait between two tasks before the sender does.
	Queue int
	// Rounds is how often every task's steps are repeated.
	Rounds int
	// Timed is the task whose rounds are measured.
	Timed int
	// Between returns the link between two tasks.
	Between func(from, to int) Link
}

// Host is something that computes: the cores of a machine, or a device.
type Host struct {
	Cores float64
	// Wire is the number of the network interface that messages of tasks on it go through; hosts of
	// one machine have one in common.
	Wire int
}

// Task is a program on a host.
type Task struct {
	Name  string
	Host  int
	Steps []Step
}

// Step is something that a task does.
type Step struct {
	Do      Action
	Seconds float64 // of Compute, with so many cores
	Cores   float64 // that Compute uses; at least one
	Edge    int     // of Send and Take
	Peers   []int   // tasks, in order
	Bytes   float64 // of each message
}

// Action is a kind of step.
type Action uint8

// The actions.
const (
	Compute Action = iota
	Send           // queues a message for every peer
	Take           // takes a message of every peer, and waits for it
)

// Link says how long messages between two tasks take.
type Link struct {
	Latency   float64 // seconds
	Bandwidth float64 // bytes a second; 0 is not limited
	Wired     bool    // messages go through the network interfaces of both hosts, one after another
}

// Outcome is how a simulation went.
type Outcome struct {
	Seconds float64   // of all rounds
	Round   float64   // of one, at the timed task, when all is under way
	Busy    []float64 // by task, seconds that it computed
	Waits   []float64 // by task, seconds that it waited for messages or room
	Used    []float64 // by host, core seconds
	Wires   []float64 // by network interface, seconds that it sent
}

// Run simulates. It fails if tasks wait for each other forever.
func (s *Sim) Run() (Outcome, error) {
	r := newRunning(s)
	for i := range s.Tasks {
		r.advance(i)
	}
	for r.events.Len() > 0 {
		e := heap.Pop(&r.events).(event)
		if e.host >= 0 && e.version != r.hosts[e.host].version {
			continue
		}
		r.now = e.at
		if e.host >= 0 {
			r.finish(e.host)
		} else {
			r.arrive(e.box)
		}
	}
	if r.left > 0 {
		return Outcome{}, r.stuck()
	}
	out := r.out
	out.Seconds, out.Round = r.now, r.now/float64(s.Rounds)
	if n := len(r.ends); n > 2 {
		out.Round = (r.ends[n-1] - r.ends[1]) / float64(n-2)
	}
	return out, nil
}

// running is a simulation under way.
type running struct {
	*Sim
	now    float64
	events events
	pushed int // events so far, which orders those of the same time
	tasks  []task
	hosts  []host
	boxes  map[box]*mail
	wires  []wire
	left   int // tasks that have not ended
	ends   []float64
	out    Outcome
}

// task is where a task stands.
type task struct {
	step, peer, round int
	left              float64 // seconds of the computation under way
	computing         bool
	since             float64 // when it began to wait; NaN if it does not
}

// host tracks which tasks compute on a host.
type host struct {
	active  []int
	at      float64 // when the times that are left were last right
	version int
}

// box is where messages of an edge between two tasks wait.
type box struct{ edge, from, to int }

// mail is the messages in a box.
type mail struct{ sent, arrived, taken int }

type wire struct{ out, in float64 } // when it is free again

// event is the end of a computation on a host, or the arrival of a message.
type event struct {
	at      float64
	number  int
	host    int // -1 of an arrival
	version int
	box     box
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].number < e[j].number
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}

func newRunning(s *Sim) *running {
	r := &running{Sim: s, tasks: make([]task, len(s.Tasks)), hosts: make([]host, len(s.Hosts)), boxes: map[box]*mail{}, left: len(s.Tasks)}
	wires := 0
	for _, h := range s.Hosts {
		wires = max(wires, h.Wire+1)
	}
	r.wires = make([]wire, wires)
	for i := range r.tasks {
		r.tasks[i].since = math.NaN()
	}
	n := len(s.Tasks)
	r.out = Outcome{Busy: make([]float64, n), Waits: make([]float64, n), Used: make([]float64, len(s.Hosts)), Wires: make([]float64, wires)}
	return r
}

func (r *running) mail(b box) *mail {
	m := r.boxes[b]
	if m == nil {
		m = &mail{}
		r.boxes[b] = m
	}
	return m
}

// advance has a task go on until it computes, waits or ends.
func (r *running) advance(i int) {
	t, steps := &r.tasks[i], r.Tasks[i].Steps
	for t.round < r.Rounds {
		if t.step == len(steps) {
			t.step = 0
			t.round++
			if i == r.Timed {
				r.ends = append(r.ends, r.now)
			}
			if len(steps) == 0 {
				break
			}
			continue
		}
		s := &steps[t.step]
		if !r.do(i, s) {
			return
		}
		t.step++
		t.peer = 0
	}
	r.left--
}

// do does a step, and reports whether it is over.
func (r *running) do(i int, s *Step) bool {
	t := &r.tasks[i]
	if s.Do == Compute {
		if s.Seconds <= 0 {
			return true
		}
		t.left, t.computing = s.Seconds, true
		h := r.Tasks[i].Host
		r.settle(h)
		r.hosts[h].active = append(r.hosts[h].active, i)
		r.schedule(h)
		r.out.Busy[i] += s.Seconds
		return false
	}
	for t.peer < len(s.Peers) {
		if !r.message(i, s.Peers[t.peer], s) {
			if math.IsNaN(t.since) {
				t.since = r.now
			}
			return false
		}
		if !math.IsNaN(t.since) {
			r.out.Waits[i] += r.now - t.since
			t.since = math.NaN()
		}
		t.peer++
	}
	return true
}

// message sends or takes one, and reports whether that was possible.
func (r *running) message(i, peer int, s *Step) bool {
	if s.Do == Take {
		m := r.mail(box{s.Edge, peer, i})
		if m.arrived == m.taken {
			return false
		}
		m.taken++
		r.wake(peer)
		return true
	}
	b := box{s.Edge, i, peer}
	m := r.mail(b)
	if m.sent-m.taken >= r.Queue {
		return false
	}
	m.sent++
	r.push(event{at: r.carry(i, peer, s.Bytes), host: -1, box: b})
	return true
}

// carry returns when a message arrives that is sent now.
func (r *running) carry(from, to int, bytes float64) float64 {
	l := r.Between(from, to)
	took := 0.0
	if l.Bandwidth > 0 {
		took = bytes / l.Bandwidth
	}
	if !l.Wired {
		return r.now + took + l.Latency
	}
	a, b := r.Hosts[r.Tasks[from].Host].Wire, r.Hosts[r.Tasks[to].Host].Wire
	begin := max(r.now, r.wires[a].out, r.wires[b].in)
	r.wires[a].out, r.wires[b].in = begin+took, begin+took
	r.out.Wires[a] += took
	return begin + took + l.Latency
}

func (r *running) push(e event) {
	r.pushed++
	e.number = r.pushed
	heap.Push(&r.events, e)
}

// wake has a task go on that may wait for room.
func (r *running) wake(i int) {
	t := &r.tasks[i]
	if t.computing || math.IsNaN(t.since) {
		return
	}
	r.push(event{at: r.now, host: -1, box: box{-1, i, i}})
}

// arrive delivers a message, and has its receiver go on if it waits.
func (r *running) arrive(b box) {
	if b.edge >= 0 {
		r.mail(b).arrived++
	}
	if t := &r.tasks[b.to]; !t.computing && !math.IsNaN(t.since) {
		r.advance(b.to)
	}
}

// rate returns how fast tasks of a host compute: 1 unless they want more cores than it has.
func (r *running) rate(h int) float64 {
	want := 0.0
	for _, i := range r.hosts[h].active {
		want += r.cores(i)
	}
	return min(1, r.Hosts[h].Cores/max(want, 1e-12))
}

// cores returns those that a task's computation uses.
func (r *running) cores(i int) float64 {
	return min(max(1, r.Tasks[i].Steps[r.tasks[i].step].Cores), r.Hosts[r.Tasks[i].Host].Cores)
}

// settle brings the times that are left up to date.
func (r *running) settle(h int) {
	x := &r.hosts[h]
	if passed := (r.now - x.at) * r.rate(h); passed > 0 {
		for _, i := range x.active {
			r.tasks[i].left -= passed
			r.out.Used[h] += passed * r.cores(i)
		}
	}
	x.at = r.now
}

// schedule expects the next end of a computation on a host.
func (r *running) schedule(h int) {
	x := &r.hosts[h]
	x.version++
	first := math.Inf(1)
	for _, i := range x.active {
		first = min(first, r.tasks[i].left)
	}
	if len(x.active) > 0 {
		r.push(event{at: r.now + max(0, first)/r.rate(h), host: h, version: x.version})
	}
}

// finish ends the computations of a host that are done.
func (r *running) finish(h int) {
	r.settle(h)
	var done []int
	active := r.hosts[h].active[:0]
	for _, i := range r.hosts[h].active {
		if r.tasks[i].left <= 1e-12 {
			done = append(done, i)
		} else {
			active = append(active, i)
		}
	}
	r.hosts[h].active = active
	for _, i := range done {
		t := &r.tasks[i]
		t.computing = false
		t.step++
		t.peer = 0
	}
	r.schedule(h)
	for _, i := range done {
		r.advance(i)
	}
}

// stuck says who waits for whom.
func (r *running) stuck() error {
	errs := []error{errors.New("the programs wait for each other")}
	for i := range r.tasks {
		t := &r.tasks[i]
		if t.round == r.Rounds || t.computing || len(errs) > 8 {
			continue
		}
		s := r.Tasks[i].Steps[t.step]
		errs = append(errs, fmt.Errorf("%s waits for %s on edge %d", r.Tasks[i].Name, r.Tasks[s.Peers[t.peer]].Name, s.Edge))
	}
	return errors.Join(errs...)
}

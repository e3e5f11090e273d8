package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/weft-rl/weft/internal/run/part"
)

// sim is a cluster in which everything goes wrong: coordinators that share a store,
// workers that train by counting, and connections between them that are late or break.
type sim struct {
	rng     *rand.Rand
	round   int
	calm    int // round from which on nothing goes wrong
	store   store
	coords  []*coord // the last one was elected last
	workers []*simWorker
	session int64
	want    map[string]int // runs and how many workers they ask for
	async   map[string]bool
	most    map[string]int // workers that a run grows to; those that do not are not in it
	small   map[string]int // checkpoints that such a run has kept while it could have had more
	trouble map[string]int // round in which a run last lost what it cannot do without
	unheard []string       // runs whose submission was not answered yet
	seen    map[string]bool
	looked  map[string]*seen
	log     []string
	wrong   []string
	fault   fault

	upgrades bool            // processes that are started anew may have another program
	handed   map[string]bool // runs that have just gone on without a worker that leaves

	severed  []string // two workers that cannot reach each other
	readOnly string   // worker that can keep no checkpoint
}

// fault changes a coordinator, to see that the checks see it.
type fault struct {
	event  func(*Core, Event) Event // nil: it is not told
	decide func([]Decision) []Decision
}

// store is the store that coordinators share.
type store struct {
	term   int
	runs   map[string][]byte
	order  []string
	record map[string]*record
}

// record is the lines of a run, by their steps.
type record struct {
	epoch int64
	base  int
	steps []int64
}

type coord struct {
	term   int
	core   *Core
	dead   bool
	frozen int // rounds
	plans  []MakePlan
}

type simWorker struct {
	name, instance string
	dead, gone     bool // for a while, or for good
	frozen         int  // rounds
	conn           *conn
	alone          int // rounds without a connection
	job            *job
	program        string
	draining       bool // it knows that it is to leave
}

// conn is a connection: what is under way in it, in both directions.
type conn struct {
	to      *coord
	session int64
	up      []Event
	down    []Decision
	broken  bool
	quiet   int // rounds without a word of the worker
}

type job struct {
	part.Assignment
	ready, started, done bool
	step                 int64
	halt                 bool  // at the next consistent point
	kept                 int64 // step of the checkpoint that counts
	lines, acknowledged  int
	pending              *part.Manifest // not yet answered
	alone                int            // rounds in which the others did not keep up
	failed               string
	peer                 bool         // that was another's failure
	fault                Fault        // what it is blamed on
	spokes               map[int]*job // of a part that decides: who is connected with it
	joined               bool         // another, that is or was
}

const (
	total  = 240 // steps of a run
	stride = 5
	every  = 20 // steps between checkpoints
)

func newSim(seed uint64, f fault) *sim {
	s := &sim{rng: rand.New(rand.NewPCG(seed, 1)), want: map[string]int{}, async: map[string]bool{}, most: map[string]int{}, small: map[string]int{}, trouble: map[string]int{}, seen: map[string]bool{}, handed: map[string]bool{}, looked: map[string]*seen{}, fault: f}
	s.store = store{runs: map[string][]byte{}, record: map[string]*record{}}
	s.elect()
	for i := range 3 + s.rng.IntN(3) {
		s.workers = append(s.workers, &simWorker{name: string(rune('a' + i)), dead: true})
	}
	s.impair(seed)
	return s
}

func (s *sim) chance(percent int) bool { return s.rng.IntN(100) < percent }

func (s *sim) complain(format string, args ...any) {
	s.wrong = append(s.wrong, fmt.Sprintf("round %d: ", s.round)+fmt.Sprintf(format, args...))
}

// acting returns the coordinator that was elected last.
func (s *sim) acting() *coord { return s.coords[len(s.coords)-1] }

// elect has a new coordinator take over.
func (s *sim) elect() {
	s.store.term++
	for _, name := range s.store.order {
		s.trouble[name] = s.round
	}
	c := &coord{term: s.store.term, core: New(Settings{Grace: 6, Return: 6, Settle: 3, Start: 60, Stall: 80, Patience: 5000, Vacancy: 15, Halt: 60, Lived: 30, Retry: 20, Avoid: 20, Move: 30, Breaks: 1000, Restarts: 1000, Keep: 9})}
	s.coords = append(s.coords, c)
	var e Loaded
	for _, name := range s.store.order {
		e.Runs = append(e.Runs, s.kept(name))
	}
	for _, w := range s.workers {
		if w.dead && s.chance(50) || !w.dead && !s.chance(10) { // leases are not always what is true
			e.Alive = append(e.Alive, w.name)
		}
	}
	s.tell(c, e)
}

// kept reads a run from the store.
func (s *sim) kept(name string) (r Run) {
	if err := json.Unmarshal(s.store.runs[name], &r); err != nil {
		s.complain("%v", err)
	}
	return r
}

// seen is a run of the store, and the text that it was read from.
type seen struct {
	text []byte
	run  Run
}

// look returns a run of the store to look at. It is read once, however often it is looked at.
func (s *sim) look(name string) *Run {
	x, text := s.looked[name], s.store.runs[name]
	if x == nil || !bytes.Equal(x.text, text) {
		x = &seen{text, s.kept(name)}
		s.looked[name] = x
	}
	return &x.run
}

// tell tells a coordinator something, and does what it decides.
func (s *sim) tell(c *coord, e Event) {
	if s.fault.event != nil {
		if e = s.fault.event(c.core, e); e == nil {
			return
		}
	}
	decisions := c.core.Step(e)
	if err := c.core.Check(); err != nil {
		s.complain("%T: %v", e, err)
	}
	if s.fault.decide != nil {
		decisions = s.fault.decide(decisions)
	}
	for _, d := range decisions {
		s.log = append(s.log, fmt.Sprintf("%d/%d %v", s.round, c.term, d))
		if !s.do(c, d) {
			c.dead = true // another one acts
			return
		}
	}
}

// do does what a coordinator decided; false if it may not.
func (s *sim) do(c *coord, d Decision) bool {
	switch d := d.(type) {
	case Persist:
		return s.persist(c, d.Run)
	case MakePlan:
		c.plans = append(c.plans, d)
	case Rewind:
		s.rewind(c, d)
	case Reply:
		if d.Err == "" && d.Ticket > 0 {
			s.unheard = slices.DeleteFunc(s.unheard, func(name string) bool { return name == fmt.Sprint("r", d.Ticket) })
		}
	case Assign:
		s.assigned(c, d)
		s.send(c, d.Session, d)
	case Start:
		s.send(c, d.Session, d)
	case Halt:
		s.send(c, d.Session, d)
	case Abort:
		s.send(c, d.Session, d)
	case Answer:
		s.send(c, d.Session, d)
	case Drain:
		s.send(c, d.Session, d)
	case Dismiss:
		s.send(c, d.Session, d)
	case Tell:
		s.handed[d.Run] = strings.Contains(d.Text, "nothing is done again") || s.handed[d.Run]
	}
	return true
}

func (s *sim) persist(c *coord, r Run) bool {
	if c.term != s.store.term {
		return false
	}
	text, err := json.Marshal(r)
	if err != nil {
		s.complain("%v", err)
	}
	if s.store.runs[r.Name] == nil {
		s.store.order = append(s.store.order, r.Name)
	} else if old := s.look(r.Name); true {
		s.goesOn(*old, r)
		s.grows(c, *old, r)
		if at, ok := s.trouble[r.Name]; strings.Contains(r.Why, "in time") && (!ok || s.round-at > 60) {
			s.complain("%s did not stop in time, though nothing befell the part that decides: %s", r.Name, r.Why)
		}
		if r.Epoch < old.Epoch || r.step() < old.step() || old.Phase.Over() && !r.Phase.Over() {
			s.complain("%s goes back from epoch %d, step %d, %s to %d, %d, %s", r.Name, old.Epoch, old.step(), old.Phase, r.Epoch, r.step(), r.Phase)
		}
		if r.step() != old.step() && r.Last.Epoch != old.Epoch {
			s.complain("%s: a checkpoint of epoch %d counts in epoch %d", r.Name, r.Last.Epoch, old.Epoch)
		}
	}
	s.store.runs[r.Name] = text
	return true
}

// assigned checks that an assignment is of the epoch that was kept, and given once.
func (s *sim) assigned(c *coord, d Assign) {
	a := d.Assignment
	key := fmt.Sprintf("%s/%d.%d part %d", a.Run, a.Epoch, a.Life, a.Me)
	if s.seen[key] {
		s.complain("%s is assigned twice", key)
	}
	s.seen[key] = true
	if s.store.runs[a.Run] == nil || c.term == s.store.term && s.look(a.Run).Epoch != a.Epoch {
		s.complain("%s is assigned, and not what was kept", key)
	}
}

func (s *sim) send(c *coord, session int64, d Decision) {
	for _, w := range s.workers {
		if w.conn != nil && w.conn.to == c && w.conn.session == session && !w.conn.broken {
			w.conn.down = append(w.conn.down, d)
		}
	}
}

// rewind takes the record back. A coordinator that no longer acts has a file of its own.
func (s *sim) rewind(c *coord, d Rewind) {
	if c.term != s.store.term {
		return
	}
	r := s.store.record[d.Run]
	if r == nil {
		r = &record{}
		s.store.record[d.Run] = r
	}
	s.lossless(d, r)
	r.steps = slices.DeleteFunc(slices.Clone(r.steps), func(step int64) bool { return step > d.Step })
	r.epoch, r.base = d.Epoch, len(r.steps)
}

// line is a line of a run's record; at is its number in the epoch.
type line struct {
	Tick
	run   string
	epoch int64
	at    int
	step  int64
}

// write puts a line where it belongs; false if lines before it are missing.
func (s *sim) write(l line) bool {
	r := s.store.record[l.run]
	if r == nil || r.epoch != l.epoch {
		return true
	}
	if r.base+l.at > len(r.steps) {
		return false
	}
	r.steps = append(r.steps[:r.base+l.at], append([]int64{l.step}, r.steps[min(len(r.steps), r.base+l.at+1):]...)...)
	return true
}

// unsynced loses lines that came after the checkpoint of a run.
func (s *sim) unsynced(run string) {
	r := s.store.record[run]
	if r == nil {
		return
	}
	if kept := s.look(run); !kept.Phase.Over() {
		r.steps = slices.DeleteFunc(slices.Clone(r.steps), func(step int64) bool { return step > kept.step() && s.chance(70) })
		for i, step := range r.steps { // what is left has no hole
			if step != int64(i+1)*stride {
				r.steps = r.steps[:i]
				break
			}
		}
	}
}

// short reports whether an epoch's record lacks lines up to a step.
func (s *sim) short(from From, step int64) bool {
	r := s.store.record[from.Run]
	return r != nil && r.epoch == from.Epoch && int64(len(r.steps)) < step/stride
}

// end checks that every run ended well, and that nothing is left over.
func (s *sim) end() {
	c := s.acting().core
	for _, name := range s.unheard {
		s.complain("the submission of %s was never answered", name)
	}
	var want []int64
	for step := int64(stride); step <= total; step += stride {
		want = append(want, step)
	}
	for i := range c.Runs {
		r := &c.Runs[i]
		switch {
		case r.Phase == Stopped:
			s.halted(r)
		case r.Phase != Done:
			s.complain("run %s does not end: %s", r.Name, r.line())
		case r.Progress.Steps != total || r.step() != total:
			s.complain("run %s ended at %d, its checkpoint at %d", r.Name, r.Progress.Steps, r.step())
		case s.store.record[r.Name] == nil || !slices.Equal(s.store.record[r.Name].steps, want):
			s.complain("run %s has recorded %v", r.Name, s.store.record[r.Name])
		}
	}
	for _, w := range s.workers {
		if w.draining && !w.dead && c.Worker(w.name) != nil { // else it has not come to this coordinator yet
			s.complain("worker %s is to leave, and was never let go", w.name)
		}
		if w.job != nil && !w.job.done {
			s.complain("worker %s is still at %s/%d", w.name, w.job.Run, w.job.Epoch)
		}
	}
}

// halted checks that a run which has come to a consistent point can go on from where its
// record ends.
func (s *sim) halted(r *Run) {
	last := int64(0)
	if x := s.store.record[r.Name]; x != nil && len(x.steps) > 0 {
		last = x.steps[len(x.steps)-1]
	}
	if r.Progress.Halted && last != r.step() {
		s.complain("run %s stopped with a checkpoint of step %d, and has recorded up to %d", r.Name, r.step(), last)
	}
}

func (s *sim) tail() string {
	return strings.Join(s.log[max(0, len(s.log)-60):], "\n")
}

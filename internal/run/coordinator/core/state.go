package core

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/plan"
)

// State is all that a coordinator knows. It is plain data.
type State struct {
	Now     int64    `json:"now"`     // ticks
	Workers []Worker `json:"workers"` // workers, by name
	Runs    []Run    `json:"runs"`    // runs in the order of their submission
	Asking  *Asking  `json:"asking,omitempty"`
	Asked   int64    `json:"asked"` // number of the last question to the planner
	// Members counts changes of the set of free workers, so that the planner is not asked the same
	// question again.
	Members int64   `json:"members"`
	Links   []Link  `json:"links,omitempty"` // connections of which something bad is known
	Unfit   []Unfit `json:"unfit,omitempty"` // workers, likewise
	// Awaited are workers that were alive when this coordinator took over and have not
	// come to it yet.
	Awaited []string `json:"awaited,omitempty"`
}

// Worker is a process that has joined.
type Worker struct {
	Name     string   `json:"name"`
	Session  int64    `json:"session"`          // its connection
	Instance string   `json:"instance"`         // tells processes of the same name apart
	Holder   string   `json:"holder,omitempty"` // holder of its certificate
	Host     string   `json:"host"`
	Data     string   `json:"data"` // address of its data plane
	Cores    int      `json:"cores"`
	Memory   int64    `json:"memory,omitempty"`
	Devices  []string `json:"devices"`
	Binary   string   `json:"binary,omitempty"`   // hash of its program
	Platform string   `json:"platform,omitempty"` // platform that it runs programs of; empty if it takes none
	Guest    string   `json:"guest,omitempty"`    // address of the data plane of such programs
	Silent   bool     `json:"silent,omitempty"`   // connected, but silent
	Draining bool     `json:"draining,omitempty"` // it is to leave: no run is planned on it
	// Dismissed says that it was told that it may leave.
	Dismissed bool   `json:"dismissed,omitempty"`
	Run       string `json:"run,omitempty"` // run that it has a part in
}

// Phase is where a run's life stands.
type Phase string

// The phases of a run.
const (
	Waiting  Phase = "waiting"  // the run waits for workers or a plan
	Starting Phase = "starting" // its parts are being built
	Running  Phase = "running"
	Done     Phase = "done"
	Failed   Phase = "failed"
	Stopped  Phase = "stopped"
)

// Active reports whether workers are at it.
func (p Phase) Active() bool { return p == Starting || p == Running }

// Over reports whether nothing more will happen.
func (p Phase) Over() bool { return p == Done || p == Failed || p == Stopped }

// Run is a training run: what is kept of it.
type Run struct {
	Name   string `json:"name"`
	ID     string `json:"id"` // number of its submission
	Config string `json:"config"`
	Secret string `json:"secret,omitempty"` // seed of its epochs' secrets; not shown to clients
	Phase  Phase  `json:"phase"`
	// Why says, in a sentence, what it waits for or why it is over.
	Why string `json:"why,omitempty"`
	// Fault is the last failure of a part since a checkpoint was committed. The same one
	// again is the algorithm's own.
	Fault    string         `json:"fault,omitempty"`
	Faulty   int64          `json:"faulty,omitempty"`   // epoch that it was in
	FaultBy  string         `json:"faultby,omitempty"`  // worker that had the part
	Restarts int            `json:"restarts,omitempty"` // since a checkpoint was committed
	Vacated  int            `json:"vacated,omitempty"`  // parts, since then
	Epoch    int64          `json:"epoch"`
	Shards   int            `json:"shards,omitempty"` // shards of its last plan
	Most     int            `json:"most,omitempty"`   // workers that it grows to; 0 if it does not
	Plan     *plan.Plan     `json:"plan,omitempty"`   // plan of the epoch
	Members  []Member       `json:"members,omitempty"`
	Last     *part.Manifest `json:"last,omitempty"` // checkpoint that counts
	Progress part.Progress  `json:"progress"`
	History  []string       `json:"history,omitempty"` // log lines of the run, the newest last
	Told     int64          `json:"told"`              // how much that was in all
	Resumed  bool           `json:"resumed,omitempty"` // after it was over, and not planned since
	Halting  bool           `json:"halting,omitempty"` // it is to end at its next consistent point
	Handing  bool           `json:"handing,omitempty"` // its epoch is to end there, since a worker is to leave
	Program  string         `json:"program,omitempty"` // hash of the program that its workers have, or had last
	// Programs are the programs that the run brought, by platform; without any it runs on the
	// workers' own.
	Programs []part.Program `json:"programs,omitempty"`
	Before   string         `json:"before,omitempty"`  // hash of the one that they had, if it has just moved
	Refused  []string       `json:"refused,omitempty"` // hashes of programs that could not run it

	// What follows is of this coordinator alone.
	Until  int64    `json:"until,omitempty"`  // tick at which patience ends
	After  int64    `json:"after,omitempty"`  // tick before which it is not planned
	Later  bool     `json:"later,omitempty"`  // the planner has no answer yet
	Tried  int64    `json:"tried,omitempty"`  // state of the workers that was planned for in vain
	Former []string `json:"former,omitempty"` // workers of the last epoch, while it is being found out why it ended
	Next   *Next    `json:"next,omitempty"`   // plan to change to at the next checkpoint
	HaltBy int64    `json:"haltby,omitempty"` // tick at which patience with a halt ends
	Moves  int64    `json:"moves,omitempty"`  // tick from which on it may have workers of another program
	Vain   []string `json:"vain,omitempty"`   // programs that could not be planned on
	VainAt int64    `json:"vainat,omitempty"` // state of the workers then
}

// Member is a worker's part in an epoch.
type Member struct {
	Name    string `json:"name"`
	Session int64  `json:"session"`          // 0: the worker has not reported to a new coordinator yet
	Holder  string `json:"holder,omitempty"` // holder of its certificate: no other holder may claim the part
	Life    int64  `json:"life,omitempty"`   // how many had the part in this epoch before
	Vacant  bool   `json:"vacant,omitempty"` // no worker has it: the named one was the last
	Ready   bool   `json:"ready,omitempty"`
	Done    bool   `json:"done,omitempty"`
	// Fault is the failure of its own that the one before it ended with, and Faults how
	// many there were in a row: none of them lived for long. Others went on meanwhile.
	Fault  string `json:"fault,omitempty"`
	Faults int    `json:"faults,omitempty"`
	// Until is the tick at which patience with it ends, 0 if there is nothing to wait for.
	// It is of this coordinator alone.
	Until int64 `json:"until,omitempty"`
	After int64 `json:"after,omitempty"` // tick before which a vacant part is not assigned; likewise
	Begun int64 `json:"begun,omitempty"` // tick at which it was ready; likewise
	// Quiet are the members from which it receives nothing, although it is not silent itself;
	// likewise.
	Quiet []string `json:"quiet,omitempty"`
}

// Next is a better plan than the present one.
type Next struct {
	Plan    plan.Plan `json:"plan"`
	Workers []string  `json:"workers"`
}

// Asking is a question that the planner has not answered yet.
type Asking struct {
	Number  int64    `json:"number"`
	Run     string   `json:"run"`
	Workers []Member `json:"workers"`
	Grow    bool     `json:"grow,omitempty"` // the run goes on meanwhile
	// Without says of each worker that is left out why it is.
	Without []string `json:"without,omitempty"`
	Program string   `json:"program,omitempty"` // program of all workers
}

// ParseRun returns a run as it was kept, in JSON.
func ParseRun(text []byte) (r Run, err error) {
	if err := json.Unmarshal(text, &r); err != nil {
		return r, err
	}
	phases := []Phase{Waiting, Starting, Running, Done, Failed, Stopped}
	if r.Name == "" || !slices.Contains(phases, r.Phase) || r.Phase.Active() != (r.Plan != nil && len(r.Members) > 0) {
		return r, fmt.Errorf("run %q, which is %q, is incomplete", r.Name, r.Phase)
	}
	return r, nil
}

const history = 64

func (r *Run) remember(text string) {
	r.Told++
	r.History = append(slices.Clip(r.History), text)
	if len(r.History) > history {
		r.History = r.History[len(r.History)-history:]
	}
}

// owner returns the number of the member that has the replica that decides.
func (r *Run) owner() int {
	for i := range r.Members {
		if (part.Assignment{Plan: *r.Plan, Me: i}).Owner() {
			return i
		}
	}
	return 0
}

// member returns the part of a worker, or nil.
func (r *Run) member(name string) *Member {
	for i := range r.Members {
		if r.Members[i].Name == name {
			return &r.Members[i]
		}
	}
	return nil
}

// vacant reports whether no worker has a part.
func (r *Run) vacant() bool {
	return slices.ContainsFunc(r.Members, func(m Member) bool { return m.Vacant })
}

// whole reports whether every part has a worker that is connected.
func (r *Run) whole() bool { return !r.vacant() && r.missing(false) == nil }

// step returns the step of the last committed checkpoint.
func (r *Run) step() int64 {
	if r.Last == nil {
		return 0
	}
	return r.Last.Step
}

// rest says what is left of a run.
func (r *Run) rest() string {
	if r.Last == nil {
		return "there is no checkpoint of it"
	}
	return fmt.Sprintf("the checkpoint of step %d is good", r.Last.Step)
}

// Run returns the run of that name, or nil.
func (s *State) Run(name string) *Run {
	for i := range s.Runs {
		if s.Runs[i].Name == name {
			return &s.Runs[i]
		}
	}
	return nil
}

// Worker returns the worker of that name, or nil.
func (s *State) Worker(name string) *Worker {
	if i, ok := s.find(name); ok {
		return &s.Workers[i]
	}
	return nil
}

func (s *State) find(name string) (int, bool) {
	return slices.BinarySearchFunc(s.Workers, name, func(w Worker, name string) int { return strings.Compare(w.Name, name) })
}

// here returns the worker of a session, or nil if that is over.
func (s *State) here(name string, session int64) *Worker {
	if w := s.Worker(name); w != nil && w.Session == session {
		return w
	}
	return nil
}

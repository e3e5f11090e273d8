package core

import (
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/plan"
)

// Event is something that happened.
type Event interface{ happen(*Core) }

type (
	// Joined is a worker that has connected, for the first time or again.
	Joined struct {
		Worker Worker
		Doing  *Doing // part that the worker still has; nil is none
	}
	// Lost is a connection that is over.
	Lost struct {
		Name    string
		Session int64
	}
	// Silent reports a worker whose heartbeats have been missing for too long.
	Silent struct {
		Name    string
		Session int64
	}
	// Heard is a silent worker that speaks again.
	Heard struct {
		Name    string
		Session int64
	}
	// Tick is time that has passed.
	Tick struct{}
	// Submitted is a new run. The answer bears its ticket. The same submission, by its ID,
	// may come again.
	Submitted struct {
		Name, ID, Config string
		Programs         []part.Program // programs that it brings
		Ticket           int64
		// Again says that it is a run that is to go on, and from where, if it is not known.
		Again *part.Committed
		Split bool // then its environments may be split anew
		Lost  bool // then it goes on although lines of its record are lost
		Anew  bool // it is another run than the one that had its name, which left nothing
		// Secret is a random secret, for a run that has none yet.
		Secret string
	}
	// DeleteAsked is a run that is over and to be forgotten.
	DeleteAsked struct {
		Run    string
		Ticket int64
	}
	// StopAsked is a run that is no longer wanted: as soon as it can be saved, or now.
	StopAsked struct {
		Run    string
		Now    bool
		Ticket int64
	}
	// DrainAsked drains workers, which leave when their runs can go on without them: all of them,
	// or none if one is not there.
	DrainAsked struct {
		Workers []string
		Ticket  int64
	}
	// Leaving is a worker that asks for it itself.
	Leaving struct {
		Worker  string
		Session int64
	}
	// PlanMade is the planner's answer: replicas are on the workers in the order in
	// which it was given them.
	PlanMade struct {
		Asked int64
		Plan  plan.Plan
	}
	// PlanFailed is the planner's other answer. Short says that more workers might help, Later that
	// there is no answer yet: PlanThere follows.
	PlanFailed struct {
		Asked int64
		Why   string
		Short bool
		Later bool
	}
	// PlanThere says that the planner can answer about a run for which it could not yet.
	PlanThere struct{ Run string }
	// PartReady is a part that is built.
	PartReady struct{ From }
	// PartFailed is a part that failed.
	PartFailed struct {
		From
		Error string
		User  bool // another attempt would end the same way
		Peer  bool // it is another part's failure, seen from here
		Fault
	}
	// PartDone is a part that was done to its end.
	PartDone struct {
		From
		Progress part.Progress
	}
	// Committing is a checkpoint that is complete and is to count.
	Committing struct {
		From
		Manifest part.Manifest
		Ticket   int64
	}
	// Progressed is where a run stands.
	Progressed struct {
		From
		Progress part.Progress
	}
	// Quiet reports that a part has received nothing from some workers of its epoch for a while.
	// They do not count as lost yet. An empty list means that the part receives from all of them
	// again.
	Quiet struct {
		From
		Workers []string
	}
	// RecordLost is a record that the coordinator cannot keep, such as on a full disk.
	RecordLost struct{ Run, Why string }
	// RecordGap is a record that lacks lines of an epoch, which no worker sends again: such
	// as after the coordinator's machine was lost with what was not on its disk.
	RecordGap struct {
		Run   string
		Epoch int64
		Why   string
	}
	// Loaded carries the state that an earlier coordinator left, and the workers whose leases have
	// not expired.
	Loaded struct {
		Runs  []Run
		Alive []string
	}
)

// Fault says what a part's failure is to be blamed on, beside the part itself.
type Fault struct {
	// Node says that it is the worker's machine that failed, as one that cannot write to the store:
	// another worker may do it.
	Node bool `json:"node,omitempty"`
	// Program says that the worker cannot run the program that the run brought: another worker may,
	// and this one may carry other runs out.
	Program bool `json:"program,omitempty"`
	// Unreached are workers to which the part could not open a connection, Broken those whose
	// connection to it broke.
	Unreached []string `json:"unreached,omitempty"`
	Broken    []string `json:"broken,omitempty"`
	// Late are workers that can be reached and had not built their parts in time.
	Late []string `json:"late,omitempty"`
}

// From is the part that something comes from.
type From struct {
	Worker  string
	Session int64
	Run     string
	Epoch   int64
	Life    int64
}

// Doing is a worker's own report of its current part.
type Doing struct {
	Run      string        `json:"run"`
	Epoch    int64         `json:"epoch"`
	Life     int64         `json:"life,omitempty"`
	Ready    bool          `json:"ready,omitempty"`
	Done     bool          `json:"done,omitempty"`
	Error    string        `json:"error,omitempty"`
	User     bool          `json:"user,omitempty"`
	Peer     bool          `json:"peer,omitempty"`
	Fault    Fault         `json:"fault,omitzero"`
	Progress part.Progress `json:"progress"`
}

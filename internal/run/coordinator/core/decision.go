package core

import (
	"fmt"
	"strings"

	"github.com/weft-rl/weft/internal/run/part"
)

// Decision is something to do. Its text is for logs and tests.
type Decision interface{ String() string }

type (
	// Persist keeps a run. Nothing that follows may be done unless that worked.
	Persist struct{ Run Run }
	// Forget gives up what is kept of a run.
	Forget struct{ Run string }
	// Welcome lets a worker in.
	Welcome struct {
		Worker  string
		Session int64
	}
	// Refuse does not.
	Refuse struct {
		Worker  string
		Session int64
		Why     string
	}
	// MakePlan asks the planner. Shards are those that the run has had, 0 if it has not
	// been planned yet; whether they may be others now is the planner's to know.
	MakePlan struct {
		Asked  int64
		Run    string
		Config string
		// Programs lists those that the run brought; without any it is the coordinator's own.
		Programs []part.Program
		Workers  []Worker
		Shards   int
	}
	// Rewind takes back what was recorded after a step, before an epoch begins.
	Rewind struct {
		Run   string
		Epoch int64
		Step  int64 // -1: the run begins
		// Evaluated says that the evaluation of the step itself stays.
		Evaluated bool
		Size      int64 // bytes that stay of the record; 0 is unknown
	}
	// Assign hands a worker its part.
	Assign struct {
		Session    int64
		Assignment part.Assignment
	}
	// Start lets a part that is ready begin: all others are ready as well.
	Start struct{ From }
	// Halt tells the part that decides to end the run at its next consistent point, with a
	// checkpoint. It may be told several times.
	Halt struct{ From }
	// Drain tells a worker that it is to leave, which it does when it is dismissed.
	Drain struct {
		Worker  string
		Session int64
	}
	// Dismiss lets a worker leave that is to: no run needs it.
	Dismiss struct {
		Worker  string
		Session int64
	}
	// Abort ends a part.
	Abort struct {
		From
		Why string
	}
	// Answer tells a worker what became of its checkpoint.
	Answer struct {
		Worker  string
		Session int64
		Ticket  int64
		Err     string
		Run     string
	}
	// Reply tells a client what became of its wish.
	Reply struct {
		Ticket int64
		Err    string
	}
	// Tell tells the user.
	Tell struct{ Run, Text string }
)

func (d Persist) String() string {
	return fmt.Sprintf("persist %s: %s, epoch %d, step %d", d.Run.Name, d.Run.Phase, d.Run.Epoch, d.Run.step())
}

func (d Forget) String() string  { return "forget " + d.Run }
func (d Welcome) String() string { return fmt.Sprintf("welcome %s#%d", d.Worker, d.Session) }
func (d Refuse) String() string  { return fmt.Sprintf("refuse %s#%d: %s", d.Worker, d.Session, d.Why) }

func (d MakePlan) String() string {
	var names []string
	for _, w := range d.Workers {
		names = append(names, w.Name)
	}
	return fmt.Sprintf("plan %s (%d) on %s, %d shards", d.Run, d.Asked, strings.Join(names, " "), d.Shards)
}

func (d Rewind) String() string { return fmt.Sprintf("rewind %s/%d to %d", d.Run, d.Epoch, d.Step) }

func (d Assign) String() string {
	a := d.Assignment
	from := int64(-1)
	if a.From != nil {
		from = a.From.Step
	}
	to := From{a.Workers[a.Me].Name, d.Session, a.Run, a.Epoch, a.Life}
	return fmt.Sprintf("assign %s part %d of %d from %d", to, a.Me, len(a.Workers), from)
}

func (d Start) String() string { return "start " + d.From.String() }
func (d Halt) String() string  { return "halt " + d.From.String() }
func (d Drain) String() string { return fmt.Sprintf("drain %s#%d", d.Worker, d.Session) }

func (d Dismiss) String() string { return fmt.Sprintf("dismiss %s#%d", d.Worker, d.Session) }

func (d Abort) String() string { return fmt.Sprintf("abort %s: %s", d.From, d.Why) }

// String returns a part, with the worker that has it.
func (f From) String() string {
	text := fmt.Sprintf("%s#%d: %s/%d", f.Worker, f.Session, f.Run, f.Epoch)
	if f.Life > 0 {
		text += fmt.Sprintf(".%d", f.Life)
	}
	return text
}

func (d Answer) String() string {
	return fmt.Sprintf("answer %s#%d ticket %d: %s", d.Worker, d.Session, d.Ticket, verdict(d.Err))
}

func (d Reply) String() string { return fmt.Sprintf("reply %d: %s", d.Ticket, verdict(d.Err)) }
func (d Tell) String() string  { return fmt.Sprintf("tell %s: %s", d.Run, d.Text) }

func verdict(err string) string {
	if err == "" {
		return "yes"
	}
	return "no: " + err
}

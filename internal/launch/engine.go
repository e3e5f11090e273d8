package launch

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// Engine is a scheduler that hands machines to jobs, such as Slurm. A job of an engine is a weft
// command that leads a run: it asks the engine for the job's Allocation, launches a cluster on
// that, and trains. An engine is a folder below this one, and a line in the table of the command
// line.
type Engine interface {
	// Check returns the engine's version. Its error says what is missing on this machine.
	Check(ctx context.Context) (version string, err error)
	// Script returns the text that Submit hands to the engine. It needs no engine.
	Script(j Job) (string, error)
	// Submit submits a job and returns the engine's name of it.
	Submit(ctx context.Context, j Job) (id string, err error)
	// Look returns where a job stands.
	Look(ctx context.Context, id string) (Standing, error)
	// Interrupt asks the leading command of a job to save its run and to end. A job that has not
	// begun is removed.
	Interrupt(ctx context.Context, id string) error
	// Allocation returns the machines that this process may start workers on, or nil if it is not
	// part of a job.
	Allocation(ctx context.Context) (*Allocation, error)
}

// Job says what an engine is to run.
type Job struct {
	Name    string
	Program string   // path of the binary, which all machines see
	Args    []string // its arguments
	Dir     string   // working folder
	Nodes   int      // machines; 0 leaves that to the engine
	Workers int      // worker processes; 0 is one for each machine
	Options []Option // further options, in the engine's own words
}

// Option is an option of an engine.
type Option struct{ Key, Value string }

var optionKey = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// ParseOption reads an option as it is written after a flag: key=value, or a key alone.
func ParseOption(flag, text string) (o Option, err error) {
	o.Key, o.Value, _ = strings.Cut(text, "=")
	if !optionKey.MatchString(o.Key) || strings.ContainsAny(text, "\n\r") {
		return o, fmt.Errorf("--%s: %q is not of the form key=value", flag, text)
	}
	return o, nil
}

// Standing says where a job stands.
type Standing struct {
	Phase Phase
	Text  string // the engine's own words, such as PENDING (Priority)
	Log   string // file of the leading command's output, if the engine knows
}

// Phase is a stage of a job's life.
type Phase int

// The phases of a job. A job that is requeued waits again.
const (
	Waiting Phase = iota
	Running
	Over
)

// Allocation describes the machines that an engine gave a job.
type Allocation struct {
	Job      string   // the engine's name of the job
	Host     string   // address of this machine at which the workers reach it
	Slots    []Slot   // one for each worker
	Restarts int      // how often the engine started the job before
	Launcher Launcher // launcher that starts the i-th worker of a Spec in the i-th slot
	// Limit is the signal that the engine sends before the job's time is over; nil if it sends
	// none.
	Limit os.Signal
	// Requeue has the engine end the job and start it again later.
	Requeue func(context.Context) error
}

// Slot is the place of one worker.
type Slot struct {
	Node    string  // the engine's name of the machine
	Address string  // address at which other machines reach it
	Cores   int     // cores for the worker; 0 is all
	Memory  float64 // GiB for the worker; 0 is unknown
}

package launch

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Engine is a scheduler that hands machines to jobs, such as Slurm. A job of an engine is a weft
// command that leads a run: it asks the engine for the job's Allocation, launches a cluster on
// that, and trains. An engine is a folder below this one, and a line in the table of the command
// line.
type Engine interface {
	// Check returns the engine's version, of the one that options name if they do. Its error
	// says what is missing on this machine.
	Check(ctx context.Context, options ...Option) (version string, err error)
	// Script returns the text that Submit hands to the engine. It needs no engine.
	Script(j Job) (string, error)
	// Submit submits a job and returns the engine's name of it.
	Submit(ctx context.Context, j Job) (id string, err error)
	// Look returns where a job stands.
	Look(ctx context.Context, id string) (Standing, error)
	// Interrupt asks the leading command of a job to save its run and to end. A job that has
	// not begun is removed.
	Interrupt(ctx context.Context, id string) error
	// Allocation returns the machines that this process may start workers on, or nil if it is
	// not part of a job. An engine that gave the job its machines already takes those, whatever
	// j says; another one is asked for them now.
	Allocation(ctx context.Context, j Job) (*Allocation, error)
}

// Arrays is an engine that takes the jobs of several seeds as one.
type Arrays interface {
	// Element returns the engine's name of the i-th job of those that were submitted as one.
	Element(id string, i int) string
}

// Stepper is an engine that runs a command in a slot of the allocation of this process.
type Stepper interface {
	// Step returns the words before a command that have it run there, to its end or until it is
	// sent SIGTERM. Name is what the engine is to call it.
	Step(a *Allocation, slot int, name string) []string
}

// Seed stands in the arguments and the folder of a Job of several seeds for the seed of each.
const Seed = "{seed}"

// Alone returns the job of one seed of several.
func (j Job) Alone(seed uint64) Job {
	fill := strings.NewReplacer(Seed, fmt.Sprint(seed))
	j.Args = slices.Clone(j.Args)
	for i, a := range j.Args {
		j.Args[i] = fill.Replace(a)
	}
	j.Name, j.Run, j.Seeds = fmt.Sprintf("%s-seed%d", j.Name, seed), fill.Replace(j.Run), nil
	return j
}

// Job says what an engine is to run.
type Job struct {
	Name    string
	Program string   // path of the binary, which all machines see
	Args    []string // its arguments
	Dir     string   // working folder
	Run     string   // folder of the run
	Config  []byte   // configuration of the run, for a Distant engine
	Nodes   int      // machines; 0 leaves that to the engine
	Workers int      // worker processes; 0 is one for each machine
	Most    int      // worker processes that the run may grow to as machines come; 0 is no more
	Seeds   []uint64 // seeds of several jobs that are alike otherwise; nil is one job
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

// Quote returns a word as the shell reads it.
func Quote(word string) string {
	plain := func(r rune) bool {
		return r < 128 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,@%+", r))
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
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
	Least    int      // slots that have a machine when the run begins, others may get one later; 0 is all
	Restarts int      // how often the engine started the job before
	Launcher Launcher // launcher that starts the i-th worker of a Spec in the i-th slot
	// Limit is the signal that the engine sends before the job's time is over; nil if it sends
	// none.
	Limit os.Signal
	// Requeue has the engine end the job and start it again later.
	Requeue func(context.Context) error
	// Drains calls drain for each slot whose machine is about to leave, and returns when ctx is
	// done; nil if the engine does not tell.
	Drains func(ctx context.Context, drain func(slot int))
	// Serve runs workers for the job's leading command, which is another one, and returns when the
	// job is over or ctx is done; nil in the leading command.
	Serve func(ctx context.Context) error
	// Certs is the folder of the certificates of the job's processes; empty is job/certs of the
	// run's folder.
	Certs string
	Args  []string // further arguments of the coordinator
}

// Slot is the place of one worker.
type Slot struct {
	Node    string   // the engine's name of the machine
	Address string   // address at which other machines reach it; empty if the worker is to find out
	Cores   int      // cores for the worker; 0 is all
	Memory  float64  // GiB for the worker; 0 is unknown
	Args    []string // further arguments of the worker
}

// Distant is an engine whose machines do not see the files of this one. The command brings its
// configuration along, its program is there already, and what happens to the run is told by what
// the leading command prints.
type Distant interface {
	// ConfigFile returns the path at which the leading command finds the configuration of a Job.
	ConfigFile() string
	// Output calls line for each line that the leading command of a job has printed. With follow
	// it goes on, also with commands that are started in its place, until the job is over or ctx is
	// done.
	Output(ctx context.Context, id string, follow bool, line func(string)) error
}

// Package launch starts clusters. A cluster is a coordinator and workers, all the same program; a
// Launcher starts them on machines of one kind, says where the coordinator listens, starts again
// what dies, and ends all of them.
//
// What to start is data: a Spec, which a launcher may hand to a scheduler as it is. Where a process
// can know an address only when it starts, its arguments have a placeholder. A launcher is a folder
// below this one, and a line in the table of the command line; launchtest holds the tests that it
// must pass.
//
// What only child processes have, signals above all, belongs to package local and not to the
// interface.
package launch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// Launcher starts clusters on machines of one kind.
type Launcher interface {
	// Launch starts the processes of a spec, and returns when the coordinator listens. The workers
	// may not have joined it yet. Until Stop, processes that end are started again, whether ctx is
	// done or not. If Launch fails it has ended whatever it started.
	Launch(ctx context.Context, s Spec) (Cluster, error)
}

// Spec says what the processes of a cluster are.
type Spec struct {
	Program     string   // path of the binary that all of them run
	Env         []string // variables, KEY=VALUE, beside those of this process
	Dir         string   // working folder; empty: that of this process
	Coordinator Task
	Workers     []Task
}

// Task says what one process of a cluster is.
type Task struct {
	Name string   // unique in the cluster
	Wrap []string // command that the program is an argument of, as in ip netns exec NAME; may be empty
	Args []string // arguments of the program, with Listen and Join where an address belongs
}

// Placeholders in the arguments of tasks.
const (
	Listen = "{listen}" // an address at which the coordinator can listen, the same one whenever it is started again
	Join   = "{join}"   // the address at which workers find the coordinator
)

// Cluster is a coordinator and workers that run. Its methods may be called by several goroutines.
type Cluster interface {
	// Address returns the address at which the coordinator is found. It stays the same.
	Address() string
	// Members returns all processes, the coordinator's first, then the workers' in the order of the
	// spec.
	Members() []Member
	// Failed returns a channel that receives an Unsteady when a process does not stay alive and is
	// given up.
	Failed() <-chan error
	// Stop asks all processes to end, and returns when they have. When ctx is done, those that are
	// left are killed.
	Stop(ctx context.Context) error
}

// Member is a process of a cluster, and those that are started in its place.
type Member interface {
	Name() string
	State() State
	// Changed returns a channel that is closed when the process starts or ends the next time.
	Changed() <-chan struct{}
	// Leave asks the process to end, and has none started in its place before Return.
	Leave()
	Return()
	// Tail returns the end of what the process, or if none runs the last one, wrote to standard
	// error.
	Tail() string
}

// Unsteady is the error of a process that does not stay alive.
type Unsteady struct {
	Member string
	Why    error // why its last process ended
}

// Error implements error.
func (u Unsteady) Error() string {
	return fmt.Sprintf("the %s does not stay alive: %v", u.Member, u.Why)
}

// Unwrap returns why the last process ended.
func (u Unsteady) Unwrap() error { return u.Why }

// State says where a member stands.
type State struct {
	Running bool
	Starts  int // processes so far, the running one included
}

// Listening is the line of JSON by which a coordinator says on its standard output where it
// listens.
type Listening struct {
	Event   string `json:"event"` // always "listening"
	Address string `json:"address"`
}

// NewListening returns the event of a coordinator that listens at an address.
func NewListening(address string) Listening { return Listening{"listening", address} }

// ReadListening returns the address in a line that a coordinator printed; ok is false if the line
// says something else.
func ReadListening(line string) (address string, ok bool) {
	var e Listening
	if json.Unmarshal([]byte(line), &e) != nil || e != NewListening(e.Address) {
		return "", false
	}
	return e.Address, true
}

// Command returns the command line of a task, with addresses in the place of placeholders.
func (s Spec) Command(t Task, listen, join string) (line []string) {
	fill := strings.NewReplacer(Listen, listen, Join, join)
	line = append(append(line, t.Wrap...), s.Program)
	for _, a := range t.Args {
		line = append(line, fill.Replace(a))
	}
	return line
}

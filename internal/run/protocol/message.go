// Package protocol defines the messages between coordinators, workers and clients, their encoding,
// and the gRPC service that carries them. A message is a JSON object, which may have a tail of raw
// bytes.
package protocol

import (
	"time"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/part"
)

// Version is that of the protocol. Who speaks another one is refused.
const Version = 3

// MaxMessage bounds a message, before anything is allocated for it.
const MaxMessage = 16 << 20

// maxUp bounds a message to a coordinator. It is smaller than an assignment may be, since a client
// may send many at once.
const maxUp = 2 << 20

// Hello is how a worker introduces itself.
type Hello struct {
	Version  int         `json:"version"`
	Binary   string      `json:"binary"`             // hash of the program
	Platform string      `json:"platform,omitempty"` // platform that it runs programs of; empty if it takes none
	Guest    string      `json:"guest,omitempty"`    // address of the data plane of such programs
	Name     string      `json:"name"`
	Instance string      `json:"instance"` // tells processes of the same name apart
	Host     string      `json:"host"`
	Data     string      `json:"data"` // address of its data plane
	Cores    int         `json:"cores"`
	Memory   int64       `json:"memory"`
	Devices  []string    `json:"devices"`
	Doing    *core.Doing `json:"doing,omitempty"`    // part that it still has
	Draining bool        `json:"draining,omitempty"` // it is to leave
	Shared   *Shared     `json:"shared,omitempty"`   // its store; nil skips the check that workers share it
}

// Shared describes a worker's store, which must be the one of all workers.
type Shared struct {
	Place string `json:"place"`          // its address, as the worker names it
	Mark  string `json:"mark,omitempty"` // found in it when a coordinator last asked
}

// Kind is the kind of a message.
type Kind string

// What a worker says.
const (
	KindHello  Kind = "hello"
	KindBeat   Kind = "beat" // it is alive; with where its run stands, if it knows
	KindReady  Kind = "ready"
	KindCommit Kind = "commit"
	KindRecord Kind = "record" // its tail are lines of the run's record
	KindNote   Kind = "note"
	KindDone   Kind = "done"
	KindFailed Kind = "failed"
	KindMark   Kind = "mark"  // its text is the mark that it left or found in its store
	KindLeave  Kind = "leave" // it is to leave, and waits to be dismissed
)

// What a coordinator says; it beats as well.
const (
	KindWelcome Kind = "welcome"
	KindRefused Kind = "refused"
	KindAssign  Kind = "assign" // its tail is the assignment
	KindStart   Kind = "start"
	KindHalt    Kind = "halt" // stop at the next consistent point
	KindAbort   Kind = "abort"
	KindLook    Kind = "look"    // look for the mark in the store, or leave one there, if there is a text
	KindDrain   Kind = "drain"   // it is to leave
	KindDismiss Kind = "dismiss" // the worker may leave: no run needs it
	KindAck     Kind = "ack"     // acknowledge what has a sequence number
)

// Up is a message of a worker.
type Up struct {
	Kind     Kind           `json:"kind"`
	Seq      int64          `json:"seq,omitempty"` // number of a message that is to be acknowledged
	Run      string         `json:"run,omitempty"`
	Epoch    int64          `json:"epoch,omitempty"`
	Life     int64          `json:"life,omitempty"` // part.Assignment has its meaning
	Hello    *Hello         `json:"hello,omitempty"`
	Manifest *part.Manifest `json:"manifest,omitempty"`
	Progress *part.Progress `json:"progress,omitempty"`
	Quiet    []string       `json:"quiet,omitempty"`  // workers that have been silent for the part for a while, in a heartbeat
	Offset   int64          `json:"offset,omitempty"` // position of a record's tail among the epoch's lines; their end, when a part is done
	Text     string         `json:"text,omitempty"`   // note or error
	User     bool           `json:"user,omitempty"`   // see core.PartFailed, in an error
	Peer     bool           `json:"peer,omitempty"`
	Fault    core.Fault     `json:"fault,omitzero"`
	Tail     []byte         `json:"-"`
}

// Down is a message of a coordinator.
type Down struct {
	Kind  Kind   `json:"kind"`
	Seq   int64  `json:"seq,omitempty"`
	Run   string `json:"run,omitempty"`
	Epoch int64  `json:"epoch,omitempty"`
	Life  int64  `json:"life,omitempty"`
	Me    int    `json:"me,omitempty"`    // number of the part, in an assignment
	Text  string `json:"text,omitempty"`  // why; of an ack: why not
	Again bool   `json:"again,omitempty"` // a later attempt may succeed, in a refusal
	Tail  []byte `json:"-"`
}

// Submit asks for a run.
type Submit struct {
	Version int    `json:"version"`
	Name    string `json:"name"`
	ID      string `json:"id"` // number of this request, which may be sent again
	Config  string `json:"config"`
	// Programs are the programs that the run brings, which were staged before. A run that is
	// resumed without any goes on with those that it brought.
	Programs []part.Program `json:"programs,omitempty"`
	Resume   bool           `json:"resume,omitempty"` // a run of that name that is over is to go on
	Split    bool           `json:"split,omitempty"`  // then its environments may be split anew
	Lost     bool           `json:"lost,omitempty"`   // it goes on although lines of its record are lost
	Begin    bool           `json:"begin,omitempty"`  // the run may begin again if none of its checkpoints was committed
}

// Named asks about a run, or for something to be done with it. An empty name is all
// runs, where that makes sense.
type Named struct {
	Version int           `json:"version"`
	Run     string        `json:"run"`
	Workers []string      `json:"workers,omitempty"` // workers to drain
	Follow  bool          `json:"follow,omitempty"`  // send logs until the run is over
	Program *part.Program `json:"program,omitempty"` // program to fetch
	Now     bool          `json:"now,omitempty"`     // stop at once, and give up what was done since the last checkpoint
}

// OK answers what was done.
type OK struct {
	Text string `json:"text,omitempty"` // instructions for what is left to do
}

// Compacted holds the sizes of a coordinator's state on disk, before and after compacting.
type Compacted struct {
	Before int64 `json:"before"` // bytes
	After  int64 `json:"after"`
}

// Deed is an entry of the audit log: one request to a coordinator.
type Deed struct {
	Time    time.Time `json:"time"`
	Who     string    `json:"who,omitempty"` // name in the caller's certificate
	From    string    `json:"from"`          // address
	What    string    `json:"what"`          // submit, resume, stop, delete, drain or compact
	Run     string    `json:"run,omitempty"`
	Worker  string    `json:"worker,omitempty"`
	How     string    `json:"how,omitempty"`
	Refused string    `json:"refused,omitempty"` // why it was not done
}

// Deeds are the newest of an audit, the oldest of them first.
type Deeds struct {
	All []Deed `json:"all"`
}

// Status is a coordinator's report of its runs and workers.
type Status struct {
	Coordinator string        `json:"coordinator"`        // its address
	Platform    string        `json:"platform,omitempty"` // platform of the programs that it plans runs with; empty if it takes none
	Workers     []core.Worker `json:"workers"`
	Runs        []core.Run    `json:"runs"`
	LeftOut     []string      `json:"left_out,omitempty"` // links and workers that no plan uses for now, and why
}

// Stage is a piece of a program that a client hands over. The first message says what program it
// is, and has no bytes of it.
type Stage struct {
	Version int           `json:"version,omitempty"`
	Program *part.Program `json:"program,omitempty"`
	Tail    []byte        `json:"-"`
}

// Chunk is a piece of a log, of a record or of a program.
type Chunk struct {
	Tail []byte `json:"-"`
}

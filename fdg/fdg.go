// Package fdg is the fragmented dataflow graph of a training loop, as plain
// data: what the analyser found in the source, and what policies, the projector
// and the planner read.
//
// A graph has three layers. The structure is a tree: regions hold nodes in
// program order, and loops and branches are nodes that open further regions. The
// dependences are edges between nodes: values by where they were made and where
// they are used, resources (the state that operations share) by who wrote what
// another reads, conditions by what decides a branch. The partition is a list of
// fragments, each the owner of nodes and the home of resources; edges between
// two fragments are what may have to travel.
//
// Everything is listed in program order and numbered from 0, so that two
// analyses of one source are equal to the byte. Check says whether a graph keeps
// the promises made here.
package fdg

import "fmt"

// Version is that of the JSON form. It changes when a reader of the old one
// would misread the new one.
const Version = 1

// Graph is a training loop as data.
type Graph struct {
	Version   int        `json:"version"`
	Name      string     `json:"name"`    // import path of the author's package
	Train     string     `json:"train"`   // the function that was analysed
	Pos       Pos        `json:"pos"`     // position of that function
	Regions   []Region   `json:"regions"` // the first one is the function's body
	Nodes     []Node     `json:"nodes"`
	Edges     []Edge     `json:"edges"`
	Resources []Resource `json:"resources"`
	Fragments []Fragment `json:"fragments"`
	// Conditions lists the branches whose condition another fragment computes.
	Conditions []Condition `json:"conditions,omitempty"`
}

// Pos is a place in the source. File is the base name: a graph does not depend
// on where its package lies.
type Pos struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Col  int    `json:"col"`
}

func (p Pos) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Kind is a kind of node.
type Kind string

// The kinds. Those up to Prioritise are operations on components.
const (
	Observe  Kind = "observe"  // the environments' last observation
	Step     Kind = "step"     // one step of every environment
	Call     Kind = "call"     // a graph function on a batch
	Gradient Kind = "gradient" // the derivative of a loss
	Apply    Kind = "apply"    // one step of an optimiser
	Blend    Kind = "blend"    // parameters moved towards others
	Insert   Kind = "insert"   // into a rollout or a table
	Drain    Kind = "drain"    // what a rollout holds, emptying it
	Sample   Kind = "sample"   // a draw from a table or a data set
	Get      Kind = "get"      // memory that outlives an iteration
	Set      Kind = "set"      // replaces it
	Update   Kind = "update"   // an update of running statistics
	Read     Kind = "read"     // a number or a copy out of a component
	Op       Kind = "op"       // an author's own operation

	Prioritise Kind = "prioritise" // rows of a table, for later draws

	Batch   Kind = "batch"   // arithmetic on batches: the vocabulary's functions
	Value   Kind = "value"   // a tensor as a Go number that control may depend on
	Log     Kind = "log"     // a record; it feeds nothing
	Compute Kind = "compute" // a Go statement

	Next     Kind = "next"     // the loop over iterations
	Loop     Kind = "loop"     // any other loop
	Branch   Kind = "branch"   // if, else, switch
	Break    Kind = "break"    // leaves the loop around it
	Continue Kind = "continue" // begins its next round
	Return   Kind = "return"   // leaves the function
)

// control are the kinds that belong to no fragment: every one that has something
// inside repeats them.
var control = map[Kind]bool{Next: true, Loop: true, Branch: true, Break: true, Continue: true, Return: true}

// Control reports whether a node of this kind is part of the structure rather
// than of the work.
func (k Kind) Control() bool { return control[k] }

// Axis names an axis that a batch may be split along.
type Axis string

// The axes. None is of scalars and of what is whole wherever it is.
const (
	None         Axis = "none"
	Environments Axis = "environments"
	Agents       Axis = "agents"
	Members      Axis = "members"
	Rows         Axis = "rows" // rows of a learner's batch
)

// Node is one operation, one Go statement or one piece of control flow.
type Node struct {
	ID   int    `json:"id"`
	Kind Kind   `json:"kind"`
	Op   string `json:"op,omitempty"`   // the vocabulary's name, as rl.Func.Call
	Name string `json:"name,omitempty"` // the variable or component that tells it apart
	Text string `json:"text"`           // the source, on one line
	Pos  Pos    `json:"pos"`
	// Calls are the places of the calls that were read through, outermost first.
	Calls  []Pos `json:"calls,omitempty"`
	Region int   `json:"region"`          // where it stands
	Opens  []int `json:"opens,omitempty"` // regions inside it: a loop's body, a branch's arms
	// Fragment that owns it; empty for control flow and for what every fragment
	// computes for itself.
	Fragment string `json:"fragment,omitempty"`
	Freq     Freq   `json:"freq"`
	// Whole is true when a row of the result may depend on other rows.
	Whole bool `json:"whole,omitempty"`
	// Shards says what replicas do that have some of the rows: own, where the
	// operation finds theirs itself; even, where each takes an even share of the
	// result; all, where each does all of it; or nothing special.
	Shards string `json:"shards,omitempty"`
	Turns  bool   `json:"turns,omitempty"`  // it can be called on a part of the rows at a time
	Axis   Axis   `json:"axis"`             // axis of its result
	Shape  string `json:"shape,omitempty"`  // shape of its result, if known
	Reads  []int  `json:"reads,omitempty"`  // resources
	Writes []int  `json:"writes,omitempty"` // resources
	Impl   Impl   `json:"impl,omitempty"`   // how the work is written
}

// Impl is a way in which a piece of work exists.
type Impl string

// The implementations.
const (
	Host    Impl = "host"  // Go
	GraphFn Impl = "graph" // a graph function, on any device
)

// Region is a list of nodes in program order.
type Region struct {
	ID    int    `json:"id"`
	Node  int    `json:"node"`            // node that opens it; -1 for the function's body
	Label string `json:"label,omitempty"` // label of a branch's arm: then, else, the case
	Nodes []int  `json:"nodes"`
}

// Freq is how often something happens: once for every round of all the loops
// around it, outermost first, and less where a branch stands between.
type Freq struct {
	Loops []int `json:"loops,omitempty"` // nodes
	Maybe bool  `json:"maybe,omitempty"`
}

// Dependence is a kind of dependence.
type Dependence string

// The dependences.
const (
	OfValue    Dependence = "value"
	OfResource Dependence = "resource"
	OfControl  Dependence = "control" // a value that decides a branch or a loop
)

// Edge says that To uses what From made.
type Edge struct {
	ID       int        `json:"id"`
	Kind     Dependence `json:"kind"`
	From     int        `json:"from"`
	Part     string     `json:"part,omitempty"` // part of From's result: a result, a field
	To       int        `json:"to"`
	Into     string     `json:"into,omitempty"` // argument of To
	Resource int        `json:"resource"`       // -1 for a value
	// Carried is the loop whose next round sees it; -1 within one round.
	Carried int    `json:"carried"`
	Type    string `json:"type,omitempty"` // Go type of a value
	Axis    Axis   `json:"axis"`
	Shape   string `json:"shape,omitempty"`
	Freq    Freq   `json:"freq"` // how often it has to travel if the two are apart
}

// Sharing says how fragments may share a resource.
type Sharing string

// The ways. Readers elsewhere get versioned copies of what is copyable; on what
// is pinned every operation runs at home.
const (
	Copyable Sharing = "copyable"
	Pinned   Sharing = "pinned"
)

// Resource is state that operations share.
type Resource struct {
	ID      int     `json:"id"`
	Name    string  `json:"name"`
	Kind    string  `json:"kind"` // weights, optimiser, environments, episodes, slots, rollout, table, statistics, component
	Type    string  `json:"type"`
	Axis    Axis    `json:"axis"`
	Sharing Sharing `json:"sharing"`
	Home    string  `json:"home"` // fragment
	Pos     Pos     `json:"pos"`  // where it is made
	// Family is true when it stands for one of several alike, by member.
	Family bool   `json:"family,omitempty"`
	Part   string `json:"part,omitempty"`   // part of a component, if it is not all of it
	Large  bool   `json:"large,omitempty"`  // too large to be copied into a graph for a call
	Steady bool   `json:"steady,omitempty"` // a device writes it equally often in every iteration
}

// Fragment is a part of the loop that a policy places as one.
type Fragment struct {
	Name      string `json:"name"`
	Group     string `json:"group"` // environment, actor, replay or learner
	Nodes     []int  `json:"nodes"`
	Resources []int  `json:"resources,omitempty"` // resources that are at home here
	Entries   []Port `json:"entries,omitempty"`
	Exits     []Port `json:"exits,omitempty"`
	Impls     []Impl `json:"impls,omitempty"` // implementations that all its work has
}

// Operator is a way to carry an edge between replicas.
type Operator string

// The operators.
const (
	Send      Operator = "send"
	Scatter   Operator = "scatter"
	Gather    Operator = "gather"
	Broadcast Operator = "broadcast"
	AllGather Operator = "all-gather"
	Reduce    Operator = "reduce"
	AllReduce Operator = "all-reduce"
)

// Port is a value that crosses between two fragments in one form: edges that share what
// they carry.
type Port struct {
	Peer      string     `json:"peer"`
	Kind      Dependence `json:"kind"`
	Name      string     `json:"name"`
	Edges     []int      `json:"edges"`
	Type      string     `json:"type,omitempty"`
	Axis      Axis       `json:"axis"`
	Freq      Freq       `json:"freq"`
	Operators []Operator `json:"operators"`
	// Blocking is false where the receiver need not wait: what is only logged.
	Blocking bool `json:"blocking"`
}

// Condition is a branch or loop that a fragment decides and others follow.
type Condition struct {
	Node    int      `json:"node"`
	Owner   string   `json:"owner"`
	Readers []string `json:"readers"`
	Freq    Freq     `json:"freq"`
}

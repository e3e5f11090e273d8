package plan

import (
	"github.com/weft-rl/weft/fdg"
)

// Version is that of the JSON form.
const Version = 2

// Plan is a policy's decision for one loop on one cluster.
type Plan struct {
	Version  int    `json:"version"`
	Policy   string `json:"policy"`
	Graph    string `json:"graph"` // name of the fdg.Graph
	Grouping `json:"grouping"`
	// Shards is how many parts the environments (or members) are split into, for
	// the whole life of a run.
	Shards   int       `json:"shards"`
	Replicas []Replica `json:"replicas"` // replicas by group, then by shard
	Edges    []Edge    `json:"edges"`
	// MaxWorkers is how many workers later plans of the run may have; 0 if it does not grow.
	MaxWorkers int `json:"max_workers,omitempty"`
	// Owner is the group that decides about iterations: the one that applies
	// gradients.
	Owner string `json:"owner,omitempty"`
	// Lowered is true when the whole loop is one device program.
	Lowered bool `json:"lowered,omitempty"`
	// Turns is how many parts of the environments take turns with the group that acts
	// for them: one steps while actions are computed for another. 0 is all at once.
	Turns int `json:"turns,omitempty"`
	// Graphs is true when programs call one graph for adjacent graph work.
	Graphs bool `json:"graphs,omitempty"`
	// Calls is how many graphs are called in an iteration, over all replicas, where
	// that was measured.
	Calls int64 `json:"calls,omitempty"`
	// Async and what follows say how edges wait. A synchronous plan gives the bits
	// of the plain loop.
	Async     bool `json:"async,omitempty"`
	Staleness int  `json:"staleness,omitempty"` // versions that weights may be behind
	Producers int  `json:"producers,omitempty"` // producers that a gather waits for; 0 is all
	Queue     int  `json:"queue,omitempty"`     // items that an edge holds before its sender waits
	// SamplesPerInsert and Tolerance are the proportion that the owner keeps between what it
	// samples and what it takes from others; 0 is none.
	SamplesPerInsert float64 `json:"samples_per_insert,omitempty"`
	Tolerance        float64 `json:"tolerance,omitempty"`
	// Notes tell the user about operations that became finer or are repeated.
	Notes []string `json:"notes,omitempty"`
	// Fused are the steps that Fuse took, in order.
	Fused []string `json:"fused,omitempty"`
}

// Replica is one running copy of a group's program. It owns the shards [First, Last)
// of the plan's; a group that is not replicated owns all.
type Replica struct {
	Group  string `json:"group"`
	Rank   int    `json:"rank"` // among the group's replicas
	First  int    `json:"first"`
	Last   int    `json:"last"`
	Worker int    `json:"worker"` // index in the cluster
	Device string `json:"device"`
}

// Edge is a place where programs meet: something crosses between groups, or between the
// replicas of one. The projector makes the list of a grouping, in program order; programs
// know an edge by its position in it.
type Edge struct {
	Name     string       `json:"name"` // name of the variable or the resource, made unique
	Operator fdg.Operator `json:"operator"`
	From     string       `json:"from"`           // group
	To       string       `json:"to"`             // group; the same as From for a collective
	Type     string       `json:"type,omitempty"` // Go type of the value
	// Axis is the one that rows are split along: environments, rows, none; or agents, of a
	// slice with an element for every member.
	Axis  fdg.Axis `json:"axis"`
	Often string   `json:"often"` // how often it is used, in words: iteration x t.Horizon
	Node  int      `json:"node"`  // node of the graph whose result or write it carries
	Pos   string   `json:"pos"`   // position of that node, file:line
	// Given is true when the sender does not use the value afterwards: its memory
	// passes with the message.
	Given bool `json:"given,omitempty"`
	// Log is true if the value is only logged, so that no replica waits for it.
	Log bool `json:"log,omitempty"`
	// Batched is true when the sender keeps what the rounds of a loop send, and sends it in one
	// message behind the loop.
	Batched bool `json:"batched,omitempty"`
	// Under is the node of a condition on the run's counters, or on what the receiver made, under
	// which the edge is used, or 0: replicas of an asynchronous run may see the condition otherwise
	// than the receiver does. Lasting is true if it holds again and again once it holds.
	Under   int  `json:"under,omitempty"`
	Lasting bool `json:"lasting,omitempty"`
	// Local is true when no replica has to leave its worker for it.
	Local bool `json:"local,omitempty"`
	// Bytes and Calls are of one iteration, over all replicas, where they were
	// measured.
	Bytes int64 `json:"bytes,omitempty"`
	Calls int64 `json:"calls,omitempty"`
}

// Deployment holds the user's choices outside the algorithm.
type Deployment struct {
	Policy  string `default:"plain" doc:"distribution policy; weft list policies shows them, and auto, on the command line, takes the one that is predicted to be the fastest" json:"policy"`
	Workers int    `default:"1" unit:"workers" range:"[1,)" doc:"workers that share the work; plain has one; under gpu-only each is a device" json:"workers"`
	// MaxWorkers is 0, or a run has as many workers as there are, up to that many; then it
	// begins when there are Workers of them.
	MaxWorkers       int      `default:"0" unit:"workers" range:"[0,)" doc:"maximum workers of a run in a cluster: beyond --workers they are added at a checkpoint when they join; 0 is no more than --workers" json:"max_workers"`
	Replicas         int      `default:"0" unit:"replicas" range:"[0,)" doc:"parts that the environments are split into; 0 is one for each worker" json:"replicas"`
	Async            bool     `default:"false" doc:"let replicas run ahead of each other: faster, but not repeatable" json:"async"`
	Staleness        int      `default:"0" unit:"versions" range:"[0,)" doc:"maximum age, in updates, of the weights behind an asynchronous replica's work; older work is dropped; 0 is 1, and under central twice the replicas" json:"staleness"`
	Producers        int      `default:"0" unit:"replicas" range:"[0,)" doc:"replicas that an asynchronous gather waits for; 0 is all" json:"producers"`
	Queue            int      `default:"2" unit:"items" range:"[1,)" doc:"items that an asynchronous edge holds before its sender waits" json:"queue"`
	SamplesPerInsert float64  `default:"0" unit:"rows" range:"[0,)" doc:"rows that an asynchronous learner samples from a replay table for each row that is inserted: whichever is ahead waits; 0 takes what comes" json:"samples_per_insert"`
	Tolerance        float64  `default:"0.1" range:"[0,)" doc:"how far samples may be ahead or behind with --samples-per-insert, as a part of those that the rows in the table stand for when learning starts" json:"tolerance"`
	NoFuse           []string `doc:"fusions to leave out: replicas, groups, graphs or all" json:"no_fuse"`
	Pipeline         bool     `default:"false" doc:"split the environments into two halves that take turns: one steps while actions are computed for the other" json:"pipeline"`
	Devices          []string `doc:"devices of groups, group:device; a group that is named several times is shared out among its devices; others have the run's, environments that stand alone the CPU" json:"devices"`
	Placement        []string `doc:"workers of groups, group:worker; a group that is named several times is shared out among its workers" json:"placement"`
}

// Facts are the properties of a run that a policy needs beside the graph.
type Facts struct {
	Envs   int  `json:"envs"`   // environments of the whole run
	Block  int  `json:"block"`  // they are split in multiples of this many
	Graph  bool `json:"graph"`  // the environment is a graph function
	Agents int  `json:"agents"` // members of the family of agents; 0 and 1 are one
	// Devices is how many the run's device is, for a loop that is one program; 0 is one.
	Devices int `json:"devices,omitempty"`
}

// Problem is all that a policy sees.
type Problem struct {
	Graph      *fdg.Graph
	Cluster    Cluster
	Deployment Deployment
	Facts      Facts
	// Crossings are the edges of the groupings that programs were generated for, by the
	// grouping's name.
	Crossings map[string][]Edge
}

// Group returns the group of that name, or nil.
func (g Grouping) Group(name string) *Group {
	for i := range g.Groups {
		if g.Groups[i].Name == name {
			return &g.Groups[i]
		}
	}
	return nil
}

// Of returns the group that a fragment is in, or "".
func (g Grouping) Of(fragment string) string {
	for _, x := range g.Groups {
		for _, f := range x.Fragments {
			if f == fragment {
				return x.Name
			}
		}
	}
	return ""
}

// Sparing reports whether a run of the plan can go on while a worker is lost that has
// not the replica that decides: replicas are asynchronous, each has environments of its
// own, and all that crosses goes to the one that decides or comes from it.
func (p *Plan) Sparing() bool {
	if !p.Async || len(p.Of(p.Owner)) != 1 {
		return false
	}
	for _, g := range p.Groups {
		if g.Name != p.Owner && g.Over != fdg.Environments {
			return false
		}
	}
	for _, e := range p.Edges {
		if e.From != e.To && e.From != p.Owner && e.To != p.Owner {
			return false
		}
	}
	return len(p.Groups) > 1
}

// Of returns the replicas of a group, by rank.
func (p *Plan) Of(group string) (out []Replica) {
	for _, r := range p.Replicas {
		if r.Group == group {
			out = append(out, r)
		}
	}
	return out
}

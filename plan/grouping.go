// Package plan is where and how often the fragments of a graph run, as plain data:
// what a policy decides, what the optimiser fuses, and what a runner carries out.
package plan

import "github.com/weft-rl/weft/fdg"

// Grouping is a way to take a loop apart: every fragment of the graph is in one
// group. The projector makes a program for each group.
type Grouping struct {
	Name   string  `json:"name"` // name of the grouping, an identifier: policies that form the same share it
	Groups []Group `json:"groups"`
}

// Group is fragments that run as one program.
type Group struct {
	Name      string   `json:"name"` // an identifier: collector, learner
	Fragments []string `json:"fragments"`
	// Over is the axis that replicas of the group share out among them:
	// environments, or agents, the members of a family. None is one replica.
	Over fdg.Axis `json:"over"`
}

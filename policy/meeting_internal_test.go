package policy

import (
	"testing"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/plan"
)

// TestMeeting: an asynchronous plan is refused where the owner may wait for an edge that its
// producers do not use any more.
func TestMeeting(t *testing.T) {
	g := &fdg.Graph{Nodes: make([]fdg.Node, 4)}
	by := plan.Grouping{Groups: []plan.Group{{Name: "actor", Over: fdg.Environments}, {Name: "replay", Over: fdg.None}, {Name: "learner", Over: fdg.None}}}
	sample := plan.Edge{Name: "sample", From: "replay", To: "learner", Operator: fdg.Send, Under: 2}
	rows := plan.Edge{Name: "rows", From: "actor", To: "replay", Operator: fdg.Gather}
	to := func(under int, lasting bool) plan.Edge {
		return plan.Edge{Name: "x", From: "actor", To: "learner", Operator: fdg.Gather, Under: under, Lasting: lasting}
	}
	back := plan.Edge{Name: "net", From: "learner", To: "actor", Operator: fdg.Broadcast, Under: 2}
	for name, c := range map[string]struct {
		edges   []plan.Edge
		refused bool
	}{
		"always":                   {[]plan.Edge{to(0, false), to(0, false), back}, false},
		"all once there is enough": {[]plan.Edge{to(3, true), back, to(3, true)}, false},
		"all until there is":       {[]plan.Edge{to(3, false)}, true},
		"one of two":               {[]plan.Edge{to(0, false), to(3, true)}, true},
		"the middle one":           {[]plan.Edge{to(3, true), to(0, false), to(3, true)}, true},
		"of two conditions":        {[]plan.Edge{to(2, true), to(3, true)}, true},
		"replay in step":           {[]plan.Edge{rows, sample, back}, false},
		"to replay and learner":    {[]plan.Edge{rows, sample, to(0, false)}, false},
		"to learner at times":      {[]plan.Edge{rows, sample, to(3, true)}, true},
	} {
		if err := meeting(g, by, c.edges); (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

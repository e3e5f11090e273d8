package plan_test

import (
	"fmt"
	"os"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/plan"
)

// pair returns two groups: replicas that collect, and one that learns.
func pair() plan.Plan {
	return plan.Plan{
		Policy: "pair", Graph: "example", Shards: 2,
		Grouping: plan.Grouping{Name: "pair", Groups: []plan.Group{
			{Name: "collector", Fragments: []string{"environment", "actor"}, Over: fdg.Environments},
			{Name: "learner", Fragments: []string{"gradient", "apply"}, Over: fdg.None},
		}},
		Replicas: []plan.Replica{
			{Group: "collector", First: 0, Last: 1, Device: "cpu"},
			{Group: "collector", Rank: 1, First: 1, Last: 2, Device: "cpu"},
			{Group: "learner", Last: 2, Device: "cpu"},
		},
		Edges: []plan.Edge{{Name: "batch", From: "collector", To: "learner", Operator: fdg.Gather, Often: "iteration", Calls: 2, Bytes: 41_024}},
	}
}

func ExamplePlan_Place() {
	p, c := pair(), plan.Local(2, "cpu")
	if err := p.Place(plan.Deployment{Placement: []string{"collector:local/0", "collector:local/1", "learner:local/1"}}, c); err != nil {
		fmt.Println(err)
	}
	for _, r := range p.Replicas {
		fmt.Println(r.Group, r.Rank, "on", c.Workers[r.Worker].Name)
	}
	bad := plan.Deployment{Placement: []string{"learner:elsewhere", "teacher:local/0"}}
	fmt.Println(bad.CheckPlacement(p.Grouping, c))
	// Output:
	// collector 0 on local/0
	// collector 1 on local/1
	// learner 0 on local/1
	// placement learner:elsewhere: there is no worker elsewhere; the cluster has local/0, local/1
	// placement teacher:local/0: there is no group teacher; the policy makes collector, learner
}

func ExampleSheet() {
	p := pair()
	s := plan.Sheet{Cluster: plan.Local(1, "cpu"), Before: p, After: p}
	if err := s.Print(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// == nothing is fused ==
	//
	// plan pair of example: synchronous, the bits of the plain loop
	//
	// group      fragments           replicated over
	// collector  environment, actor  environments
	// learner    gradient, apply     none
	//
	// replica      shards    worker   device
	// collector 0  0 of 2    local/0  cpu
	// collector 1  1 of 2    local/0  cpu
	// learner 0    0-1 of 2  local/0  cpu
	//
	// edge   carried by  from       to       once per   calls  bytes
	// batch  gather      collector  learner  iteration  2      41,024
}

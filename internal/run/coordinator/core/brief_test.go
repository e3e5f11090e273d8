package core

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/plan"
)

// TestLongFailures: what is kept of a run stays small enough for etcd, which takes a megabyte and a
// half, however often its parts fail and however much they say about it. A coordinator that cannot
// keep a run does not act.
func TestLongFailures(t *testing.T) {
	p := plan.Plan{Owner: "learner", Async: true, Replicas: []plan.Replica{{Group: "learner"}, {Group: "actor", Worker: 1}}}
	p.Groups = []plan.Group{{Name: "actor", Over: fdg.Environments}, {Name: "learner"}}
	c := New(Defaults())
	for i := range 2 {
		name := fmt.Sprint("w", i)
		c.Workers = append(c.Workers, Worker{Name: name, Session: int64(i + 1), Run: "r"})
	}
	c.Runs = []Run{{
		Name: "r", Phase: Running, Epoch: 1, Until: 1 << 40, Plan: &p,
		Members: []Member{{Name: "w0", Session: 1, Ready: true}, {Name: "w1", Session: 2, Ready: true}},
	}}
	owner := From{Worker: "w0", Session: 1, Run: "r", Epoch: 1}
	for i := range 2 * history {
		from := From{Worker: "w1", Session: 2, Run: "r", Epoch: 1, Life: c.Runs[0].Members[1].Life}
		c.Step(PartFailed{From: from, Error: strings.Repeat("x", 1<<18) + fmt.Sprint(i)})
		c.Step(Committing{From: owner, Manifest: part.Manifest{Epoch: 1, Step: int64(i + 1)}})
		for range c.Settle + c.Lived {
			c.Step(Tick{})
		}
		c.Step(PartReady{From{Worker: "w1", Session: 2, Run: "r", Epoch: 1, Life: from.Life + 1}})
		for range c.Lived {
			c.Step(Tick{})
		}
	}
	r := c.Runs[0]
	if text, err := json.Marshal(r); err != nil || len(text) > 1<<19 || r.Phase != Running || r.Members[1].Life != 2*history {
		t.Errorf("%s, life %d, %d bytes, %v", r.Phase, r.Members[1].Life, len(text), err)
	}
}

package coordinator_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/run/coordinator"
	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/protocol"
	"github.com/weft-rl/weft/plan"
)

// hangs is in the place of a failure of a run that cannot be planned in a finite time.
const hangs = "hangs"

// hanging returns a planner that does not answer about runs that hang, until it is told that nobody
// waits.
func hanging(begun, given chan<- struct{}) coordinator.Planner {
	return func(ctx context.Context, program, config string, c plan.Cluster, shards int) (plan.Plan, error) {
		if j, err := parse(config); err == nil && j.fails == hangs {
			begun <- struct{}{}
			<-ctx.Done()
			given <- struct{}{}
			return plan.Plan{}, ctx.Err()
		}
		return planner(ctx, program, config, c, shards)
	}
}

// A submission that cannot be planned holds nobody up: other runs are planned, recover from losses
// and end. When it is stopped, nothing is left of it; when it is not, it is given up with its
// coordinator's term.
func TestHanging(t *testing.T) {
	c := newCluster(t)
	begun, given := make(chan struct{}, 1), make(chan struct{}, 1)
	c.planner = hanging(begun, given)
	_, end := c.coordinate("127.0.0.1:0")
	c.submit("bad", 1, 10, hangs) // it comes first
	c.work("a")
	stop := c.work("b")
	c.members(2)
	<-begun
	letGo := c.disk.hold("r")
	c.submit("r", 2, 65, "")
	c.at("r", 15)
	stop()
	c.wait("another epoch", func(s *protocol.Status) bool { return s.Runs[1].Epoch > 1 && s.Runs[1].Phase == core.Running })
	if s, err := c.client.Status(t.Context(), "bad"); err != nil || s.Runs[0].Phase != core.Waiting || s.Runs[0].Why == "" {
		t.Errorf("%+v, %v", s, err)
	}
	if err := c.client.Stop(t.Context(), "bad", true); err != nil {
		t.Fatal(err)
	}
	c.ends("bad", core.Stopped)
	<-given
	letGo()
	c.whole("r", 65)
	c.submit("worse", 1, 10, hangs)
	<-begun
	end()
	<-given
}

// A run that is stopped while others wait for its plan lets them have their turn at once.
func TestStoppedPlan(t *testing.T) {
	c := newCluster(t)
	begun, given := make(chan struct{}, 1), make(chan struct{}, 1)
	c.planner, c.brief = hanging(begun, given), time.Hour
	c.coordinate("127.0.0.1:0")
	c.work("a")
	c.members(1)
	c.submit("bad", 1, 10, hangs)
	<-begun
	c.submit("r", 1, 25, "")
	if err := c.client.Stop(t.Context(), "bad", false); err != nil {
		t.Fatal(err)
	}
	<-given
	c.whole("r", 25)
}

// slowly returns a planner that answers about everything, but late.
func slowly(ctx context.Context, program, config string, c plan.Cluster, shards int) (plan.Plan, error) {
	time.Sleep(20 * time.Millisecond)
	return planner(ctx, program, config, c, shards)
}

// Runs whose plans take longer than others wait for them are planned all the same, when they are
// there.
func TestSlowPlans(t *testing.T) {
	c := newCluster(t)
	c.planner, c.brief = slowly, time.Millisecond
	c.coordinate("127.0.0.1:0")
	for i := range 3 {
		c.submit(fmt.Sprint("r", i), 2, 35, "")
	}
	c.work("a")
	c.work("b")
	for i := range 3 {
		c.whole(fmt.Sprint("r", i), 35)
	}
}

// huge is in the place of a failure of a run whose plan nobody could keep.
const huge = "huge"

// A plan that is too large to be kept fails its run, and no other.
func TestHugePlan(t *testing.T) {
	c := newCluster(t)
	c.planner = func(ctx context.Context, program, config string, on plan.Cluster, shards int) (plan.Plan, error) {
		p, err := planner(ctx, program, config, on, shards)
		if j, _ := parse(config); j.fails == huge {
			for range 100_000 {
				p.Replicas = append(p.Replicas, plan.Replica{Group: "actor"})
			}
		}
		return p, err
	}
	c.coordinate("127.0.0.1:0")
	c.work("a")
	c.members(1)
	c.submit("bad", 1, 10, huge)
	if r := c.ends("bad", core.Failed); !strings.Contains(r.Why, "too large") {
		t.Error(r.Why)
	}
	c.submit("r", 1, 25, "")
	c.whole("r", 25)
}

package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/plan"
)

// A plan may take long: what a submission makes may be slow, or hang. The core asks about one run
// at a time, so that runs are planned in their order. If an answer does not come briefly, the core
// is told to go on with other runs, and to ask again when the plan is there.

// planning is a question to the planner. Only the loop uses what may change.
type planning struct {
	core.MakePlan
	cancel context.CancelFunc
	brief  *time.Timer
	waited bool // the core waits for it
	made   bool
	plan   plan.Plan
	err    error
}

// plan asks the planner, or answers with what it said before.
func (a *acting) plan(d core.MakePlan) {
	old := a.plans[d.Run]
	switch {
	case old != nil && old.Config != d.Config:
		a.unplan(d.Run)
	case old != nil && !old.made: // about other workers, perhaps: that is asked again when it has come
		a.answers = append(a.answers, later(d.Asked))
		return
	case old != nil && old.same(d):
		delete(a.plans, d.Run)
		a.answers = append(a.answers, old.answer(d.Asked))
		return
	}
	x := &planning{MakePlan: d, waited: true}
	x.Workers = slices.Clone(d.Workers)
	ctx, cancel := context.WithCancel(a.ctx)
	x.cancel = cancel
	a.plans[d.Run] = x
	x.brief = time.AfterFunc(a.Brief, func() { a.put(event{plan: x}) })
	a.helpers.Go(func() {
		defer cancel()
		p, err := a.planned(ctx, x)
		a.put(event{plan: &planning{MakePlan: d, made: true, plan: p, err: err, cancel: cancel}})
	})
}

// same reports whether a question is about the same workers.
func (x *planning) same(d core.MakePlan) bool {
	return x.Shards == d.Shards && slices.Equal(x.Programs, d.Programs) && reflect.DeepEqual(x.cluster(), (&planning{MakePlan: d}).cluster())
}

func (x *planning) cluster() (c plan.Cluster) {
	for _, w := range x.Workers {
		c.Workers = append(c.Workers, plan.Worker{Name: w.Name, Host: w.Host, Cores: w.Cores, Memory: w.Memory, Devices: slices.Clone(w.Devices)})
	}
	return c
}

// planned asks the planner, whose panics are errors as well.
func (a *acting) planned(ctx context.Context, x *planning) (p plan.Plan, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("the planner panicked: %v", x)
		}
	}()
	path, err := a.planProgram(x.Programs)
	if err != nil {
		return p, err
	}
	if p, err = a.Planner(ctx, path, x.Config, x.cluster(), x.Shards); err != nil {
		return p, err
	}
	text, err := json.Marshal(p)
	if len(text) > maxPlan {
		err = fmt.Errorf("the plan is too large to be kept: %d replicas take %d bytes, at most %d are taken", len(p.Replicas), len(text), maxPlan)
	}
	return p, err
}

// maxPlan is well below what etcd takes of a run, of which it is a part. A coordinator that cannot
// keep a run acts no more.
const maxPlan = 512 << 10

// came returns what the core is told of a plan that has come, or of one that does not come briefly;
// nil is nothing.
func (a *acting) came(x *planning) core.Event {
	now := a.plans[x.Run]
	if now == nil || now.Asked != x.Asked { // nobody wants it any more
		return nil
	}
	waited := now.waited
	if now.waited = false; !x.made {
		if now.made || !waited {
			return nil
		}
		return later(now.Asked)
	}
	now.brief.Stop()
	if now.made, now.plan, now.err = true, x.plan, x.err; waited {
		delete(a.plans, x.Run)
		return now.answer(now.Asked)
	}
	return core.PlanThere{Run: x.Run}
}

func later(asked int64) core.Event {
	return core.PlanFailed{Asked: asked, Why: "its trainer and environments are being constructed", Later: true}
}

// answer returns the event that tells the core the result of planning.
func (x *planning) answer(asked int64) core.Event {
	if x.err != nil {
		return core.PlanFailed{Asked: asked, Why: x.err.Error(), Short: errors.Is(x.err, ErrShort)}
	}
	return core.PlanMade{Asked: asked, Plan: x.plan}
}

// unplan cancels the computation of a plan that is no longer wanted.
func (a *acting) unplan(run string) {
	if x := a.plans[run]; x != nil {
		x.brief.Stop()
		x.cancel()
		delete(a.plans, run)
	}
}

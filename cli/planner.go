package cli

import (
	"fmt"
	"slices"

	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/coordinator"
	"github.com/weft-rl/weft/plan"
)

// planOn makes the plan of a request on a cluster, given what there is to plan for. Shards are
// those that the run has had.
func planOn(r *request.Request, on plan.Problem, c plan.Cluster, shards int) (plan.Plan, error) {
	var at []int // in the cluster that was given
	on.Cluster, at = having(c, r.Device)
	if len(on.Cluster.Workers) == 0 {
		return plan.Plan{}, fmt.Errorf("%w: none of %d has the device %s", coordinator.ErrShort, len(c.Workers), r.Device)
	}
	if err := share(r, &on, shards); err != nil {
		return plan.Plan{}, err
	}
	out, err := r.Found.Policy.Make(on)
	if err != nil {
		return out, err
	}
	out = out.Fuse(on.Graph, r.NoFuse)
	out.Replicas = slices.Clone(out.Replicas)
	for i := range out.Replicas {
		out.Replicas[i].Worker = at[out.Replicas[i].Worker]
	}
	return out, nil
}

// share decides how many of the cluster's workers a run has, and into how many parts its
// environments are split: as many as before, if it has begun with that many, unless it
// grows and shrinks with the cluster. Then that is the policy's to say, which knows
// whether it shows in what is computed.
func share(r *request.Request, on *plan.Problem, before int) error {
	d, free := &on.Deployment, len(on.Cluster.Workers)
	if before == 0 && d.Workers > free {
		return fmt.Errorf("%w: %d are asked for, and %d are free", coordinator.ErrShort, d.Workers, free)
	}
	want := d.Workers
	if d.MaxWorkers > 0 {
		want = max(want, min(d.MaxWorkers, r.Found.Policy.Most(*on)))
	} else if before > 0 {
		d.Replicas = before
	}
	d.Workers = min(want, free)
	return nil
}

// having returns the workers that have a device, with that as the preferred one.
func having(c plan.Cluster, device string) (out plan.Cluster, at []int) {
	for i, w := range c.Workers {
		one := plan.Cluster{Workers: []plan.Worker{w}}
		if request.Prefer(&one, device) == nil {
			out.Workers, at = append(out.Workers, one.Workers...), append(at, i)
		}
	}
	return out, at
}

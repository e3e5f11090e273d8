package request

import (
	"errors"

	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/plan"
)

// On has the request planned for the cluster that a file describes. As many workers
// are used as it has, unless a number is asked for.
func (r *Request) On(file string, l Layers) error {
	if file == "" {
		return nil
	}
	cluster, err := readCluster(file)
	if err != nil {
		return err
	}
	r.Cluster = cluster
	if !l.Sets("workers") && !r.Found.Policy.AsIs {
		r.Workers = len(cluster.Workers)
	}
	if l.Sets("device") {
		return Prefer(cluster, r.Device)
	}
	return nil
}

// errPlanned ends the preparation of a run that is not to be run.
var errPlanned = errors.New("planned")

// Facts constructs the job's trainer as train does, to see what there is to plan for.
func (r *Request) Facts(job runner.Job) (on plan.Problem, err error) {
	job.Plan = func(known plan.Problem) (plan.Plan, error) {
		on = r.problemOf(known)
		return plan.Plan{}, errPlanned
	}
	s, err := runner.Prepare(job)
	if err == nil {
		err = s.Close()
	}
	if errors.Is(err, errPlanned) {
		err = nil
	}
	return on, err
}

// ToPlan returns the problem that a policy solves, where this process need not have the devices
// that workers have.
func (r *Request) ToPlan() (plan.Problem, error) {
	here := *r
	here.Device, here.Single = device.Default, true
	job, err := here.Job()
	if err != nil {
		return plan.Problem{}, err
	}
	job.EvalEpisodes = 0
	return here.Facts(job)
}

// Problem constructs the request's trainer to see what there is to plan for.
func (r *Request) Problem() (plan.Problem, error) {
	job, err := r.Job()
	if err != nil {
		return plan.Problem{}, err
	}
	return r.Facts(job)
}

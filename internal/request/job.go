package request

import (
	"slices"

	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/plan"
)

// Job returns the request as the runtime takes it, with its device open.
func (r *Request) Job() (runner.Job, error) {
	name, err := r.device()
	if err != nil {
		return runner.Job{}, err
	}
	d, err := device.Open(name)
	if err != nil {
		return runner.Job{}, err
	}
	storage, err := r.storage()
	if err != nil {
		return runner.Job{}, err
	}
	return runner.Job{
		Plan: r.plan(), Algorithm: r.Found.Algorithm, Config: r.Found.Config, Env: r.Found.Env, EnvOptions: r.Found.EnvOptions, Wrap: r.Found.Wrap,
		Device: d, Open: device.Open, Seed: r.Seed, Steps: r.Steps,
		CheckpointEvery: r.CheckpointEvery, CheckpointSteps: r.CheckpointSteps, Keep: r.Keep,
		EvalEvery: r.EvalEvery, EvalEpisodes: r.EvalEpisodes, From: r.From,
		RestartEpisodes: r.Resume == "restart-episodes", Storage: storage, Profile: r.Profile,
		Trace: r.Trace, TraceParent: r.TraceParent,
	}, nil
}

// device returns what the run computes on. A loop that is one program takes as many devices
// as there are workers to share the work, from the one that is named on.
func (r *Request) device() (string, error) {
	if !r.Found.Policy.Lowered || r.Single || r.Cluster != nil {
		return r.Device, nil
	}
	return device.Several(r.Device, r.Workers)
}

// EveryDevice returns all devices that the run may compute on, its own first.
func (r *Request) EveryDevice() []string {
	own, err := r.device()
	if err != nil { // said by checkDevices
		own = r.Device
	}
	out := []string{own}
	for _, name := range append(r.DeviceNames(), plan.CPU) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// plan returns what decides how the loop is distributed; nil for the plain loop.
func (r *Request) plan() func(plan.Problem) (plan.Plan, error) {
	if r.Found.Policy.AsIs {
		return nil
	}
	return func(on plan.Problem) (plan.Plan, error) {
		p, err := r.Found.Policy.Make(r.problemOf(on))
		if err != nil {
			return p, err
		}
		return p.Fuse(on.Graph, r.NoFuse), nil
	}
}

// problemOf completes what a policy has to solve by what the request says.
func (r *Request) problemOf(on plan.Problem) plan.Problem {
	on.Cluster, on.Deployment = plan.Local(r.Workers, r.EveryDevice()...), r.Deployment
	if r.Cluster != nil {
		on.Cluster = *r.Cluster
	}
	return on
}

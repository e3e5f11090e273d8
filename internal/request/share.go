package request

import (
	"cmp"
	"fmt"
)

// ShareAmong has so many processes share the work, unless a number was asked for. A loop
// that is one program is one process's, and a run that grows takes what there is by itself.
func (r *Request) ShareAmong(workers int, asked bool) error {
	switch {
	case r.Found.Policy.Lowered && max(r.Workers, r.MaxWorkers) > 1:
		return fmt.Errorf("--workers: policy %s is one program of one process, where each worker is a device: leave out --processes and --cluster", r.Policy)
	case !asked && !r.Found.Policy.AsIs && !r.Found.Policy.Lowered && r.MaxWorkers == 0:
		r.Workers = workers
	}
	return nil
}

// ShareAmongProcesses does what ShareAmong does, for processes of this machine, of which there are
// as many as were asked for: a run that wants more would wait for them in vain, and one that cannot
// use them leaves them idle. Flag is the one that says how many.
func (r *Request) ShareAmongProcesses(flag string, processes int, workers bool) error {
	if err := r.ShareAmong(processes, workers); err != nil {
		return err
	}
	switch {
	case processes > 1 && (r.Found.Policy.AsIs || r.Found.Policy.Lowered):
		return fmt.Errorf("%s: policy %s is one process: take %[1]s 1, or name the policy that is to share the work out (weft list policies shows them)", flag, r.Policy)
	case r.Workers > processes:
		return fmt.Errorf("--workers: %d are more than the %d processes of %s: take %[3]s %[1]d", r.Workers, processes, flag)
	}
	return nil
}

// Shards returns how many parts a run's environments were split into, as far as its
// configuration says; 0 of the loop as it stands.
func (r *Request) Shards() int {
	if r.Found.Policy.AsIs {
		return 0
	}
	return cmp.Or(r.Replicas, r.Workers)
}

// KeepShards resumes a run with as many parts of its environments as it has had: with several
// learners they decide what it computes. Of one that grows that many are the policy's to say, from
// its configuration alone.
func (r *Request) KeepShards(before *Request, shards int) {
	if shards > 0 && r.MaxWorkers == 0 && r.Replicas == 0 && r.Policy == before.Policy && r.Workers != shards {
		r.Replicas = shards
	}
}

// KeepParts does the same where a run is to grow otherwise than before, if the policy's sums show
// how many parts there are.
func (r *Request) KeepParts(before *Request, shards int) error {
	if shards == 0 || r.MaxWorkers == before.MaxWorkers || r.MaxWorkers == 0 || r.Replicas > 0 || r.Policy != before.Policy {
		return nil
	}
	on, err := r.ToPlan()
	if err == nil && r.Found.Policy.Sums(on) {
		r.Replicas = shards
	}
	return err
}

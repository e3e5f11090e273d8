package observe

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-rl/weft/internal/run/coordinator"
	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/protocol"
)

// The metrics of a coordinator. Those with a run's name are of runs that are not over.
var (
	leads    = described("coordinator_leader", "1 if this coordinator acts, 0 if it stands by")
	elected  = described("coordinator_terms_total", "times that this coordinator began to act")
	queued   = described("coordinator_queue_length", "events that wait to be decided upon")
	decided  = described("coordinator_events_total", "events that were decided upon")
	slowest  = described("coordinator_slowest_decision_seconds", "time that the slowest decision took since the process began")
	refused  = described("coordinator_refused_calls_total", "calls that were refused, by method", "method")
	barred   = described("coordinator_barred_total", "callers that were not let in, or lacked the role for what they asked for")
	workers  = described("workers", "workers by state: free, busy, draining or silent", "state")
	runs     = described("runs", "runs by state: waiting, starting, running, done, failed or stopped", "state")
	recovery = described("recovery_seconds", "time that runs stood still between two epochs")

	steps     = described("run_steps", "environment steps that a run has done", "run")
	speed     = described("run_steps_per_second", "environment steps a second since the epoch began", "run")
	epoch     = described("run_epoch", "number of the epoch", "run")
	members   = described("run_workers", "workers that a run has", "run")
	restarts  = described("run_restarts_total", "epochs of a run that ended before the run did", "run")
	rewinds   = described("run_rewinds_total", "restarts after which steps were done again", "run")
	rewound   = described("run_rewound_steps_total", "steps that were done again", "run")
	stood     = described("run_last_recovery_seconds", "time that a run last stood still between two epochs", "run")
	saved     = described("run_checkpoint_step", "step of the checkpoint that counts", "run")
	commits   = described("run_checkpoints_total", "checkpoints that were committed", "run")
	age       = described("run_checkpoint_age_seconds", "time since a checkpoint was committed; absent before the first", "run")
	saving    = described("run_checkpoint_duration_seconds", "time that the newest checkpoint took to be written and committed", "run")
	staleness = described("run_staleness_versions", "mean age of what an asynchronous run learns from", "run")
	messages  = described("run_edge_messages", "messages between replicas since the epoch began, by kind of edge", "run", "kind")
	bytes     = described("run_edge_bytes", "bytes of tensors between replicas since the epoch began, by kind of edge", "run", "kind")
	waiting   = described("run_edge_queue_length", "most messages of one sender that waited since the epoch began, by kind of edge", "run", "kind")
)

// Coordinator returns what can be seen of a coordinator.
func Coordinator(p *coordinator.Probe) Process {
	return Process{Metrics: coordinated{p}, Well: p.Well, Ready: p.Ready}
}

// coordinated collects a coordinator's metrics.
type coordinated struct{ *coordinator.Probe }

// Describe implements prometheus.Collector. Nothing is described, so that which metrics there are
// may change.
func (coordinated) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c coordinated) Collect(to chan<- prometheus.Metric) {
	f, s := c.Figures(), sender(to)
	s.is(leads, f.Acts)
	s.counter(elected, f.Elected)
	s.gauge(queued, float64(f.Queued))
	s.counter(decided, f.Decided)
	s.gauge(slowest, f.Longest)
	s.counter(barred, f.Barred)
	for method, n := range f.Refused {
		s.counter(refused, n, method)
	}
	to <- prometheus.MustNewConstSummary(recovery, uint64(f.Recovery.Count), f.Recovery.Sum, nil)
	if !f.Acts { // the one that acts tells of the cluster
		return
	}
	s.states(f.Status)
	for i := range f.Status.Runs {
		if r := &f.Status.Runs[i]; !r.Phase.Over() {
			s.run(r, f.Runs[r.Name])
		}
	}
}

// states counts workers and runs.
func (s sender) states(all protocol.Status) {
	at := map[string]int{"free": 0, "busy": 0, "draining": 0, "silent": 0}
	for _, w := range all.Workers {
		switch {
		case w.Silent:
			at["silent"]++
		case w.Draining:
			at["draining"]++
		case w.Run != "":
			at["busy"]++
		default:
			at["free"]++
		}
	}
	for state, n := range at {
		s.gauge(workers, float64(n), state)
	}
	is := map[core.Phase]int{}
	for _, r := range all.Runs {
		is[r.Phase]++
	}
	for _, p := range []core.Phase{core.Waiting, core.Starting, core.Running, core.Done, core.Failed, core.Stopped} {
		s.gauge(runs, float64(is[p]), string(p))
	}
}

// run sends the metrics of a run that is not over.
func (s sender) run(r *core.Run, f coordinator.RunFigures) {
	p := r.Progress
	s.gauge(steps, float64(p.Steps), r.Name)
	s.gauge(speed, p.StepsPerSecond, r.Name)
	s.gauge(epoch, float64(r.Epoch), r.Name)
	s.gauge(members, float64(len(r.Members)), r.Name)
	s.counter(restarts, f.Restarts, r.Name)
	s.counter(rewinds, f.Rewinds, r.Name)
	s.counter(rewound, f.Rewound, r.Name)
	s.gauge(stood, f.Recovery, r.Name)
	s.counter(commits, f.Commits, r.Name)
	s.gauge(saving, p.Saving, r.Name)
	s.gauge(staleness, p.Staleness, r.Name)
	if r.Last != nil {
		s.gauge(saved, float64(r.Last.Step), r.Name)
	}
	if !f.Committed.IsZero() {
		s.gauge(age, time.Since(f.Committed).Seconds(), r.Name)
	}
	for _, e := range p.Edges {
		s.gauge(messages, float64(e.Messages), r.Name, e.Kind)
		s.gauge(bytes, float64(e.Bytes), r.Name, e.Kind)
		s.gauge(waiting, float64(e.Waiting), r.Name, e.Kind)
	}
}

package observe

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-rl/weft/internal/run/worker"
)

// The metrics of a worker.
var (
	joined   = described("worker_joined", "1 if a coordinator has let the worker in")
	leaving  = described("worker_draining", "1 if the worker is to leave")
	busy     = described("worker_busy", "1 if the worker is at a part of a run")
	joins    = described("worker_joins_total", "times that a coordinator let the worker in")
	parts    = described("worker_parts_total", "parts of runs that the worker began")
	failures = described("worker_failed_parts_total", "parts that failed on it")
	unheard  = described("worker_queue_length", "messages that the coordinator has not acknowledged")
	lines    = described("worker_queue_bytes", "bytes of a run's record among them")
)

// Worker returns what can be seen of a worker.
func Worker(p *worker.Probe) Process {
	return Process{Metrics: working{p}, Well: func() error { return nil }, Ready: func(context.Context) error { return p.Ready() }}
}

// working collects a worker's metrics.
type working struct{ *worker.Probe }

// Describe implements prometheus.Collector.
func (working) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (w working) Collect(to chan<- prometheus.Metric) {
	f, s := w.Figures(), sender(to)
	s.is(joined, f.Joined)
	s.is(leaving, f.Leaving)
	s.is(busy, f.Busy)
	s.counter(joins, f.Joins)
	s.counter(parts, f.Parts)
	s.counter(failures, f.Failed)
	s.gauge(unheard, float64(f.Messages))
	s.gauge(lines, float64(f.Bytes))
}

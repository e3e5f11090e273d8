package observe

import (
	"context"
	"math"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// The metrics of a run in this process, beside run_steps and run_steps_per_second.
var (
	budget     = described("run_budget_steps", "environment steps that a run is to do", "run")
	iterations = described("run_iterations", "iterations that a run has done", "run")
	episodes   = described("run_episodes", "episodes that have ended in a run", "run")
	returned   = described("run_return", "mean return of the last episodes of a run; absent before the first", "run")
	evaluated  = described("run_evaluation_return", "mean return of the newest greedy evaluation; absent before the first", "run")
	evaluation = described("run_evaluation_step", "step of the newest greedy evaluation; absent before the first", "run")
	logged     = described("run_metric", "newest value that the algorithm logged, by the name of the metric", "run", "metric")
)

// Standing is where a run stands.
type Standing struct {
	Steps, Budget, Iterations, Episodes int64
	StepsPerSecond                      float64
	Return                              float64 // NaN before the first episode
	Evaluation                          float64 // NaN before the first evaluation
	EvaluatedAt                         int64   // step of the newest evaluation
	Logged                              map[string]float64
}

// Run is a run in this process. Its methods may be called by any goroutine.
type Run struct {
	name string
	mu   sync.Mutex
	now  Standing
}

// NewRun returns a run that has not begun.
func NewRun(name string) *Run {
	return &Run{name: name, now: Standing{Return: math.NaN(), Evaluation: math.NaN()}}
}

// Update changes where the run stands.
func (r *Run) Update(change func(*Standing)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.now)
}

// Process returns what can be seen of the run. A process that trains is well and ready.
func (r *Run) Process() Process {
	return Process{Metrics: r, Well: func() error { return nil }, Ready: func(context.Context) error { return nil }}
}

// Describe implements prometheus.Collector.
func (*Run) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (r *Run) Collect(to chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, x := sender(to), r.now
	s.gauge(steps, float64(x.Steps), r.name)
	s.gauge(speed, x.StepsPerSecond, r.name)
	s.gauge(budget, float64(x.Budget), r.name)
	s.gauge(iterations, float64(x.Iterations), r.name)
	s.gauge(episodes, float64(x.Episodes), r.name)
	if !math.IsNaN(x.Return) {
		s.gauge(returned, x.Return, r.name)
	}
	if !math.IsNaN(x.Evaluation) {
		s.gauge(evaluated, x.Evaluation, r.name)
		s.gauge(evaluation, float64(x.EvaluatedAt), r.name)
	}
	for name, v := range x.Logged {
		s.gauge(logged, v, r.name, name)
	}
}

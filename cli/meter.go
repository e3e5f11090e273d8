package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// meter runs the programs of plans for a few iterations, to see what crosses.
type meter struct {
	job  runner.Job
	envs int

	runner.Silent
	edges      []plan.Edge
	stop       func()
	asked      int64   // iterations to measure
	warm       bool    // everything has crossed that will
	from, last reading // when measuring began, and now
}

// reading counts the bytes that had crossed at a point of a run.
type reading struct {
	iter            int64
	calls           int64   // calls of graphs
	messages, bytes []int64 // messages and bytes so far, by edge
}

// warmSteps is how long it may take until everything crosses: learners may wait
// for some experience, and some edges are of what the settings leave out.
const warmSteps = 12_000

// how says where numbers come from, if there are any.
func (m *meter) how() string {
	if m.last.iter == 0 {
		return ""
	}
	return fmt.Sprintf("calls and bytes are of one iteration, over all replicas, as measured by running the programs in this process (%d environments); a ? stands for less often, where the loop branches", m.envs)
}

// measure replaces a plan's edges by those of its programs, with what they carry.
func (m *meter) measure(ctx context.Context, p *plan.Plan) error {
	if len(p.Groups) == 0 {
		return nil
	}
	j := m.job
	j.Plan = func(plan.Problem) (plan.Plan, error) { return *p, nil }
	j.Watch = m
	s, err := runner.Prepare(j)
	if err != nil {
		return err
	}
	ctx, m.stop = context.WithCancel(ctx)
	defer m.stop()
	m.asked, m.warm, m.from, m.last = 2, false, reading{}, reading{}
	if p.Async {
		m.asked *= int64(len(p.Replicas))
	}
	m.edges = s.Edges()
	if _, err := s.Train(ctx); err != nil {
		return err
	}
	n := m.last.iter - m.from.iter
	if n == 0 {
		return fmt.Errorf("%s: the run ended before it could be measured", p.Policy)
	}
	p.Calls = perIteration(m.last.calls-m.from.calls, n)
	p.Edges = slices.Clone(m.edges)
	for i := range p.Edges {
		p.Edges[i].Calls = perIteration(m.last.messages[i]-m.from.messages[i], n)
		p.Edges[i].Bytes = perIteration(m.last.bytes[i]-m.from.bytes[i], n)
	}
	return nil
}

// perIteration divides and rounds up, so that what happens now and then is not nothing.
func perIteration(total, n int64) int64 { return (total + n - 1) / n }

// Iteration reads what has crossed, and stops when that is enough.
func (m *meter) Iteration(r runner.Report) {
	now := reading{iter: r.Iter, calls: rl.System.Calls(m.job.Device), messages: make([]int64, len(m.edges)), bytes: make([]int64, len(m.edges))}
	for _, f := range r.Figures { // one that has not reported yet has no edges
		for i, e := range f.Edges {
			now.messages[i] += e.Messages
			now.bytes[i] += e.Bytes
		}
	}
	switch {
	case !m.warm:
		m.warm = r.Steps >= warmSteps || !slices.Contains(now.bytes, 0) || m.learns(now)
		m.from = now
	case m.last.iter-m.from.iter < m.asked:
		m.last = now
		if now.iter-m.from.iter >= m.asked {
			m.stop()
		}
	}
}

// learns reports whether weights or gradients have crossed again since the last
// reading; copies are made once in any case.
func (m *meter) learns(now reading) bool {
	for i, e := range m.edges {
		learned := e.Operator == fdg.Broadcast || e.Operator == fdg.Reduce || e.Operator == fdg.AllReduce
		if learned && m.from.iter > 0 && m.from.bytes[i] > 0 && now.bytes[i] > m.from.bytes[i] {
			return true
		}
	}
	return false
}

package cost_test

import (
	"math"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/cost"
)

func compute(seconds float64) cost.Step {
	return cost.Step{Do: cost.Compute, Seconds: seconds, Cores: 1}
}

func send(edge int, bytes float64, to ...int) cost.Step {
	return cost.Step{Do: cost.Send, Edge: edge, Bytes: bytes, Peers: to}
}

func take(edge int, from ...int) cost.Step {
	return cost.Step{Do: cost.Take, Edge: edge, Peers: from}
}

// alone puts every task on a host of its own with one core, and one link between all.
func alone(l cost.Link, rounds int, programs ...[]cost.Step) *cost.Sim {
	s := &cost.Sim{Queue: 1, Rounds: rounds, Between: func(int, int) cost.Link { return l }}
	for i, p := range programs {
		s.Hosts = append(s.Hosts, cost.Host{Cores: 1, Wire: i})
		s.Tasks = append(s.Tasks, cost.Task{Name: string(rune('a' + i)), Host: i, Steps: p})
	}
	return s
}

func runs(t *testing.T, s *cost.Sim) cost.Outcome {
	t.Helper()
	out, err := s.Run()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestLink: two workers send what they collected to one learner, whose interface takes one message
// after another, and it sends its weights back to both. By hand: both have computed at 1, 10 bytes
// at 10 a second arrive at 2.1 and 3.1, the learner has learnt at 5.1, and 5 bytes for each arrive
// at 5.7 and 6.2.
func TestLink(t *testing.T) {
	worker := []cost.Step{compute(1), send(0, 10, 0), take(1, 0)}
	s := alone(cost.Link{Latency: .1, Bandwidth: 10, Wired: true}, 1, []cost.Step{take(0, 1, 2), compute(2), send(1, 5, 1, 2)}, worker, worker)
	out := runs(t, s)
	near(t, "all", out.Seconds, 6.2)
	near(t, "the learner's waiting", out.Waits[0], 3.1)
	near(t, "the first worker's waiting", out.Waits[1], 5.7-1)
	near(t, "the learner's interface", out.Wires[0], 1)
	near(t, "the learner's core", out.Used[0], 2)

	s.Between = func(int, int) cost.Link { return cost.Link{} }
	near(t, "without a link", runs(t, s).Seconds, 3)
}

// TestPipeline: what a queue decouples runs at the pace of the slower task, and the faster one
// waits for room.
func TestPipeline(t *testing.T) {
	s := alone(cost.Link{}, 12, []cost.Step{take(0, 1), compute(2)}, []cost.Step{compute(1), send(0, 0, 0)})
	out := runs(t, s)
	near(t, "a round", out.Round, 2)
	near(t, "all", out.Seconds, 1+12*2)
	if out.Waits[1] < 8 {
		t.Errorf("the faster one waited %v", out.Waits[1])
	}
}

// TestTurns: halves that take turns hide the shorter of acting and stepping. With 1 s to act for a
// half and 3 s to step it, a round of both halves takes max(2*1, 1+3) instead of 2*1+2*3.
func TestTurns(t *testing.T) {
	half := []cost.Step{take(0, 0), compute(3), send(1, 0, 0)}
	learner := []cost.Step{take(1, 1), compute(1), send(0, 0, 1), take(1, 2), compute(1), send(0, 0, 2)}
	first := append([]cost.Step{send(1, 0, 0)}, half[:2]...)
	near(t, "a round in turns", runs(t, alone(cost.Link{}, 12, learner, first, first)).Round, 4)
}

// TestStraggler: in step, everybody waits for the slowest.
func TestStraggler(t *testing.T) {
	worker := func(s float64) []cost.Step { return []cost.Step{compute(s), send(0, 0, 0), take(1, 0)} }
	s := alone(cost.Link{}, 8, []cost.Step{take(0, 1, 2, 3), compute(.5), send(1, 0, 1, 2, 3)}, worker(1), worker(3), worker(1))
	out := runs(t, s)
	near(t, "a round", out.Round, 3.5)
	near(t, "the straggler's waiting", out.Waits[2], 8*.5)
	near(t, "another's waiting", out.Waits[1], 8*2.5)
}

// TestCores: tasks on one host share its cores; one that uses several takes as many of them.
func TestCores(t *testing.T) {
	s := &cost.Sim{Hosts: []cost.Host{{Cores: 2}}, Queue: 1, Rounds: 1, Between: func(int, int) cost.Link { return cost.Link{} }}
	for range 4 {
		s.Tasks = append(s.Tasks, cost.Task{Steps: []cost.Step{compute(1)}})
	}
	near(t, "four on two cores", runs(t, s).Seconds, 2)

	s.Tasks = []cost.Task{{Steps: []cost.Step{{Do: cost.Compute, Seconds: 3, Cores: 2}}}, {Steps: []cost.Step{compute(1)}}}
	// At 2/3 of their speed until the short one has ended at 1.5; then the long one has 2 s left.
	out := runs(t, s)
	near(t, "one of two cores and one of one", out.Seconds, 3.5)
	near(t, "core seconds", out.Used[0], 2*3+1)
}

// TestStuck: programs that wait for each other are found out, and said who.
func TestStuck(t *testing.T) {
	_, err := alone(cost.Link{}, 1, []cost.Step{take(0, 1), send(1, 0, 1)}, []cost.Step{take(1, 0), send(0, 0, 0)}).Run()
	if err == nil || !strings.Contains(err.Error(), "a waits for b on edge 0") || !strings.Contains(err.Error(), "b waits for a on edge 1") {
		t.Errorf("%v", err)
	}
}

package cost

import (
	"math"
	"strings"
	"testing"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/plan"
)

// Edges of the planted programs; those after the plan's are where replicas meet at Next.
const (
	steps = iota
	weights
	up
	down
)

// coarse returns the plan of k collectors and a learner, one on each worker.
func coarse(k int) plan.Plan {
	p := plan.Plan{
		Policy: "an author's own", Shards: k, Owner: "learner",
		Grouping: plan.Grouping{Name: "own", Groups: []plan.Group{{Name: "collector", Over: fdg.Environments}, {Name: "learner", Over: fdg.None}}},
		Edges:    []plan.Edge{{Name: "steps", Operator: fdg.Gather, From: "collector", To: "learner"}, {Name: "weights", Operator: fdg.Broadcast, From: "learner", To: "collector"}},
	}
	for i := range k {
		p.Replicas = append(p.Replicas, plan.Replica{Group: "collector", Rank: i, First: i, Last: i + 1, Worker: i, Device: plan.CPU})
	}
	p.Replicas = append(p.Replicas, plan.Replica{Group: "learner", Last: k, Device: plan.CPU})
	return p
}

// played returns the tape of a replica that does the same in every iteration.
func played(iterations int, once ...taped) *tape {
	t := &tape{}
	for range iterations {
		t.marks = append(t.marks, len(t.steps))
		t.steps = append(t.steps, once...)
	}
	t.marks = append(t.marks, len(t.steps))
	return t
}

func works(seconds float64) taped {
	return taped{Step: Step{Do: Compute, Seconds: seconds}, cpu: seconds}
}

func message(do Action, edge, peer int, bytes float64) taped {
	return taped{Step: Step{Do: do, Edge: edge, Bytes: bytes}, peer: peer}
}

// recorded returns a recording of k collectors, which collect for .1 s and 8 s in proportion to
// their share and send 1000 bytes in proportion to it, and of a learner, which learns for 2 s.
func recorded(k int) *Recording {
	r := &Recording{Plan: coarse(k), Iterations: 3, Steps: 300, Memory: int64(1000 + 10*k)}
	share := 1 / float64(k)
	learner := []taped{}
	for i := range k {
		r.tapes = append(r.tapes, played(3,
			works(.1+8*share), message(Send, steps, k, 1000*share), message(Take, weights, k, 0), works(0), message(Send, up, k, 0), message(Take, down, k, 0)))
		learner = append(learner, message(Take, steps, i, 0))
	}
	learner = append(learner, works(2))
	for _, what := range []taped{message(Send, weights, 0, 50), message(Take, up, 0, 0), message(Send, down, 0, 0)} {
		for i := range k {
			what.peer = i
			learner = append(learner, what)
		}
	}
	r.tapes = append(r.tapes, played(3, learner...))
	return r
}

// apart returns a site of machines with one core each, and a link between them.
func apart(workers int, l Link) Site {
	s := Site{Links: Links{Net: l}}
	for i := range workers {
		s.Cluster.Workers = append(s.Cluster.Workers, plan.Worker{Name: "w", Host: string(rune('a' + i)), Cores: 1, Devices: []string{plan.CPU}})
	}
	return s
}

func planted(t *testing.T) *Model {
	t.Helper()
	m, err := NewModel(recorded(2), recorded(4))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestPredict: what was recorded with two and four replicas is predicted for any number, by hand:
// an iteration is collecting, a message in its turn, learning, a message.
func TestPredict(t *testing.T) {
	m := planted(t)
	for k, want := range map[int]float64{1: .1 + 8 + 2, 2: .1 + 4 + 2, 3: .1 + 8./3 + 2, 8: .1 + 1 + 2} {
		got, err := Predict(m, coarse(k), plan.Facts{}, apart(k, Link{}))
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got.Seconds-want) > 1e-9 || math.Abs(got.StepsPerSecond-100/want) > 1e-6 {
			t.Errorf("%d collectors: %+v, want %v", k, got, want)
		}
	}
	// Two collectors of which the second is on another machine: its 500 bytes take 5 s, the
	// learner's 50 bytes half a second; the learner's own machine waits for nothing.
	got, err := Predict(m, coarse(2), plan.Facts{}, apart(2, Link{Bandwidth: 100, Wired: true}))
	if want := 4.1 + 5 + 2 + .5; err != nil || math.Abs(got.Seconds-want) > 1e-9 {
		t.Errorf("%+v, %v, want %v", got, err, want)
	}
}

// TestUneven: replicas with more environments take longer.
func TestUneven(t *testing.T) {
	got, err := Predict(planted(t), coarse(3), plan.Facts{Envs: 8, Block: 1}, apart(3, Link{}))
	if want := .1 + 8*3./8 + 2; err != nil || math.Abs(got.Seconds-want) > 1e-9 {
		t.Errorf("%+v, %v, want %v", got, err, want)
	}
}

// TestCrowd: lanes of one process share its cores.
func TestCrowd(t *testing.T) {
	s := apart(4, Link{})
	s.Lanes, s.Cores = true, 2
	for i := range s.Cluster.Workers {
		s.Cluster.Workers[i].Host = "local"
	}
	got, err := Predict(planted(t), coarse(4), plan.Facts{}, s)
	if want := 2*(.1+2) + 2; err != nil || math.Abs(got.Seconds-want) > 1e-9 {
		t.Errorf("%+v, %v, want %v", got, err, want)
	}
}

// TestHosts: workers of one machine share the cores of all of them, and a device is computed on
// alone.
func TestHosts(t *testing.T) {
	s := apart(4, Link{})
	for i := range s.Cluster.Workers {
		s.Cluster.Workers[i].Host = "local"
	}
	got, err := Predict(planted(t), coarse(4), plan.Facts{}, s)
	if want := .1 + 2 + 2.; err != nil || math.Abs(got.Seconds-want) > 1e-9 {
		t.Errorf("%+v, %v, want %v", got, err, want)
	}
	p := coarse(4)
	for i := range p.Replicas {
		p.Replicas[i].Device = "gpu:0"
	}
	s.Speeds = map[string][2]float64{"local": {1, 10}}
	got, err = Predict(planted(t), p, plan.Facts{}, s)
	if want := (4*(.1+2) + 2.) / 10; err != nil || math.Abs(got.Seconds-want) > 1e-9 {
		t.Errorf("on one device: %+v, %v, want %v", got, err, want)
	}
}

// TestMemory: a plan that does not fit is refused, and said where.
func TestMemory(t *testing.T) {
	s := apart(2, Link{})
	s.Cluster.Workers[0].Memory = 512
	_, err := Predict(planted(t), coarse(2), plan.Facts{}, s)
	if err == nil || !strings.Contains(err.Error(), "worker w has 0.0 GiB of memory") {
		t.Errorf("%v", err)
	}
}

// TestOutliers: what the machine did meanwhile hardly counts.
func TestOutliers(t *testing.T) {
	var s sum
	for range 9 {
		s.add(1, 1.5)
	}
	s.add(1000, 1.5)
	if got := s.mean(); math.Abs(got-1.2) > 1e-9 {
		t.Errorf("%v", got)
	}
}

// TestCollectives: all-reduce meets at the first replica, all-gather at every one.
func TestCollectives(t *testing.T) {
	m := &Model{Edges: []plan.Edge{{Operator: fdg.AllReduce}, {Operator: fdg.AllGather}, {Operator: fdg.Scatter}}}
	first, second := who{0, 0, 2}, who{0, 1, 2}
	for _, test := range []struct {
		edge     int
		do       Action
		peer, me who
		rank     int
		want     []int // of four replicas
	}{
		{0, Take, second, first, 0, []int{1, 2, 3}},
		{0, Send, first, second, 2, []int{0}},
		{1, Send, first, second, 2, []int{0, 1, 3}},
		{2, Send, second, who{1, 0, 1}, -1, []int{2, 3}},
	} {
		w, _, err := m.whom(message(test.do, test.edge, 0, 0), test.peer, test.me)
		got := w.ranks(4, test.rank)
		if err != nil || len(got) != len(test.want) {
			t.Errorf("%+v: %v, %v", test, got, err)
			continue
		}
		for i := range got {
			if got[i] != test.want[i] {
				t.Errorf("%+v: %v", test, got)
			}
		}
	}
}

// TestTaping: what recording takes is in no time, and waking a goroutine takes some.
func TestTaping(t *testing.T) {
	if s := taping(); s <= 0 || s > .01 {
		t.Errorf("taping takes %v s", s)
	}
	if s := laneLatency(); s <= 0 || s > 1 {
		t.Errorf("a message takes %v s", s)
	}
}

// TestFit: a model whose recordings took longer without turns than it predicts for them is
// corrected on lanes of this process, and nowhere else.
func TestFit(t *testing.T) {
	two, four := recorded(2), recorded(4)
	m, err := NewModel(two, four)
	if err != nil {
		t.Fatal(err)
	}
	lanes := func(workers int) Site {
		s := apart(workers, Link{})
		s.Lanes, s.Cores = true, 8
		return s
	}
	two.Free, four.Free = 6.1*1.5, 4.1*1.2 // of 6.1 s and 4.1 s that are simulated
	m.fit(plan.Facts{}, lanes, two, four)
	between := math.Sqrt(1.5*1.2) * math.Pow(1.2/1.5, math.Log2(3./2)-.5)
	for k, want := range map[int]float64{2: 6.1 * 1.5, 3: (.1 + 8./3 + 2) * between, 4: 4.1 * 1.2, 8: 3.1 * 1.2} {
		got, err := Predict(m, coarse(k), plan.Facts{}, lanes(k))
		if err != nil || math.Abs(got.Seconds-want) > 1e-9 {
			t.Errorf("%d collectors on lanes: %+v, %v, want %v", k, got, err, want)
		}
	}
	if got, err := Predict(m, coarse(2), plan.Facts{}, apart(2, Link{})); err != nil || math.Abs(got.Seconds-6.1) > 1e-9 {
		t.Errorf("on machines of their own: %+v, %v, want 6.1", got, err)
	}
	busy := &Model{}
	two.Free = 100
	busy.Ratios = []Ratio{two.ratio(1)}
	if got := busy.ratio(2); got != loose {
		t.Errorf("a ratio of 100 became %v, want %v", got, loose)
	}
}

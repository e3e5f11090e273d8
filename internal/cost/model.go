package cost

import (
	"fmt"
	"slices"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/plan"
)

// Model is the programs of one grouping, for any number of replicas: the steps of a recorded plan,
// with computations whose time depends on the share of the environments that a replica has, and
// with peers that are rules instead of numbers. It knows no policy.
type Model struct {
	Grouping   plan.Grouping
	Edges      []plan.Edge
	Owner      string
	Iterations int // that every program has
	EnvSteps   float64
	Programs   []Pair // by group
	// Memory is the bytes that one replica of everything holds, PerReplica what each further shard
	// adds.
	Memory, PerReplica float64
	// Ratios corrects what is predicted for lanes of the process that recorded the programs.
	Ratios []Ratio
}

// Pair is the programs of a group: the first replica's may differ from the others'.
type Pair struct{ First, Others []Sketch }

// Sketch is a step of a program for any number of replicas.
type Sketch struct {
	Do    Action
	Time  Line    // of a computation, by the replica's share
	Cores float64 // that it uses
	Edge  int
	Whom  Whom
	Bytes float64 // of a message; of all environments if ByShare is set
	// ByShare says whose share a message's size follows.
	ByShare Side
}

// Line is a time that grows with a share: Fixed + share x Whole.
type Line struct{ Fixed, Whole float64 }

// At returns the time of a share.
func (l Line) At(share float64) float64 { return l.Fixed + share*l.Whole }

// Side is an end of a message.
type Side uint8

// The sides.
const (
	Neither  Side = iota // of any share it is the same
	Sender               // of the sender's rows
	Receiver             // of the receiver's
)

// Whom says which replicas of a group a message is for, or from: all of Part's fraction, in order.
type Whom struct {
	Group int
	Rule  Rule
	// Lo to Hi is the fraction of the ranks, where parts of them are met one after another.
	Lo, Hi float64
}

// Rule is how a peer is found.
type Rule uint8

// The rules.
const (
	Ranks  Rule = iota // a fraction of all ranks
	FirstR             // rank 0
	Rest               // all but the replica itself
)

// ranks returns the peers among k replicas of the group, for the replica of rank me of it, or -1.
func (w Whom) ranks(k, me int) (out []int) {
	switch w.Rule {
	case FirstR:
		return []int{0}
	case Rest:
		for r := range k {
			if r != me {
				out = append(out, r)
			}
		}
		return out
	}
	for r := int(w.Lo * float64(k)); r < int(w.Hi*float64(k)+1e-9); r++ {
		out = append(out, r)
	}
	return out
}

// who is a replica of a recording.
type who struct{ group, rank, of int }

// replicas returns those of a plan, by number.
func replicas(p plan.Plan) (out []who) {
	for g, group := range p.Groups {
		n := len(p.Of(group.Name))
		for r := range n {
			out = append(out, who{g, r, n})
		}
	}
	return out
}

// Plain returns the model of the plain loop, or of one device program.
func Plain(r *Recording) *Model {
	var all sum
	for i := range r.Iterations {
		total, cpu := 0.0, 0.0
		for _, s := range r.iteration(0, i) {
			total, cpu = total+s.Seconds, cpu+s.cpu
		}
		all.add(total, cpu)
	}
	step := Sketch{Do: Compute, Time: Line{Fixed: all.mean()}, Cores: all.cores()}
	return &Model{Iterations: 1, EnvSteps: float64(r.Steps) / float64(r.Iterations), Programs: []Pair{{First: []Sketch{step}}}, Memory: float64(r.Memory)}
}

// NewModel makes the model of a grouping from recordings with different numbers of replicas, the
// first of them with two of each replicated group.
func NewModel(all ...*Recording) (*Model, error) {
	r := all[0]
	m := &Model{Grouping: r.Plan.Grouping, Edges: r.Plan.Edges, Owner: r.Plan.Owner, Iterations: r.Iterations, EnvSteps: float64(r.Steps) / float64(r.Iterations)}
	times := newTimes(all)
	at := replicas(r.Plan)
	for g, group := range m.Grouping.Groups {
		var p Pair
		for number, w := range at {
			if w.group != g || w.rank > 1 {
				continue
			}
			steps, err := m.sketch(r, number, at, times)
			if err != nil {
				return nil, fmt.Errorf("%s %d: %w", group.Name, w.rank, err)
			}
			if w.rank == 0 {
				p.First = steps
			} else {
				p.Others = steps
			}
		}
		m.Programs = append(m.Programs, p)
	}
	m.Memory = float64(r.Memory)
	if len(all) > 1 {
		more := float64(len(all[1].Plan.Replicas) - len(r.Plan.Replicas))
		m.PerReplica = max(0, float64(all[1].Memory-r.Memory)/max(1, more))
		m.Memory = max(0, m.Memory-2*m.PerReplica)
	}
	return m, nil
}

// sketch makes a program of a replica's tape.
func (m *Model) sketch(r *Recording, number int, at []who, times *times) (out []Sketch, err error) {
	me := at[number]
	share := shares(r.Plan, me)
	for i := range r.Iterations {
		steps := r.iteration(number, i)
		for j, s := range steps {
			if s.Do == Compute {
				time, cores := times.of(key(me, steps, j), m.Grouping.Groups[me.group].Over != fdg.None)
				out = append(out, Sketch{Do: Compute, Time: time, Cores: cores})
				continue
			}
			whom, side, err := m.whom(s, at[s.peer], me)
			if err != nil {
				return nil, err
			}
			x := Sketch{Do: s.Do, Edge: s.Edge, Whom: whom, Bytes: s.Bytes, ByShare: side}
			switch {
			case side == Sender:
				x.Bytes /= share
			case side == Receiver:
				x.Bytes /= shares(r.Plan, at[s.peer])
			}
			out = append(out, x)
		}
	}
	return out, nil
}

// shares returns the part of its group's axis that a recorded replica has.
func shares(p plan.Plan, w who) float64 {
	r := p.Of(p.Groups[w.group].Name)[w.rank]
	return float64(r.Last-r.First) / float64(p.Shards)
}

// whom turns the peer of a recorded message into a rule, by the operator of its edge. Edges after
// the plan's are those on which replicas meet at Next.
func (m *Model) whom(s taped, peer, me who) (Whom, Side, error) {
	w := Whom{Group: peer.group, Lo: float64(peer.rank) / float64(peer.of), Hi: float64(peer.rank+1) / float64(peer.of)}
	if s.Edge >= len(m.Edges) {
		switch owner := slices.IndexFunc(m.Grouping.Groups, func(g plan.Group) bool { return g.Name == m.Owner }); {
		case peer.group == owner && peer.rank == 0:
			w.Rule = FirstR
		case peer.group == me.group:
			w.Rule = Rest
		}
		return w, Neither, nil
	}
	switch op := m.Edges[s.Edge].Operator; op {
	case fdg.Gather, fdg.Reduce:
		if op == fdg.Gather && s.Do == Send && me.of > 1 {
			return w, Sender, nil
		}
	case fdg.Scatter:
		if s.Do == Send {
			return w, Receiver, nil
		}
		w.Rule = FirstR
	case fdg.Broadcast, fdg.Send:
		if s.Do == Take {
			w.Rule = FirstR
		}
	case fdg.AllReduce:
		if w.Rule = Rest; peer.rank == 0 {
			w.Rule = FirstR
		}
	case fdg.AllGather:
		w.Rule = Rest
		return w, Sender, nil
	default:
		return w, Neither, fmt.Errorf("edge %s is carried by %q, which the model does not know", m.Edges[s.Edge].Name, op)
	}
	return w, Neither, nil
}

// spot is a place in a program: the computation of a group between two kinds of messages.
type spot struct {
	group        int
	first        bool
	before, next int
}

// key returns the spot of a computation.
func key(me who, steps []taped, j int) spot {
	sign := func(i int) int {
		if i < 0 || i >= len(steps) || steps[i].Do == Compute {
			return -1
		}
		return 2*steps[i].Edge + int(steps[i].Do-Send)
	}
	return spot{me.group, me.rank == 0, sign(j - 1), sign(j + 1)}
}

// times are the mean times of spots in recordings.
type times struct {
	shares []float64 // of replicated groups, by recording
	sums   []map[spot]*sum
}

// sum is the times of one computation, again and again.
type sum struct {
	seconds  []float64
	all, cpu float64
}

func (s *sum) add(seconds, cpu float64) {
	s.seconds = append(s.seconds, seconds)
	s.all, s.cpu = s.all+seconds, s.cpu+cpu
}

// outlier is how many times the median a time may be. Longer ones are the machine's doing: it did
// something else meanwhile.
const outlier = 3

// mean returns the mean time, in which outliers count as much as they may be at most.
func (s *sum) mean() float64 {
	order := slices.Sorted(slices.Values(s.seconds))
	most, total := outlier*order[len(order)/2], 0.0
	for _, x := range order {
		total += min(x, most)
	}
	return total / float64(len(order))
}

// cores returns how many the computation uses.
func (s *sum) cores() float64 { return max(1, s.cpu/max(s.all, 1e-12)) }

func newTimes(all []*Recording) *times {
	t := &times{}
	for _, r := range all {
		sums := map[spot]*sum{}
		for number, w := range replicas(r.Plan) {
			for i := range r.Iterations {
				steps := r.iteration(number, i)
				for j, s := range steps {
					if s.Do != Compute {
						continue
					}
					k := key(w, steps, j)
					if sums[k] == nil {
						sums[k] = &sum{}
					}
					sums[k].add(s.Seconds, s.cpu)
				}
			}
		}
		t.shares, t.sums = append(t.shares, 1/float64(r.Plan.Shards)), append(t.sums, sums)
	}
	return t
}

// of returns the time of a spot by share, and the cores that it uses. What is not replicated has
// one time for all shares; of what is, two recordings make a line, and one a proportion.
func (t *times) of(k spot, replicated bool) (Line, float64) {
	a := t.sums[0][k]
	mean, cores := a.mean(), a.cores()
	if !replicated {
		return Line{Fixed: mean}, cores
	}
	if len(t.sums) > 1 {
		if b := t.sums[1][k]; b != nil && t.shares[0] != t.shares[1] {
			whole := (mean - b.mean()) / (t.shares[0] - t.shares[1])
			whole = min(max(0, whole), mean/t.shares[0])
			return Line{Fixed: mean - whole*t.shares[0], Whole: whole}, cores
		}
	}
	return Line{Whole: mean / t.shares[0]}, cores
}

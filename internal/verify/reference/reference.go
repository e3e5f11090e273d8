// Package reference computes the expected result of replicated learners: k plain loops, each on its
// own environments, that synchronise at gradients and where an operation needs all rows. It knows
// nothing of graphs, plans, programs or edges, so that a test can compare these with it.
package reference

import (
	"errors"
	"slices"
	"sync"

	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/rl"
)

// Config is a run of several learners.
type Config struct {
	Backend compute.Backend
	Seed    uint64
	Loops   int // learners
	Steps   int64
	Build   func(*rl.Scope) (rl.Trainer, error)
	// Whole are the names of the graph functions that need all rows.
	Whole []string
	// Cut, unless nil, is called at every consistent point of every loop, by its
	// goroutine; rl.ErrStop ends the loop there.
	Cut func(rl.Cut) error
	// Observe, unless nil, returns the observer of a loop's operations.
	Observe func(rank int) rl.Observer
}

// Train runs the loops to their end and gives their scopes.
func Train(c Config) ([]*rl.Scope, error) {
	t := &table{loops: c.Loops, parts: make([]any, c.Loops)}
	t.all.L = &t.mu
	scopes, errs := make([]*rl.Scope, c.Loops), make([]error, c.Loops)
	var loops sync.WaitGroup
	for r := range c.Loops {
		dev := rl.NewDevice(c.Backend)
		s := rl.NewScope(dev, c.Seed).Shard(r, c.Loops)
		scopes[r] = s
		trainer, err := c.Build(s)
		if err != nil {
			t.leave() // the loops before it
			loops.Wait()
			return nil, err
		}
		rl.System.JoinLoops(dev, &seat{table: t, rank: r, dev: dev, own: s.Envs(), whole: c.Whole})
		if c.Observe != nil {
			rl.System.Observe(s, c.Observe(r))
		}
		loops.Go(func() {
			if errs[r] = rl.Train(trainer, rl.NewRun(s, c.Steps, c.Cut)); errs[r] != nil {
				t.leave()
			}
		})
	}
	loops.Wait()
	return scopes, errors.Join(errs...)
}

// table is where loops meet: every one puts something on it and, when all have,
// takes everything.
type table struct {
	loops int
	mu    sync.Mutex
	all   sync.Cond
	parts []any
	put   int // on the table
	round int
	last  []any // values of the previous round
	left  bool  // a loop failed
}

func (t *table) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left = true
	t.all.Broadcast()
}

// meet gives what all loops brought.
func (t *table) meet(rank int, mine any) []any {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parts[rank] = mine
	t.put++
	round := t.round
	if t.put == t.loops {
		t.last, t.put, t.round = slices.Clone(t.parts), 0, t.round+1
		t.all.Broadcast()
	}
	for t.round == round && !t.left {
		t.all.Wait()
	}
	if t.round == round {
		rl.Failf("another loop failed")
	}
	return t.last
}

// seat is a loop's place at the table.
type seat struct {
	*table
	rank  int
	dev   *rl.Device
	own   rl.Span
	whole []string
}

func (s *seat) Own() rl.Span { return s.own }

func (s *seat) Whole(name string) bool { return slices.Contains(s.whole, name) }

func (s *seat) All(mine rl.Tensor) (all rl.Tensor, lo, hi int) {
	var parts []rl.Tensor
	for r, p := range s.meet(s.rank, mine) {
		t := p.(rl.Tensor)
		if r == s.rank {
			hi = lo + t.Rows()
		} else if r < s.rank {
			lo += t.Rows()
		}
		parts = append(parts, s.dev.Tensor(flat(t), t.Shape()))
	}
	return rl.System.Concat(parts), lo, hi
}

type sum struct {
	weight rl.Tensor
	sums   []rl.Tensor
}

func (s *seat) Sum(weight rl.Tensor, sums []rl.Tensor) (rl.Tensor, []rl.Tensor) {
	all := s.meet(s.rank, sum{weight, sums})
	add := func(of func(sum) rl.Tensor) rl.Tensor {
		first := of(all[0].(sum))
		total := slices.Clone(rl.Read[float32](first))
		for _, p := range all[1:] {
			for i, x := range rl.Read[float32](of(p.(sum))) {
				total[i] += x
			}
		}
		return s.dev.Tensor(total, first.Shape())
	}
	out := make([]rl.Tensor, len(sums))
	for j := range sums {
		out[j] = add(func(p sum) rl.Tensor { return p.sums[j] })
	}
	w := add(func(p sum) rl.Tensor { return p.weight })
	s.meet(s.rank, nil) // all have read the parts, whose memory may now be used again
	return w, out
}

// flat returns a tensor's data in memory of its own.
func flat(t rl.Tensor) any {
	switch t.Shape().DType.String() {
	case "Bool":
		return slices.Clone(rl.Read[bool](t))
	case "Int32":
		return slices.Clone(rl.Read[int32](t))
	case "Float64":
		return slices.Clone(rl.Read[float64](t))
	}
	return slices.Clone(rl.Read[float32](t))
}

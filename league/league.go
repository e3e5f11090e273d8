// Package league keeps policies that were frozen on the way, as opponents for those that learn.
//
// A League is of two sides: the seats of a game, or the kinds of agents of an environment that play
// against each other. Each side has a learner and up to so many frozen policies, numbered from 1;
// number 0 is the learner. A game's cast is the numbers that play its sides.
//
// A loop plays games whose casts are drawn from Games, and gives Record how they ended: what a side
// earns against each policy of the other is the payoff matrix. Freeze adds the learners' policies
// as they are. Compare has frozen policies play each other, where least is known, and Respond has
// the learners play against frozen ones, chosen by Matchmaking: an equilibrium among the frozen
// policies (policy-space response oracles, Lanctot et al., 2017), all of them alike (fictitious
// play), the latest, or those that are hardest to beat (prioritised fictitious self-play, Vinyals
// et al., 2019).
//
// Frozen weights never change: their SHA-256 is kept from when they were frozen, and is checked
// whenever opponents are chosen.
package league

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/rl"
)

// League is frozen policies of two sides, what they earn against each other, and the chances of the
// next games' casts. It registers itself for the payoff matrix, and its weights and chances, which
// graph functions read, under names of their own.
//
//weft:component league axis=none home=apply copyable
type League struct {
	capacity int
	payoff
	frozen  [2]*rl.Params // weights by number and path, as in 3/policy/out/weights
	chances *rl.Params
	marks   [2][][sha256.Size]byte // of the weights as they were frozen, by number
	version int64
	scope   *rl.Scope
}

// New returns a league of up to capacity policies for each side. The first policy of each is what
// the sides' parameters are now, and learners play against it.
//
//weft:makes name=1
func New(s *rl.Scope, name string, capacity int, m Matchmaking, first, second *rl.Params) *League {
	if capacity < 1 {
		rl.Failf("league %q: capacity %d: it must be at least 1 policy for each side", name, capacity)
	}
	l := &League{capacity: capacity, payoff: newPayoff(capacity), scope: s}
	for side, p := range []*rl.Params{first, second} {
		l.frozen[side] = rl.NewParams(s, fmt.Sprintf("%s side %d", name, side), func(_ *rl.Ctx, sc *model.Scope) {
			for number := 1; number <= capacity; number++ {
				copies(sc.At("%d", number), p)
			}
		})
		l.marks[side] = make([][sha256.Size]byte, capacity+1)
	}
	l.chances = rl.NewParams(s, name+" chances", func(_ *rl.Ctx, sc *model.Scope) {
		sc.VariableWithValue("games", make([]float32, l.pairs()))
		for side := range 2 {
			sc.VariableWithValue(mixName(side), make([]float32, capacity+1))
		}
	})
	s.Register(name, l)
	for side, p := range []*rl.Params{first, second} {
		l.freeze(side, p)
	}
	l.Respond(m)
	return l
}

// copies makes variables of the paths and with the values of p.
func copies(sc *model.Scope, p *rl.Params) {
	values := p.Tensors()
	for i, path := range p.Paths() {
		at := strings.Split(path, "/")
		in := sc
		for _, name := range at[:len(at)-1] {
			in = in.At("%s", name)
		}
		v := values[i]
		in.VariableWithValue(at[len(at)-1], tensors.FromFlatDataAndDimensions(slices.Clone(rl.Read[float32](v)), v.Shape().Dimensions...))
	}
}

// Capacity returns the greatest number of a policy.
//
//weft:pure
func (l *League) Capacity() int { return l.capacity }

// Freeze adds a side's parameters, as they are, to its policies. If the league is full they take
// the place of the policy that is least likely to play, of several the oldest.
//
//weft:op op writes lends whole
func (l *League) Freeze(side int, p *rl.Params) {
	l.check()
	l.freeze(side, p)
	l.version++
}

func (l *League) freeze(side int, p *rl.Params) {
	number := l.place(side)
	values := l.frozen[side].Tensors()
	next := p.Tensors() // immutable, so that a copy shares them
	at := 0
	for i, path := range l.frozen[side].Paths() {
		if of, _, _ := strings.Cut(path, "/"); of == strconv.Itoa(number) {
			values[i] = next[at]
			at++
		}
	}
	if err := l.frozen[side].Adopt(values); err != nil || at != len(next) {
		rl.Failf("the league's side %d has other parameters than %q: %w", side, p.Name(), err)
	}
	l.enter(side, number)
	l.marks[side][number] = mark(next)
}

// place returns the number for a side's next policy.
func (l *League) place(side int) int {
	free := slices.Index(l.born[side][1:], 0)
	if free >= 0 {
		return free + 1
	}
	mix := l.mixed(side)
	least := 1
	for number := 2; number <= l.capacity; number++ {
		a, b := mix[number], mix[least]
		if a < b || a == b && l.born[side][number] < l.born[side][least] {
			least = number
		}
	}
	return least
}

// mark returns the SHA-256 of tensors' values.
func mark(values []rl.Tensor) [sha256.Size]byte {
	h := sha256.New()
	for _, v := range values {
		var b []byte
		for _, x := range rl.Read[float32](v) {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		h.Write(b)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// check fails if a policy has changed since it was frozen.
func (l *League) check() {
	for side, p := range l.frozen {
		values := p.Tensors()
		by := map[string][]rl.Tensor{}
		for i, path := range p.Paths() {
			number, _, _ := strings.Cut(path, "/")
			by[number] = append(by[number], values[i])
		}
		for number := 1; number <= l.capacity; number++ {
			if l.born[side][number] > 0 && mark(by[strconv.Itoa(number)]) != l.marks[side][number] {
				rl.Failf("policy %d of the league's side %d is not what was frozen: restore a checkpoint from before", number, side)
			}
		}
	}
}

// Weights returns the GoMLX scope that holds the weights of a side's policy.
//
//weft:traces
func (l *League) Weights(c *rl.Ctx, side, number int) *model.Scope {
	return c.Scope(l.frozen[side]).At("%d", number)
}

// Games returns the chances of casts, for Pick: [pairs] float32. Pair (capacity+1) a + b is that of
// number a of the first side against number b of the second.
//
//weft:traces
func (l *League) Games(c *rl.Ctx) *graph.Node { return l.chance(c, "games", l.pairs()) }

// Mixture returns the chances of a side's policies, for Pick: [numbers] float32. It is what a side
// plays after training.
//
//weft:traces
func (l *League) Mixture(c *rl.Ctx, side int) *graph.Node {
	return l.chance(c, mixName(side), l.capacity+1)
}

// mixName returns the name of the chances of a side's policies.
func mixName(side int) string { return fmt.Sprintf("mix_%d", side) }

func (l *League) chance(c *rl.Ctx, name string, n int) *graph.Node {
	shape := shapes.Make(l.chances.Tensors()[0].Shape().DType, n)
	return c.Scope(l.chances).VariableWithShape(name, shape).NodeValue(c.Graph())
}

// Axis returns that a league cannot be split: every replica has all policies.
func (l *League) Axis() rl.Axis { return rl.None }

// Version counts the changes of what graph functions read.
func (l *League) Version() int64 { return l.version }

// Tensors returns the weights of both sides, and the chances.
func (l *League) Tensors() []rl.Tensor {
	return slices.Concat(l.frozen[0].Tensors(), l.frozen[1].Tensors(), l.chances.Tensors())
}

// Adopt replaces what graph functions read by another league's Tensors.
func (l *League) Adopt(values []rl.Tensor) error {
	for _, p := range []*rl.Params{l.frozen[0], l.frozen[1], l.chances} {
		n := len(p.Paths())
		if len(values) < n {
			return fmt.Errorf("a copy of the league arrived with too few tensors")
		}
		if err := p.Adopt(values[:n]); err != nil {
			return err
		}
		values = values[n:]
	}
	l.version++
	return nil
}

// Save puts the payoff matrix and the marks of frozen weights. The weights are saved under their
// own name.
func (l *League) Save(s *rl.State) {
	l.save(s)
	var marks []uint64
	for side := range 2 {
		for _, m := range l.marks[side] {
			for i := 0; i < len(m); i += 8 {
				marks = append(marks, binary.LittleEndian.Uint64(m[i:]))
			}
		}
	}
	rl.PutSlice(s, "marks", marks)
}

// Load takes back what Save put.
func (l *League) Load(s *rl.State) error {
	const words = sha256.Size / 8
	marks := rl.GetSliceN[uint64](s, "marks", 2*(l.capacity+1)*words)
	if err := l.load(s); err != nil {
		return err
	}
	for side := range 2 {
		for number := range l.marks[side] {
			for i := range words {
				w := marks[(side*(l.capacity+1)+number)*words+i]
				binary.LittleEndian.PutUint64(l.marks[side][number][8*i:], w)
			}
		}
	}
	l.version++
	return nil
}

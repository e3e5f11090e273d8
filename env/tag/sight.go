package tag

import (
	"math"
	"math/bits"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/rl"
)

// pairs are all pairs of some agents and some others: from looks at to. Whatever
// comes of them, [env, from, to], is to end in a reduction.
type pairs struct {
	from, to bodies
	there    *Node // [env, to] bool: who can be seen; nil is all
	mates    bool  // from and to are the same agents, who do not see themselves
}

// distance returns the squared distance of each pair.
func (p pairs) distance() *Node {
	n, m := p.from.agents(), p.to.agents()
	dx := Sub(across(p.to.x, 1, n), across(p.from.x, 2, m))
	dy := Sub(across(p.to.y, 1, n), across(p.from.y, 2, m))
	return Add(Square(dx), Square(dy))
}

// visible returns which pairs see each other; nil is all.
func (p pairs) visible() *Node {
	n, m := p.from.agents(), p.to.agents()
	var seen *Node
	if p.there != nil {
		seen = across(p.there, 1, n)
	}
	if p.mates {
		s := shapes.Make(dtypes.Int32, p.from.rows(), n, m)
		other := NotEqual(Iota(p.from.x.Graph(), s, 1), Iota(p.from.x.Graph(), s, 2))
		if seen != nil {
			other = LogicalAnd(other, seen)
		}
		seen = other
	}
	return seen
}

// mostBits is how many bits of an order may be the agent's: 7 of the distance's
// fraction are left, which is 1 percent.
const mostBits = 16

// nobody comes after everybody in an order.
const nobody = math.MaxInt32

// order returns an integer for each pair, the smaller the nearer. Distances are no less
// than 0, so that their bits are ordered as they are; the lowest make room for the
// number of the agent, so that no two are equal and a minimum says whose it is.
// Distances that differ by less than what is left of them count as equal.
func (p pairs) order() *Node {
	far := Bitcast(p.distance(), dtypes.Int32)
	mask := p.mask()
	key := BitwiseOr(BitwiseAnd(far, ConstAs(far, ^mask)), Iota(far.Graph(), far.Shape(), 2))
	if seen := p.visible(); seen != nil {
		key = Where(seen, key, BroadcastToShape(ConstAs(key, int32(nobody)), key.Shape()))
	}
	return key
}

// mask returns the bits of an order that are the agent's.
func (p pairs) mask() int32 { return 1<<bits.Len(uint(p.to.agents()-1)) - 1 }

// nearest returns the k nearest, nearest first: their numbers, and whether there are so
// many, [env, from, k].
func (p pairs) nearest(k int) (who, there *Node) {
	key := p.order()
	none := BroadcastToShape(ConstAs(key, int32(nobody)), key.Shape())
	found := make([]*Node, k)
	for i := range found {
		later := key
		if i > 0 {
			later = Where(GreaterThan(key, across(found[i-1], 2, p.to.agents())), key, none)
		}
		found[i] = ReduceMin(later, 2)
	}
	all := Stack(found, 2)
	there = LessThan(all, ConstAs(all, int32(nobody)))
	who = BitwiseAnd(all, ConstAs(all, p.mask()))
	return MinScalar(who, p.to.agents()-1), there
}

// What an agent sees: of itself its place, speed, acceleration and direction, and
// the time; of another one the direction to it, the distance, its velocity relative
// to the agent's own, and 1 if it is there. Directions are relative to the agent's.
const (
	ownWidth  = 7
	seenWidth = 6
)

// seen returns how many others a kind's agents see, of the other kind and of their own.
func (d game) seen(kind int) (others, mates int) {
	own, other := d.Taggers, d.Runners
	if kind == 1 {
		own, other = other, own
	}
	if others = other; d.Neighbours > 0 {
		others = min(d.Neighbours, other)
	}
	return others, min(d.Mates, own-1)
}

func (d game) width(kind int) int {
	others, mates := d.seen(kind)
	return ownWidth + seenWidth*(others+mates)
}

func (d game) Observe(_ *rl.Ctx, tree rl.Tree) []rl.Obs {
	s := stateOf(tree)
	out := make([]rl.Obs, len(d.learners()))
	out[0].X = rl.One(agentAxis(d.observe(s, 0)))
	if len(out) > 1 {
		x := d.observe(s, 1)
		if d.Leave { // who is out of play sees nothing
			x = Where(across(s.playing, 2, d.width(1)), x, ZerosLike(x))
			out[1].Alive = agentAxis(s.playing)
		}
		out[1].X = rl.One(agentAxis(x))
	}
	return out
}

// observe returns what a kind's agents see, [env, agent, width].
func (d game) observe(s state, kind int) *Node {
	taggers, runners := s.part(0, d.Taggers), s.part(d.Taggers, d.agents())
	toOthers := pairs{from: taggers, to: runners, there: s.playing}
	toMates := pairs{from: taggers, to: taggers, mates: true}
	if kind == 1 {
		toOthers = pairs{from: runners, to: taggers}
		toMates = pairs{from: runners, to: runners, there: s.playing, mates: true}
	}
	parts := d.own(toOthers.from, s.time)
	others, mates := d.seen(kind)
	if d.Neighbours > 0 {
		parts = append(parts, d.closest(toOthers, others)...)
	} else {
		parts = append(parts, d.everybody(toOthers)...)
	}
	if mates > 0 {
		parts = append(parts, d.closest(toMates, mates)...)
	}
	return Concatenate(parts, 2)
}

// own returns what agents see of themselves, [env, agent, 1] each.
func (d game) own(b bodies, time *Node) []*Node {
	out := []*Node{
		AddScalar(MulScalar(b.x, 2/d.Size), -1), AddScalar(MulScalar(b.y, 2/d.Size), -1),
		DivScalar(b.speed, d.fastest()), DivScalar(b.push, d.fastest()), Cos(b.heading), Sin(b.heading),
		each(DivScalar(float(time), float64(d.Length)), b.agents()),
	}
	for i, x := range out {
		out[i] = ExpandAxes(x, 2)
	}
	return out
}

func (d game) fastest() float64 { return max(d.TaggerSpeed, d.RunnerSpeed) }

// closest returns what agents see of the k nearest, [env, agent, k] each.
func (d game) closest(p pairs, k int) []*Node {
	who, there := p.nearest(k)
	n, m := p.to.rows(), p.to.agents()
	vx, vy := p.to.velocity()
	facts := Reshape(Stack([]*Node{p.to.x, p.to.y, vx, vy}, 2), n*m, 4)
	row := MulScalar(Iota(who.Graph(), who.Shape(), 0), m)
	found := Gather(facts, Reshape(Add(who, row), -1, 1))
	at := func(i int) *Node { return Reshape(SliceAxis(found, 1, AxisRange(i, i+1)), who.Shape().Dimensions...) }
	return d.look(p.from, at(0), at(1), at(2), at(3), there)
}

// everybody returns what agents see of all others, [env, agent, other] each.
func (d game) everybody(p pairs) []*Node {
	vx, vy := p.to.velocity()
	n := p.from.agents()
	at := func(x *Node) *Node { return across(x, 1, n) }
	there := p.visible()
	if there == nil {
		there = BroadcastToDims(Const(vx.Graph(), true), p.to.rows(), n, p.to.agents())
	}
	return d.look(p.from, at(p.to.x), at(p.to.y), at(vx), at(vy), there)
}

// look returns others' places and velocities, [env, agent, k], as agents see them.
func (d game) look(from bodies, x, y, vx, vy, there *Node) []*Node {
	k := x.Shape().Dimensions[2]
	mine := func(x *Node) *Node { return across(x, 2, k) }
	cos, sin := mine(Cos(from.heading)), mine(Sin(from.heading))
	turned := func(x, y *Node) (ahead, left *Node) {
		return Add(Mul(x, cos), Mul(y, sin)), Sub(Mul(y, cos), Mul(x, sin))
	}
	myVX, myVY := from.velocity()
	ahead, left := turned(Sub(x, mine(from.x)), Sub(y, mine(from.y)))
	far := Sqrt(Add(Square(ahead), Square(left)))
	on, off := turned(Sub(vx, mine(myVX)), Sub(vy, mine(myVY)))
	near := MaxScalar(far, 1e-6) // who is at the same place is in no direction
	here := float(there)
	out := []*Node{
		Div(ahead, near), Div(left, near), DivScalar(far, d.Size),
		DivScalar(on, d.fastest()), DivScalar(off, d.fastest()),
	}
	for i, x := range out {
		out[i] = Mul(x, here)
	}
	return append(out, here)
}

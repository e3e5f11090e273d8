package nn

import (
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// Discrete is a distribution of whole numbers, one or several, independent of
// each other: what Categorical, MultiDiscrete and MultiBinary make.
//
// Options that a mask forbids have probability exactly 0, contribute nothing to
// the entropy and are never drawn, whatever their logits. Where a mask forbids
// every option of a number it is ignored for that number: the row has no sensible
// action, and an arbitrary one with finite probability lets rows that do not
// count, of agents out of play say, pass through a batch. The logarithm of the
// probability of an action that is forbidden is minus infinity.
type Discrete struct {
	logp  *Node // [rows..., numbers, options], 0 where not open
	open  *Node // bool: options that may be drawn; nil if all may
	start int
	one   bool // a single number, without an axis
}

// Categorical returns the distribution of one of k options by logits [rows..., k].
// legal, [rows..., k], is true for the options that are allowed; it may be
// absent.
func Categorical(logits *Node, legal rl.Tensor) *Discrete {
	d := MultiDiscrete(logits, []int{lastDim(logits)}, legal)
	d.one = true
	return d
}

// MultiDiscrete returns the distribution of several numbers, number i below sizes[i].
// Logits and masks have the options of all numbers one after another.
func MultiDiscrete(logits *Node, sizes []int, legal rl.Tensor) *Discrete {
	logits = table(number(logits), sizes)
	// Without a mask or gaps there is nothing to select, which on small batches
	// is half of the work.
	if !legal.Ok() && slices.Min(sizes) == slices.Max(sizes) {
		return newDiscrete(logits, nil)
	}
	open := BroadcastToDims(exists(logits, sizes), logits.Shape().Dimensions...)
	if legal.Ok() {
		allowed := LogicalAnd(open, table(truth(legal.Node()), sizes))
		none := LogicalNot(ReduceAndKeep(allowed, LogicalAny, -1))
		open = LogicalAnd(open, LogicalOr(allowed, BroadcastToDims(none, open.Shape().Dimensions...)))
	}
	return newDiscrete(logits, open)
}

// MultiBinary returns the distribution of zeros and ones, number i being 1 with
// probability sigmoid(logits[i]). A mask has two entries for each number, for 0
// and for 1.
func MultiBinary(logits *Node, legal rl.Tensor) *Discrete {
	logits = number(logits)
	sizes := slices.Repeat([]int{2}, lastDim(logits))
	pairs := Stack([]*Node{ZerosLike(logits), logits}, -1)
	return MultiDiscrete(Reshape(pairs, append(leadDims(logits), 2*len(sizes))...), sizes, legal)
}

// table returns [..., sum of sizes] as [..., numbers, largest size]; what fills short
// rows is zero.
func table(x *Node, sizes []int) *Node {
	lead := leadDims(x)
	total, widest := 0, 0
	for _, n := range sizes {
		total, widest = total+n, max(widest, n)
	}
	if lastDim(x) != total {
		rl.Failf("logits or mask %s: the last axis must have %d entries, the options of all numbers", x.Shape(), total)
	}
	if total == widest*len(sizes) {
		return Reshape(x, append(lead, len(sizes), widest)...)
	}
	rows := make([]*Node, len(sizes))
	at := 0
	for i, n := range sizes {
		rows[i] = SliceAxis(x, -1, AxisRange(at, at+n))
		if n < widest {
			shape := rows[i].Shape().Clone()
			shape.Dimensions[shape.Rank()-1] = widest - n
			rows[i] = Concatenate([]*Node{rows[i], Zeros(x.Graph(), shape)}, -1)
		}
		at += n
	}
	return Stack(rows, -2)
}

// exists returns true for the options of a table that stand for something.
func exists(x *Node, sizes []int) *Node {
	real := make([][]bool, len(sizes))
	for i, n := range sizes {
		real[i] = make([]bool, lastDim(x))
		for j := range n {
			real[i][j] = true
		}
	}
	return ExpandLeftToRank(Const(x.Graph(), real), x.Rank())
}

// newDiscrete normalises logits over the open options of each number.
func newDiscrete(logits, open *Node) *Discrete {
	d := &Discrete{open: open}
	// What is closed is replaced before any arithmetic, so that not even an
	// infinite logit matters there, nor its gradient.
	top := StopGradient(ReduceAndKeep(d.closed(logits, math.Inf(-1)), ReduceMax, -1))
	shifted := Sub(d.closed(logits, 0), top)
	total := ReduceAndKeep(d.closed(Exp(shifted), 0), ReduceSum, -1)
	d.logp = d.closed(Sub(shifted, Log(total)), 0)
	return d
}

// closed returns x with the options that are not open replaced.
func (d *Discrete) closed(x *Node, by float64) *Node {
	if d.open == nil {
		return x
	}
	return Where(d.open, x, ConstAs(x, by))
}

// From returns d for numbers that count from start.
func (d *Discrete) From(start int) *Discrete {
	from := *d
	from.start = start
	return &from
}

// Probs returns the probabilities, [rows..., options]; for several numbers [rows...,
// numbers, options], 0 beyond a number's own options.
func (d *Discrete) Probs() *Node {
	p := d.probs()
	if d.one {
		return Squeeze(p, -2)
	}
	return p
}

func (d *Discrete) probs() *Node { return d.closed(Exp(d.logp), 0) }

// Sample draws by the Gumbel-max trick.
//
//weft:draws
func (d *Discrete) Sample(c *rl.Ctx, use string) rl.Tree {
	return d.largest(Add(d.logp, c.Gumbel(use, d.logp.Shape().Dimensions...)))
}

// Mode returns the likeliest options, the first of equals.
func (d *Discrete) Mode() rl.Tree { return d.largest(d.logp) }

// best returns the index of the open option with the greatest score, for each number.
func (d *Discrete) best(score *Node) *Node {
	return ArgMax(d.closed(score, math.Inf(-1)), -1, dtypes.Int32)
}

// largest returns the open option with the greatest score, for each number.
func (d *Discrete) largest(score *Node) rl.Tree {
	best := d.best(score)
	if d.start != 0 {
		best = AddScalar(best, d.start)
	}
	if d.one {
		best = Squeeze(best, -1)
	}
	return rl.One(rl.Wrap(best))
}

// LogProb of actions [rows...], or [rows..., numbers], that are in range.
func (d *Discrete) LogProb(action rl.Tree) *Node {
	a := ConvertDType(node(action), dtypes.Int32)
	if d.start != 0 {
		a = SubScalar(a, d.start)
	}
	if d.one {
		a = ExpandAxes(a, -1)
	}
	index := BroadcastToDims(ExpandAxes(a, -1), d.logp.Shape().Dimensions...)
	hit := Equal(index, Iota(a.Graph(), index.Shape(), -1))
	if d.open == nil {
		return ReduceSum(Where(hit, d.logp, ConstAs(d.logp, 0.0)), -1, -2)
	}
	hit = LogicalAnd(d.open, hit)
	logp := ReduceSum(Where(hit, d.logp, ConstAs(d.logp, 0.0)), -1)
	return ReduceSum(Where(LogicalAny(hit, -1), logp, ConstAs(logp, math.Inf(-1))), -1)
}

// Entropy of all numbers together.
func (d *Discrete) Entropy() *Node { return Neg(ReduceSum(Mul(d.probs(), d.logp), -1, -2)) }

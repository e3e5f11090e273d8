package nn

import (
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
// probability of an action that is forbidden or out of range is minus infinity.
type Discrete struct {
	logp  *Node // [rows..., numbers, options], 0 where not open
	open  *Node // bool: options that may be drawn
	start int
	one   bool // a single number, without an axis
}

// Categorical is the distribution of one of k options by logits [rows..., k].
// legal, [rows..., k], is true for the options that are allowed; it may be
// absent.
func Categorical(logits *Node, legal rl.Tensor) *Discrete {
	d := MultiDiscrete(logits, []int{lastDim(logits)}, legal)
	d.one = true
	return d
}

// MultiDiscrete is the distribution of several numbers, number i below sizes[i].
// Logits and masks have the options of all numbers one after another.
func MultiDiscrete(logits *Node, sizes []int, legal rl.Tensor) *Discrete {
	logits = table(number(logits), sizes)
	open := BroadcastToDims(exists(logits, sizes), logits.Shape().Dimensions...)
	if legal.Ok() {
		allowed := LogicalAnd(open, table(truth(legal.Node()), sizes))
		none := LogicalNot(ReduceAndKeep(allowed, LogicalAny, -1))
		open = LogicalAnd(open, LogicalOr(allowed, BroadcastToDims(none, open.Shape().Dimensions...)))
	}
	return newDiscrete(logits, open)
}

// MultiBinary is the distribution of zeros and ones, number i being 1 with
// probability sigmoid(logits[i]). A mask has two entries for each number, for 0
// and for 1.
func MultiBinary(logits *Node, legal rl.Tensor) *Discrete {
	logits = number(logits)
	sizes := slices.Repeat([]int{2}, lastDim(logits))
	pairs := Stack([]*Node{ZerosLike(logits), logits}, -1)
	return MultiDiscrete(Reshape(pairs, append(leadDims(logits), 2*len(sizes))...), sizes, legal)
}

// table is [..., sum of sizes] as [..., numbers, largest size]; what fills short
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

// exists is true for the options of a table that stand for something.
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
	zero := ScalarZero(logits.Graph(), logits.DType())
	// What is closed is replaced before any arithmetic, so that not even an
	// infinite logit matters there, nor its gradient.
	lowest := Infinity(logits.Graph(), logits.DType(), -1)
	top := StopGradient(ReduceAndKeep(Where(open, logits, lowest), ReduceMax, -1))
	shifted := Sub(Where(open, logits, zero), top)
	total := ReduceAndKeep(Where(open, Exp(shifted), zero), ReduceSum, -1)
	return &Discrete{logp: Where(open, Sub(shifted, Log(total)), zero), open: open}
}

// From is d for numbers that count from start.
func (d *Discrete) From(start int) *Discrete {
	from := *d
	from.start = start
	return &from
}

// Probs are the probabilities, [rows..., options]; for several numbers [rows...,
// numbers, options], 0 beyond a number's own options.
func (d *Discrete) Probs() *Node {
	p := d.probs()
	if d.one {
		return Squeeze(p, -2)
	}
	return p
}

func (d *Discrete) probs() *Node {
	return Where(d.open, Exp(d.logp), ScalarZero(d.logp.Graph(), d.logp.DType()))
}

// Sample draws by the Gumbel-max trick.
func (d *Discrete) Sample(c *rl.Ctx, use string) rl.Tree {
	return d.largest(Add(d.logp, c.Gumbel(use, d.logp.Shape().Dimensions...)))
}

// Mode is the likeliest options, the first of equals.
func (d *Discrete) Mode() rl.Tree { return d.largest(d.logp) }

// largest is the open option with the greatest score, for each number.
func (d *Discrete) largest(score *Node) rl.Tree {
	lowest := Infinity(score.Graph(), score.DType(), -1)
	best := AddScalar(ArgMax(Where(d.open, score, lowest), -1, dtypes.Int32), d.start)
	if d.one {
		best = Squeeze(best, -1)
	}
	return rl.One(rl.Wrap(best))
}

// LogProb of actions [rows...], or [rows..., numbers].
func (d *Discrete) LogProb(action rl.Tree) *Node {
	a := SubScalar(ConvertDType(node(action), dtypes.Int32), d.start)
	if d.one {
		a = ExpandAxes(a, -1)
	}
	index := BroadcastToDims(ExpandAxes(a, -1), d.open.Shape().Dimensions...)
	hit := LogicalAnd(d.open, Equal(index, Iota(a.Graph(), index.Shape(), -1)))
	logp := ReduceSum(Where(hit, d.logp, ScalarZero(a.Graph(), d.logp.DType())), -1)
	impossible := Infinity(a.Graph(), logp.DType(), -1)
	return ReduceSum(Where(LogicalAny(hit, -1), logp, impossible), -1)
}

// Entropy of all numbers together.
func (d *Discrete) Entropy() *Node { return Neg(ReduceSum(Mul(d.probs(), d.logp), -1, -2)) }

package ptx

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/loops"
	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/rows"
)

// get returns the registers of a node, which is computed if it has not been on the way here.
func (w *writer) get(n *rows.Node) []string {
	for i := len(w.scopes) - 1; i >= 0; i-- {
		if regs := w.scopes[i][n]; regs != nil {
			return regs
		}
	}
	var regs []string
	if w.own != nil {
		regs = w.own(n)
	}
	if regs == nil {
		regs = w.compute(n)
	}
	w.scopes[len(w.scopes)-1][n] = regs
	return regs
}

func (w *writer) compute(n *rows.Node) []string {
	switch n.Op {
	case rows.Const:
		return w.constants(n)
	case rows.Round:
		return []string{w.round}
	case rows.Row:
		return []string{w.Op(b32, "cvt.u32.u64", w.row)}
	case rows.Carried:
		return w.carried[n.State]
	case rows.Load:
		return w.load(n)
	case rows.Map:
		return w.mapped(n)
	case rows.Pick:
		return w.pick(n)
	case rows.Reduce:
		return w.reduce(n)
	case rows.Best:
		return w.best(n)
	case rows.Dot:
		return w.dot(n)
	case rows.Chosen:
		return w.choose(n)
	}
	refuse("%s", n.Op)
	return nil
}

// constants of a long vector must be one number, or are picked apart by thread.
func (w *writer) constants(n *rows.Node) []string {
	if !spread(n.N) {
		out := make([]string, n.N)
		for i, bits := range n.Bits {
			out[i] = w.constant(n.Type, bits)
		}
		return out
	}
	if slices.ContainsFunc(n.Bits, func(b uint64) bool { return b != n.Bits[0] }) {
		elems := make([]string, n.N)
		for i, bits := range n.Bits {
			elems[i] = w.constant(n.Type, bits)
		}
		return w.dealt(kindOf(n.Type), elems)
	}
	x := w.constant(n.Type, n.Bits[0])
	return slices.Repeat([]string{x}, registers(n.N))
}

// dealt gives every thread its elements of a vector that all of them have whole.
func (w *writer) dealt(k kind, elems []string) []string {
	out := make([]string, registers(len(elems)))
	for i := range out {
		x := elems[i*lanes]
		for j := 1; j < lanes && i*lanes+j < len(elems); j++ {
			if next := elems[i*lanes+j]; next != x {
				mine := w.Op(pred, "setp.ge.u32", w.lane, fmt.Sprint(j))
				x = w.Either(k, mine, next, x)
			}
		}
		out[i] = x
	}
	return out
}

func (w *writer) mapped(n *rows.Node) []string {
	args := make([][]string, len(n.Args))
	for i, a := range n.Args {
		args[i] = w.get(a)
	}
	out := make([]string, registers(n.N))
	of := n.Args[0].Type
	if n.Map == compute.OpTypeWhere {
		of = n.Type
	}
	for i := range out {
		one := make([]string, len(args))
		for j, a := range args {
			one[j] = a[i]
		}
		if i > 0 && slices.Equal(one, func() []string {
			prev := make([]string, len(args))
			for j, a := range args {
				prev[j] = a[i-1]
			}
			return prev
		}()) {
			out[i] = out[i-1]
			continue
		}
		out[i] = w.scalar(n.Map, of, n.Type, one)
	}
	return out
}

// elem returns one element of a node, in every thread.
func (w *writer) elem(n *rows.Node, i int) string {
	regs := w.get(n)
	if !spread(n.N) {
		return regs[i]
	}
	return w.from(kindOf(n.Type), regs[i/lanes], "idx", fmt.Sprint(i%lanes))
}

// from returns what another thread of the warp has in a register.
func (w *writer) from(k kind, x, mode, which string) string {
	bound := "31"
	shuffle := func(x string) string {
		return w.Op(b32, "shfl.sync."+mode+".b32", x, which, bound, "0xffffffff")
	}
	switch k.Class {
	case pred:
		return w.Op(pred, "setp.ne.u32", shuffle(w.Op(b32, "selp.u32", "1", "0", x)), "0")
	case b32:
		return shuffle(x)
	case f32:
		return w.Op(f32, "mov.b32", shuffle(w.Op(b32, "mov.b32", x)))
	}
	lo, hi := w.New(b32), w.New(b32)
	w.Line("mov.b64 {%s, %s}, %s", lo, hi, x)
	return w.Op(k.Class, "mov.b64", fmt.Sprintf("{%s, %s}", shuffle(lo), shuffle(hi)))
}

func (w *writer) pick(n *rows.Node) []string {
	if first := n.From[0]; spread(n.N) && !slices.ContainsFunc(n.From, func(f rows.At) bool { return f != first }) {
		return slices.Repeat([]string{w.elem(n.Args[first.Arg], first.Elem)}, registers(n.N))
	}
	found := map[rows.At]string{}
	out := make([]string, n.N)
	for i, f := range n.From {
		if found[f] == "" {
			found[f] = w.elem(n.Args[f.Arg], f.Elem)
		}
		out[i] = found[f]
	}
	if spread(n.N) {
		return w.dealt(kindOf(n.Type), out)
	}
	return out
}

// reduce makes groups one element each. A whole vector that is spread is reduced thread by thread,
// then between threads.
func (w *writer) reduce(n *rows.Node) []string {
	x := n.Args[0]
	combine := op.Of(n.Map).By
	if spread(x.N) && n.N == 1 && len(n.Groups[0]) == x.N {
		return []string{w.across(n.Map, x)}
	}
	if spread(n.N) {
		refuse("a reduction to %d elements", n.N)
	}
	out := make([]string, n.N)
	for i, g := range n.Groups {
		for _, e := range g {
			one := w.elem(x, e)
			if out[i] != "" {
				one = w.scalar(combine, n.Type, n.Type, []string{out[i], one})
			}
			out[i] = one
		}
	}
	return out
}

// across reduces a vector that is spread over the threads; threads without an element in the last
// register leave it out.
func (w *writer) across(t compute.OpType, x *rows.Node) string {
	k, combine, regs := kindOf(x.Type), op.Of(t).By, w.get(x)
	sum := regs[0]
	for i, r := range regs[1:] {
		next := w.scalar(combine, x.Type, x.Type, []string{sum, r})
		if p := w.valid(i+1, x.N); p != "" {
			next = w.Either(k, p, next, sum)
		}
		sum = next
	}
	// Threads without any element have the last one again, which must count once.
	if fold := op.Of(combine).Fold; x.N < lanes && !fold.Idempotent() {
		sum = w.Either(k, w.valid(0, x.N), sum, w.constant(x.Type, loops.Identity(fold, x.Type)))
	}
	return w.butterfly(k, combine, x.Type, sum)
}

// butterfly combines what the threads of a warp have, so that each has the whole.
func (w *writer) butterfly(k kind, combine compute.OpType, t dtypes.DType, x string) string {
	for d := lanes / 2; d > 0; d /= 2 {
		x = w.scalar(combine, t, t, []string{x, w.from(k, x, "bfly", fmt.Sprint(d))})
	}
	return x
}

// best finds where in each group the greatest element is: the first of equal ones, and what is no
// number before all.
func (w *writer) best(n *rows.Node) []string {
	x := n.Args[0]
	k, index := kindOf(x.Type), kindOf(n.Type)
	if spread(n.N) || k.Class == pred {
		refuse("the best of %d groups", n.N)
	}
	how := "setp.gt."
	if n.Least {
		how = "setp.lt."
	}
	out := make([]string, n.N)
	for i, g := range n.Groups {
		top, at := w.elem(x, g[0]), w.constant(n.Type, 0)
		for j, e := range g[1:] {
			next := w.elem(x, e)
			wins := w.Op(pred, how+k.Suffix, next, top)
			if k.Class == f32 || k.Class == f64 {
				odd := w.Op(pred, "setp.nan."+k.Suffix, next, next)
				fine := w.Op(pred, "setp.num."+k.Suffix, top, top)
				wins = w.Op(pred, "or.pred", wins, w.Op(pred, "and.pred", odd, fine))
			}
			top = w.Either(k, wins, next, top)
			at = w.Either(index, wins, w.constant(n.Type, uint64(j+1)), at)
		}
		out[i] = at
	}
	return out
}

// choose writes a branch with all that is wanted of it.
func (w *writer) choose(n *rows.Node) []string {
	b := n.Branch
	cond := w.get(b.Cond)[0]
	otherwise, end := w.label(), w.label()
	outs := make([][]string, len(b.Outcomes))
	for i, o := range b.Outcomes {
		outs[i] = w.Many(kindOf(o.Chosen.Type).Class, registers(o.Chosen.N))
	}
	arm := func(value func(rows.Outcome) *rows.Node) {
		w.enter()
		for i, o := range b.Outcomes {
			for j, x := range w.get(value(o)) {
				w.move(kindOf(o.Chosen.Type), outs[i][j], x)
			}
		}
		w.exit()
	}
	w.Line("@!%s bra %s", cond, otherwise)
	arm(func(o rows.Outcome) *rows.Node { return o.Then })
	w.Line("bra %s", end)
	w.Label(otherwise)
	arm(func(o rows.Outcome) *rows.Node { return o.Else })
	w.Label(end)
	for i, o := range b.Outcomes {
		w.scopes[len(w.scopes)-1][o.Chosen] = outs[i]
	}
	return outs[n.Which]
}

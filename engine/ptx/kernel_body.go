package ptx

import (
	"fmt"
	"slices"

	"github.com/weft-rl/weft/engine/rows"
)

// kernel writes the body: addresses, what does not change, the states' beginnings, the loop, the
// states' ends.
func (w *writer) kernel() {
	w.where()
	w.ahead()
	for i, r := range w.loop.Results {
		switch r.Kind {
		case rows.State, rows.Common:
			w.carried[i] = w.copied(kindOf(r.Value.DType()), w.get(r.Init))
		case rows.Sum:
			w.carried[i] = []string{w.constant(r.Value.DType(), 0)}
		}
	}
	w.round = w.Op(b32, "mov.u32", "0")
	start := w.label()
	w.Label(start)
	w.enter()
	w.oneRound()
	w.exit()
	w.Line("add.u32 %s, %s, 1", w.round, w.round)
	more := w.Op(pred, "setp.lt.u32", w.round, fmt.Sprint(w.loop.Trips))
	w.Line("@%s bra %s", more, start)
	for i, r := range w.loop.Results {
		switch r.Kind {
		case rows.State, rows.Sum:
			w.store(i, w.carried[i])
		case rows.Common:
			w.onlyFirstRow(func() { w.store(i, w.carried[i]) })
		}
	}
	w.Line("ret")
}

// where finds the row and the addresses.
func (w *writer) where() {
	w.addresses()
	tid := w.Op(b32, "mov.u32", "%tid.x")
	w.lane = w.Op(b32, "and.b32", tid, "31")
	w.lane64 = w.Op(b64, "cvt.u64.u32", w.lane)
	warp := w.Op(b32, "shr.u32", tid, "5")
	block := w.Op(b32, "mov.u32", "%ctaid.x")
	row := w.Op(b32, "mad.lo.u32", block, fmt.Sprint(w.warps), warp)
	beyond := w.Op(pred, "setp.ge.u32", row, fmt.Sprint(w.loop.Rows))
	w.Line("@%s ret", beyond)
	w.row = w.Op(b64, "cvt.u64.u32", row)
	w.first = w.Op(pred, "setp.eq.u32", w.lane, "0")
	w.walk(true, func(x *rows.Node) { w.ensure(x.N) })
	if w.shared = w.staged(); w.shared > 0 {
		base := w.Op(b32, "mov.u32", "stage")
		w.stage = w.Op(b32, "mad.lo.u32", warp, fmt.Sprint(4*w.shared), base)
	}
}

// addresses loads those of inputs and outputs.
func (w *writer) addresses() {
	for i := range w.loop.Inputs {
		w.inputs = append(w.inputs, w.address(i))
	}
	w.params = len(w.inputs)
	for i, r := range w.loop.Results {
		if r.Kind != rows.Counter {
			w.outputs[i] = w.address(w.params)
			w.params++
		}
	}
}

func (w *writer) address(param int) string {
	l := w.Op(b64, "ld.param.u64", fmt.Sprintf("[p%d]", param))
	return w.Op(b64, "cvta.to.global.u64", l)
}

// staged returns how many floats the longest vector has that goes round a warp: the operand of a
// product with a long result.
func (w *writer) staged() (n int) {
	w.walk(true, func(x *rows.Node) {
		if x.Op == rows.Dot && spread(x.N) && spread(x.Args[0].N) {
			n = max(n, registers(x.Args[0].N)*lanes)
		}
	})
	return n
}

// ahead writes, before the loop, what is the same in every round and needed in all of them, and
// loads matrices.
func (w *writer) ahead() {
	changes := map[*rows.Node]bool{}
	w.walk(false, func(x *rows.Node) {
		changes[x] = x.Op == rows.Round || x.Op == rows.Carried || x.Op == rows.Chosen ||
			slices.ContainsFunc(x.Args, func(a *rows.Node) bool { return changes[a] })
		if x.Op == rows.Dot {
			w.hold(x)
		}
		if !changes[x] {
			w.get(x)
		}
	})
}

// oneRound writes a round. What it reads from tables comes first, so that it is on its way while
// the rest is computed.
func (w *writer) oneRound() {
	w.walk(false, func(x *rows.Node) {
		if x.Op == rows.Load && !slices.ContainsFunc(x.Args, func(a *rows.Node) bool { return a.Op != rows.Round }) {
			w.get(x)
		}
	})
	w.roundResults(func(rows.Result) bool { return true })
}

// roundResults computes those results of a round that are wanted, and then gives states their next
// values.
func (w *writer) roundResults(wanted func(rows.Result) bool) {
	next := map[int][]string{}
	for i, r := range w.loop.Results {
		if r.Kind == rows.Counter || !wanted(r) {
			continue
		}
		switch r.Kind {
		case rows.Aside, rows.Kept:
			w.store(i, w.get(r.Next))
		case rows.Sum:
			k := kindOf(r.Value.DType())
			next[i] = []string{w.Op(k.Class, "add."+k.Suffix, w.carried[i][0], w.get(r.Next)[0])}
		default:
			next[i] = w.get(r.Next)
		}
	}
	// A state may become another's old value: all are copied before one is changed.
	for i, r := range w.loop.Results {
		if next[i] != nil {
			next[i] = w.copied(kindOf(r.Value.DType()), next[i])
		}
	}
	for i, r := range w.loop.Results {
		k := kindOf(r.Value.DType())
		for j, x := range next[i] {
			w.move(k, w.carried[i][j], x)
		}
	}
}

func (w *writer) copied(k kind, from []string) []string {
	out := w.Many(k.Class, len(from))
	for i, x := range from {
		w.move(k, out[i], x)
	}
	return out
}

func (w *writer) move(k kind, to, from string) { w.Line("mov.%s %s, %s", k.Suffix, to, from) }

// walk visits what results need in every round, operands first; with arms, also what only branches
// need.
func (w *writer) walk(arms bool, visit func(*rows.Node)) {
	seen := map[*rows.Node]bool{}
	var down func(*rows.Node)
	down = func(x *rows.Node) {
		if x == nil || seen[x] {
			return
		}
		seen[x] = true
		for _, a := range x.Args {
			down(a)
		}
		if arms && x.Op == rows.Chosen {
			for _, o := range x.Branch.Outcomes {
				down(o.Then)
				down(o.Else)
			}
		}
		visit(x)
	}
	for _, r := range w.loop.Results {
		down(r.Init)
		down(r.Next)
		down(r.From)
	}
}

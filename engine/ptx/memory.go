package ptx

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/rows"
)

// base returns the address of a row's place.
func (w *writer) base(address string, p rows.Place, size int) string {
	if p.Row != 0 {
		address = w.Op(b64, "mad.lo.u64", w.row, fmt.Sprint(p.Row*size), address)
	}
	if p.Offset != 0 {
		address = w.Op(b64, "add.u64", address, fmt.Sprint(p.Offset*size))
	}
	return address
}

// load reads a node's elements.
func (w *writer) load(n *rows.Node) []string {
	k := kindOf(n.Type)
	address := w.base(w.inputs[n.Input], n.Place, k.Size)
	for i, d := range n.Dyn {
		index := w.get(n.Args[i])[0]
		if n.Args[i].Op != rows.Round || w.loop.Trips-1 > d.Most {
			index = w.clamped(index, n.Args[i].Type, d.Most)
		} else {
			index = w.Op(b64, "cvt.u64.u32", index)
		}
		address = w.Op(b64, "mad.lo.u64", index, fmt.Sprint(d.Stride*k.Size), address)
	}
	out := make([]string, registers(n.N))
	if !spread(n.N) {
		for i, e := range n.Place.Elems {
			out[i] = w.read(n.Type, address, e*k.Size)
		}
		return out
	}
	step, even := evenly(n.Place.Elems)
	if !even {
		refuse("a row whose %d elements lie unevenly", n.N)
	}
	for i := range out {
		at := w.Op(b64, "mad.lo.u64", w.element(i, n.N), fmt.Sprint(step*k.Size), address)
		out[i] = w.read(n.Type, at, n.Place.Elems[0]*k.Size)
	}
	return out
}

// element returns which element of a vector of n this thread has in register i; threads beyond the
// end have the last one again.
func (w *writer) element(i, n int) string {
	at := w.lane64
	if i > 0 {
		at = w.Op(b64, "add.u64", at, fmt.Sprint(i*lanes))
	}
	if (i+1)*lanes > n {
		at = w.Op(b64, "min.u64", at, fmt.Sprint(n-1))
	}
	return at
}

// evenly returns how far elements are apart.
func evenly(at []int) (step int, ok bool) {
	step = at[1] - at[0]
	for i := range at[1:] {
		if at[i+1]-at[i] != step {
			return 0, false
		}
	}
	return step, true
}

// clamped returns an index as a u64 from 0 to most.
func (w *writer) clamped(x string, t dtypes.DType, most int) string {
	k := kindOf(t)
	x = w.Op(k.Class, "max."+k.Suffix, x, "0")
	x = w.Op(k.Class, "min."+k.Suffix, x, fmt.Sprint(most))
	if k.Size == 4 {
		return w.Op(b64, "cvt.u64.u32", x)
	}
	return x
}

func (w *writer) read(t dtypes.DType, address string, offset int) string {
	k := kindOf(t)
	if k.Class == pred {
		x := w.Op(b32, "ld.global.nc.u8", fmt.Sprintf("[%s+%d]", address, offset))
		return w.Op(pred, "setp.ne.u32", x, "0")
	}
	return w.Op(k.Class, "ld.global.nc."+k.Suffix, fmt.Sprintf("[%s+%d]", address, offset))
}

// outputAt returns the address of what this round writes of a result.
func (w *writer) outputAt(i int) string {
	r := w.loop.Results[i]
	var steps string
	switch {
	case r.Kind == rows.Aside && r.Step != 0:
		steps = w.Op(b64, "cvt.u64.u32", w.round)
	case r.Kind == rows.Kept:
		steps = w.clamped(w.get(r.From)[0], r.From.Type, r.Most)
	default:
		return w.outputs[i]
	}
	return w.Op(b64, "mad.lo.u64", steps, fmt.Sprint(r.Step*kindOf(r.Value.DType()).Size), w.outputs[i])
}

// store writes a result's elements: small ones thread 0, others the threads that have them.
func (w *writer) store(i int, from []string) {
	r := w.loop.Results[i]
	k := kindOf(r.Value.DType())
	address := w.base(w.outputAt(i), r.Place, k.Size)
	n := len(r.Place.Elems)
	if !spread(n) {
		for j, e := range r.Place.Elems {
			w.write(k, w.first, address, e*k.Size, from[j])
		}
		return
	}
	step, even := evenly(r.Place.Elems)
	if !even {
		refuse("a row whose %d elements lie unevenly", n)
	}
	for j, x := range from {
		at := w.Op(b64, "mad.lo.u64", w.element(j, n), fmt.Sprint(step*k.Size), address)
		w.write(k, w.valid(j, n), at, r.Place.Elems[0]*k.Size, x)
	}
}

// valid returns the predicate of threads whose register i holds an element of n, "" if all do.
func (w *writer) valid(i, n int) string {
	left := n - i*lanes
	if left >= lanes {
		return ""
	}
	if w.tails[left] == "" {
		refuse("the predicate of %d threads is not there", left)
	}
	return w.tails[left]
}

// ensure makes the predicates of the threads that valid is about.
func (w *writer) ensure(n int) {
	if left := n % lanes; spread(n) && left != 0 && w.tails[left] == "" {
		w.tails[left] = w.Op(pred, "setp.lt.u32", w.lane, fmt.Sprint(left))
	}
}

func (w *writer) write(k kind, if_, address string, offset int, x string) {
	suffix := k.Suffix
	if k.Class == pred {
		x, suffix = w.Op(b32, "selp.u32", "1", "0", x), "u8"
	}
	if if_ != "" {
		if_ = "@" + if_ + " "
	}
	w.Line("%sst.global.%s [%s+%d], %s", if_, suffix, address, offset, x)
}

// onlyFirstRow writes what the warp of row 0 alone does.
func (w *writer) onlyFirstRow(do func()) {
	over := w.label()
	other := w.Op(pred, "setp.ne.u64", w.row, "0")
	w.Line("@%s bra %s", other, over)
	do()
	w.Label(over)
}

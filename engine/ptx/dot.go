package ptx

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/assembly"
	"github.com/weft-rl/weft/engine/rows"
)

// A product of a row with a matrix. A result that is spread is made element by element where it
// belongs, from an operand that all threads have: whole in registers, or by way of shared memory. A
// small result of a spread operand is summed in each thread and then between them.

// hold loads a product's matrix before the loop, if there is room.
func (w *writer) hold(n *rows.Node) {
	if need := w.matrix(n); w.used+need <= w.budget {
		w.used += need
		w.weights[n] = w.fetchAll(n)
	}
}

// matrix returns how many of a matrix's elements each thread has to do with.
func (w *writer) matrix(n *rows.Node) int {
	if spread(n.N) {
		return n.Args[0].N * registers(n.N)
	}
	return registers(n.Args[0].N) * n.N
}

// fetchAll loads all that a thread needs of a matrix, by the operand's element first.
func (w *writer) fetchAll(n *rows.Node) []string {
	var out []string
	fetch := w.fetcher(n)
	rowsOf := n.Args[0].N
	if !spread(n.N) {
		rowsOf = registers(rowsOf)
	}
	for i := range rowsOf {
		for j := range registers(n.N) {
			out = append(out, fetch(i, j))
		}
	}
	return out
}

// fetcher loads elements of a matrix: (i, j) is the operand's element or register i and the
// result's register j.
func (w *writer) fetcher(n *rows.Node) func(i, j int) string {
	base := w.Op(b64, "add.u64", w.inputs[n.Input], fmt.Sprint(4*n.Weight.Offset))
	bases := map[int]string{}
	stepI, stepJ := n.Weight.K, n.Weight.N
	load := func(i, j int) string {
		switch {
		case spread(n.N): // a column for each thread
			if bases[j] == "" {
				bases[j] = w.Op(b64, "mad.lo.u64", w.element(j, n.N), fmt.Sprint(4*stepJ), base)
			}
			return w.F("ld.global.nc", fmt.Sprintf("[%s+%d]", bases[j], 4*i*stepI))
		case spread(n.Args[0].N): // a row for each thread
			if bases[i] == "" {
				bases[i] = w.Op(b64, "mad.lo.u64", w.element(i, n.Args[0].N), fmt.Sprint(4*stepI), base)
			}
			return w.F("ld.global.nc", fmt.Sprintf("[%s+%d]", bases[i], 4*j*stepJ))
		}
		return w.F("ld.global.nc", fmt.Sprintf("[%s+%d]", base, 4*(i*stepI+j*stepJ)))
	}
	return func(i, j int) string { return w.multiplied(load(i, j)) }
}

// multiplied returns a number as products take it.
func (w *writer) multiplied(x string) string {
	if !w.halves {
		return x
	}
	// In the upper half of a word, above zeros, a bfloat16 is a float32.
	return w.Op(f32, "mov.b32", w.Op(b32, "cvt.rn.bf16x2.f32", x, assembly.Float(0)))
}

func (w *writer) dot(n *rows.Node) []string {
	columns := registers(n.N)
	var x []string
	for _, r := range w.get(n.Args[0]) {
		x = append(x, w.multiplied(r))
	}
	fetch := w.fetcherOf(n)
	if !spread(n.N) && spread(n.Args[0].N) {
		return w.dotAcross(n, x, fetch)
	}
	// Several sums at a time, since each addition waits for the one before it.
	chains := max(1, 4/columns)
	sums := make([][]string, columns)
	add := func(i, j int, x string) {
		c := i % chains
		if len(sums[j]) <= c {
			sums[j] = append(sums[j], w.F("mul.rn", x, fetch(i, j)))
			return
		}
		sums[j][c] = w.F("fma.rn", x, fetch(i, j), sums[j][c])
	}
	w.each(n.Args[0], x, func(i int, x string) {
		for j := range columns {
			add(i, j, x)
		}
	})
	out := make([]string, columns)
	for j, s := range sums {
		out[j] = w.total(s)
	}
	return out
}

// fetcherOf gives a matrix's elements, from registers if they are held.
func (w *writer) fetcherOf(n *rows.Node) func(i, j int) string {
	held := w.weights[n]
	if held == nil {
		return w.fetcher(n)
	}
	return func(i, j int) string { return held[i*registers(n.N)+j] }
}

// each hands out the elements of a vector to all threads, in order.
func (w *writer) each(n *rows.Node, regs []string, do func(i int, x string)) {
	if !spread(n.N) {
		for i, x := range regs {
			do(i, x)
		}
		return
	}
	mine := w.Op(b32, "mad.lo.u32", w.lane, "4", w.stage)
	w.Line("bar.warp.sync 0xffffffff") // what was there before has been read
	for i, x := range regs {
		w.Line("st.shared.f32 [%s+%d], %s", mine, 4*i*lanes, x)
	}
	w.Line("bar.warp.sync 0xffffffff")
	for i := 0; i < n.N; i += 4 {
		four := w.Many(f32, 4)
		w.Line("ld.shared.v4.f32 {%s, %s, %s, %s}, [%s+%d]", four[0], four[1], four[2], four[3], w.stage, 4*i)
		for j, x := range four {
			if i+j < n.N {
				do(i+j, x)
			}
		}
	}
}

// dotAcross returns a small result of a spread operand.
func (w *writer) dotAcross(n *rows.Node, x []string, fetch func(i, j int) string) []string {
	out := make([]string, n.N)
	for j := range out {
		for i, xi := range x {
			weight := fetch(i, j)
			if p := w.valid(i, n.Args[0].N); p != "" {
				weight = w.Either(kindOf(dtypes.Float32), p, weight, assembly.Float(0))
			}
			if out[j] == "" {
				out[j] = w.F("mul.rn", xi, weight)
			} else {
				out[j] = w.F("fma.rn", xi, weight, out[j])
			}
		}
	}
	for d := lanes / 2; d > 0; d /= 2 { // the results side by side, since each step waits for the one before it
		for j, s := range out {
			out[j] = w.F("add.rn", s, w.from(kindOf(dtypes.Float32), s, "bfly", fmt.Sprint(d)))
		}
	}
	return out
}

// total adds up partial sums, by pairs.
func (w *writer) total(s []string) string {
	for len(s) > 1 {
		var next []string
		for i := 0; i+1 < len(s); i += 2 {
			next = append(next, w.F("add.rn", s[i], s[i+1]))
		}
		if len(s)%2 == 1 {
			next = append(next, s[len(s)-1])
		}
		s = next
	}
	return s[0]
}

package ptx

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/assembly"
	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/rows"
)

// kind is how an element type is computed with.
type kind = assembly.Kind

// The classes of registers.
const (
	f32  = assembly.F32
	f64  = assembly.F64
	b32  = assembly.B32
	b64  = assembly.B64
	pred = assembly.Pred
)

// kindOf returns the kind of an element type that kernels compute with; others are refused.
func kindOf(t dtypes.DType) kind {
	k, ok := assembly.KindOf(t)
	if !ok {
		refuse("elements of type %s", t)
	}
	return k
}

// writer writes one kernel.
type writer struct {
	assembly.Writer
	loop   *rows.Loop
	params int
	warps  int
	exact  bool // products are those of float32
	halves bool // products round their operands to bfloat16
	shared int  // floats that a warp needs to hand a vector round
	labels int

	scopes  []map[*rows.Node][]string // the registers of what is computed, innermost last
	carried map[int][]string          // registers of states
	weights map[*rows.Node][]string   // registers of products whose matrix is held
	inputs  []string                  // addresses
	outputs map[int]string            // addresses by result
	lane    string
	lane64  string
	row     string // u64
	first   string // predicate: this is thread 0
	round   string
	stage   string // address of the warp's shared memory
	used    int    // 32-bit registers that hold matrices
	budget  int
	own     func(*rows.Node) []string // computes a node in a way of its own, or returns nil
	tails   map[int]string            // predicates of threads whose last element exists, by elements in the last register
}

func newWriter(l *rows.Loop, warps int, p ir.Precision) *writer {
	return &writer{loop: l, warps: warps, exact: p == ir.Exact, halves: p == ir.BF16, carried: map[int][]string{}, weights: map[*rows.Node][]string{}, outputs: map[int]string{},
		tails: map[int]string{}, scopes: []map[*rows.Node][]string{{}}, budget: 176}
}

// enter begins a part of the program, exit ends it: what is computed there is not there any more.
func (w *writer) enter() {
	w.scopes = append(w.scopes, map[*rows.Node][]string{})
	w.Enter()
}

func (w *writer) exit() {
	w.scopes = w.scopes[:len(w.scopes)-1]
	w.Exit()
}

func (w *writer) label() string {
	w.labels++
	return fmt.Sprintf("L%d", w.labels-1)
}

// scalar writes an elementwise operation for one register; of is the operands' type, to the
// result's.
func (w *writer) scalar(t compute.OpType, of, to dtypes.DType, args []string) string {
	k := kindOf(of)
	if form := op.Of(t).PTX; form != nil {
		if x := form(&w.Writer, assembly.Element{Of: of, To: to, Kind: k, Args: args}); x != "" {
			return x
		}
	}
	refuse("%s of %s", t, of)
	return ""
}

// constant returns a register with a constant element.
func (w *writer) constant(t dtypes.DType, bits uint64) string {
	return w.Constant(t, kindOf(t), bits)
}

// spread reports whether a vector of n elements is spread over the threads.
func spread(n int) bool { return n > small }

// registers returns how many a thread has of a vector of n elements.
func registers(n int) int {
	if spread(n) {
		return (n + lanes - 1) / lanes
	}
	return n
}

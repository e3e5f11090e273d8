package ptx

import (
	"fmt"
	"strings"

	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/rows"
)

// Kernel is a program and how it is launched. Its parameters are the addresses of the loop's
// inputs, then of its outputs: all results but the counter, in order, where sums have one element a
// row.
type Kernel struct {
	Name        string
	Text        string
	Grid, Block int
}

const (
	lanes = 32 // threads of a warp
	small = 16 // elements of a vector that every thread holds whole
)

// Of writes a loop as a kernel, or says why that cannot be done or would not pay. Its products take
// their operands as they are, or round them to bfloat16; there is nothing to be won by TF32.
func Of(l *rows.Loop, name string, p ir.Precision) (k Kernel, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case refusal:
			err = r
		default:
			panic(r)
		}
	}()
	// Few rows are spread over the processors of the device; many share blocks.
	warps := 1
	if l.Rows > 2048 {
		warps = 4
	}
	w := newWriter(l, warps, p)
	w.kernel()
	return Kernel{Name: name, Text: w.text(name), Grid: (l.Rows + warps - 1) / warps, Block: warps * lanes}, nil
}

type refusal struct{ why string }

func (r refusal) Error() string { return r.why }

func refuse(format string, args ...any) { panic(refusal{fmt.Sprintf(format, args...)}) }

// text puts the head before what was written.
func (w *writer) text(name string) string {
	var b strings.Builder
	target := "sm_75"
	if w.halves {
		target = "sm_80" // which can round to them
	}
	fmt.Fprintf(&b, ".version 7.0\n.target %s\n.address_size 64\n\n", target)
	fmt.Fprintf(&b, ".visible .entry %s(", name)
	for i := range w.params {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, ".param .u64 p%d", i)
	}
	fmt.Fprintf(&b, ")\n.maxntid %d, 1, 1\n{\n", w.warps*lanes)
	b.WriteString(w.Declarations())
	if w.shared > 0 {
		fmt.Fprintf(&b, ".shared .align 16 .b8 stage[%d];\n", w.shared*4*w.warps)
	}
	b.WriteString(w.Body())
	b.WriteString("}\n")
	return b.String()
}

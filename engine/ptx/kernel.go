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
	Shared      int // bytes of shared memory that it is given when it is launched
}

const (
	lanes = 32 // threads of a warp
	small = 16 // elements of a vector that every thread holds whole
)

// Of writes a loop as a kernel, or says why that cannot be done or would not pay. A warp has a row
// where that holds its matrices in registers; otherwise a team has 16, if it can. Products of a
// warp take their operands as they are, or round them to bfloat16: there is nothing to be won by
// TF32. Those of teams are as exact as asked for.
func Of(l *rows.Loop, name string, p ir.Precision) (k Kernel, err error) {
	// Few rows are spread over the processors of the device; many share blocks.
	warps := 1
	if l.Rows > 2048 {
		warps = 4
	}
	w := newWriter(l, warps, p)
	err = refused(w.kernel)
	if err == nil && w.unheld() == 0 {
		return w.launched(name), nil
	}
	if k, err := ofTeam(l, name, p); err == nil {
		return k, nil
	}
	if err == nil && w.unheld() > rowWide {
		err = refusal{fmt.Sprintf("%d elements of matrices to be read in every round", w.unheld())}
	}
	if err != nil {
		return k, err
	}
	return w.launched(name), nil
}

// launched returns what was written, with a warp to each row.
func (w *writer) launched(name string) Kernel {
	return Kernel{Name: name, Text: w.text(name), Grid: (w.loop.Rows + w.warps - 1) / w.warps, Block: w.warps * lanes}
}

// unheld returns how many elements the matrices have that are not in registers.
func (w *writer) unheld() (n int) {
	w.walk(false, func(x *rows.Node) {
		if x.Op == rows.Dot && w.weights[x] == nil {
			n += x.N * x.Args[0].N
		}
	})
	return n
}

// refused calls what may refuse, and returns why it did.
func refused(do func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case refusal:
			err = r
		default:
			panic(r)
		}
	}()
	do()
	return nil
}

// dynamic returns the text of a kernel that is given its shared memory when it is launched.
func dynamic(text string) string {
	before, after, _ := strings.Cut(text, ".visible")
	return strings.Replace(before, "sm_75", "sm_80", 1) + ".extern .shared .align 16 .b8 stage[];\n.visible" + after
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

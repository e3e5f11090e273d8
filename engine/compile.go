package engine

import (
	"fmt"
	"unsafe"

	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/internal/simplify"
	"github.com/weft-rl/weft/engine/ir"
)

// Compile turns a recorded module into an executable. GoMLX does so by way of a builder; this is
// for those who have the module itself.
func (b *Backend) Compile(m *ir.Module) (compute.Executable, error) {
	if b.IsFinalized() {
		return nil, errFinalized
	}
	if m.Over() > 1 || len(m.Devices) > 0 && m.Devices[0] != 0 {
		return nil, fmt.Errorf("computation %q on devices %v: there is one device, number 0: %w", m.Name, m.Devices,
			compute.ErrNotImplemented)
	}
	f, err := optimise(m, b.settings)
	if err != nil {
		return nil, err
	}
	prog, err := lower(f, b.settings, false)
	if err != nil {
		return nil, fmt.Errorf("computation %q: %w", m.Name, err)
	}
	return newExecutable(b, m, prog), nil
}

// optimise runs the passes that rewrite the graph.
func optimise(m *ir.Module, s settings) (*ir.Func, error) {
	f := m.Flatten()
	if err := checked(s, "flatten", f); err != nil {
		return nil, err
	}
	legalise(f)
	if err := checked(s, "legalise", f); err != nil {
		return nil, err
	}
	err := simplify.Run(f, simplify.Options{Fold: s.on("fold"), CSE: s.on("cse"), Identities: s.on("identities"),
		DCE: s.on("dce"), Eval: evaluate})
	if err != nil {
		return nil, err
	}
	return f, checked(s, "simplify", f)
}

// checked reports what is wrong with the graph after a pass, if asked to look.
func checked(s settings, pass string, f *ir.Func) error {
	if !s.check {
		return nil
	}
	if err := f.Check(); err != nil {
		return fmt.Errorf("after %s: %w", pass, err)
	}
	return nil
}

// evaluate computes a node of constants, by the very steps that would compute it at run time.
func evaluate(n *ir.Node) ([][]byte, error) {
	m := &ir.Module{Main: &ir.Func{Results: n.Outputs}}
	seen := map[*ir.Node]bool{}
	for _, v := range n.Inputs {
		if !seen[v.Node] {
			seen[v.Node] = true
			m.Main.Nodes = append(m.Main.Nodes, v.Node)
		}
	}
	m.Main.Nodes = append(m.Main.Nodes, n)
	prog, err := lower(m.Flatten(), plainSettings, false)
	if err != nil {
		return nil, err
	}
	fr := prog.newFrame(newWorkers(1))
	outs := make([][]byte, len(n.Outputs))
	for i, v := range n.Outputs {
		outs[i] = ir.AlignedBytes(v.Bytes())
		fr.setOut(i, unsafe.Pointer(unsafe.SliceData(outs[i])))
	}
	fr.run()
	return outs, nil
}

// lowering is the state of turning one function into a program.
type lowering struct {
	*planner
	settings settings
	index    int // number of the cluster being lowered
}

// lower fuses, plans and flattens a function. The body of a loop may keep its state in place.
func lower(f *ir.Func, s settings, loop bool) (*program, error) {
	prog := &program{params: len(f.Params), captures: len(f.Captures), outs: len(f.Results)}
	clusters, folded := fuse(f, s)
	p := &planner{f: f, clusters: clusters, folded: folded, s: s, loop: loop, prog: prog}
	p.run()
	if s.check {
		if err := p.check(); err != nil {
			return nil, fmt.Errorf("memory plan: %w", err)
		}
	}
	prog.kept = p.kept
	l := &lowering{planner: p, settings: s}
	for i, c := range clusters {
		if c.sweep != nil && c != c.sweep.members[0] {
			continue // part of the step of the first
		}
		l.index = i
		st, err := l.step(c)
		if err != nil {
			return nil, err
		}
		prog.steps = append(prog.steps, st)
	}
	for _, c := range p.copies {
		prog.steps = append(prog.steps, l.copyStep(c))
	}
	return prog, nil
}

func (l *lowering) step(c *cluster) (step, error) {
	if c.sweep != nil {
		return l.sweep(c.sweep)
	}
	if c.region() {
		return l.region(c)
	}
	n := c.nodes[0]
	how, ok := howOf(n.Op)
	if !ok {
		return step{}, notImplemented(n)
	}
	run, err := how.build(l, n)
	if err != nil {
		return step{}, err
	}
	return step{l.text(n), run}, nil
}

func notImplemented(n *ir.Node) error {
	d := n.Outputs[0].DType()
	if len(n.Inputs) > 0 {
		d = n.Inputs[0].DType()
	}
	return fmt.Errorf("%s of %s: %w", n.Op, d, compute.ErrNotImplemented)
}

// text describes a step that runs one node.
func (l *lowering) text(n *ir.Node) string {
	text := ""
	for i, v := range n.Outputs {
		if i > 0 {
			text += ", "
		}
		text += l.prog.name(l.at(v))
	}
	text += " = " + n.Op.String()
	for _, v := range n.Inputs {
		text += fmt.Sprintf(" %s:%s", l.prog.name(l.at(v)), ir.ShapeText(v))
	}
	return text
}

func (l *lowering) copyStep(c finalCopy) step {
	from, to, n := l.at(c.from), l.outputs[c.result].ref, c.from.Bytes()
	return step{fmt.Sprintf("%s = copy %s, %d bytes", l.prog.name(to), l.prog.name(from), n), func(fr *frame) {
		copy(view[byte](fr, to, n), view[byte](fr, from, n))
	}}
}

// how is the way one operation becomes a step.
type how struct {
	// build returns the function that runs the node.
	build func(l *lowering, n *ir.Node) (func(fr *frame), error)
	// scratch returns how many bytes of the arena the step needs while it runs.
	scratch func(n *ir.Node) int
	// inplace returns the operands that output v may be written over.
	inplace func(n *ir.Node, v *ir.Value) []*ir.Value
}

// howOf returns how an operation becomes a step, false if it does not, or only as a part of a
// region.
func howOf(t compute.OpType) (how, bool) {
	switch op.Of(t).Class {
	case op.Reduce:
		return how{build: reduce, scratch: reduceScratch}, true
	case op.Scatter:
		return how{build: scatter, inplace: overFirst}, true
	}
	switch t {
	case compute.OpTypeIota:
		return how{build: counting}, true
	case compute.OpTypeSlice:
		return how{build: slice}, true
	case compute.OpTypeReverse:
		return how{build: reverse}, true
	case compute.OpTypePad:
		return how{build: pad}, true
	case compute.OpTypeConcatenate:
		return how{build: concatenate}, true
	case compute.OpTypeTranspose:
		return how{build: transpose}, true
	case compute.OpTypeDynamicSlice:
		return how{build: dynamicSlice}, true
	case compute.OpTypeDynamicUpdateSlice:
		return how{build: dynamicUpdateSlice, inplace: overFirst}, true
	case compute.OpTypeGather:
		return how{build: gather}, true
	case compute.OpTypeArgMinMax:
		return how{build: argMinMax}, true
	case compute.OpTypeReduceWindow:
		return how{build: reduceWindow}, true
	case compute.OpTypeSelectAndScatterMax, compute.OpTypeSelectAndScatterMin:
		return how{build: selectAndScatter}, true
	case compute.OpTypeDotGeneral:
		return how{build: dotGeneral, scratch: dotScratch}, true
	case compute.OpTypeConvGeneral:
		return how{build: convGeneral}, true
	case compute.OpTypeSort:
		return how{build: sortAlong, scratch: sortScratch}, true
	case compute.OpTypeRNGBitGenerator:
		return how{build: randomBits}, true
	case compute.OpTypeWhile:
		return how{build: while, scratch: whileScratch, inplace: overSame}, true
	case compute.OpTypeIf:
		return how{build: branch}, true
	}
	return how{}, false
}

// scratchBytes returns how much of the arena a cluster needs besides its values.
func scratchBytes(c *cluster) int {
	if c.head != nil {
		return headScratch(c.head) + tailScratch(c.tails)
	}
	if len(c.tails) > 0 {
		return tailScratch(c.tails)
	}
	if c.sweep != nil && !c.region() {
		return memberScratch(c.nodes[0])
	}
	if h, _ := howOf(c.nodes[0].Op); h.scratch != nil && !c.region() {
		return h.scratch(c.nodes[0])
	}
	return 0
}

// scratchRef returns where the scratch memory of the step being lowered lies.
func (l *lowering) scratchRef() ref {
	if s := l.planner.scratch[l.index]; s != nil {
		return s.ref
	}
	return ref{}
}

// closure lowers a closure of a node and returns its index among the program's children.
func (l *lowering) closure(f *ir.Func, loop bool) (int, error) {
	child, err := lower(f, l.settings, loop)
	if err != nil {
		return 0, err
	}
	l.prog.children = append(l.prog.children, child)
	return len(l.prog.children) - 1, nil
}

// refs returns where values lie.
func (l *lowering) refs(vs []*ir.Value) []ref {
	out := make([]ref, len(vs))
	for i, v := range vs {
		out[i] = l.at(v)
	}
	return out
}

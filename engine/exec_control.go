package engine

import (
	"unsafe"

	"github.com/weft-rl/weft/engine/ir"
)

// overSame lets output i of a loop take the memory of its initial state i.
func overSame(n *ir.Node, v *ir.Value) []*ir.Value { return n.Inputs[v.Index : v.Index+1] }

// whileScratch returns the second copy of the state, which the body writes while it reads the
// first, and the condition.
func whileScratch(n *ir.Node) int {
	bytes := alignment
	for _, v := range n.Outputs {
		bytes += (v.Bytes() + alignment - 1) &^ (alignment - 1)
	}
	return bytes
}

// captures passes captured values to the frame of a closure.
type captures struct {
	child int
	refs  []ref
}

func (l *lowering) captures(n *ir.Node, i int, loop bool) (captures, error) {
	child, err := l.closure(n.Funcs[i], loop)
	return captures{child, l.refs(n.CapturesOf(i))}, err
}

// frame returns the closure's frame, its captures set.
func (c *captures) frame(fr *frame) *frame {
	child := fr.children[c.child]
	for i, r := range c.refs {
		child.setCapture(i, fr.at(r))
	}
	return child
}

// while runs a loop. The state alternates between two memories, the outputs' and a second one; what
// the body updates in place or leaves alone stays where it is.
func while(l *lowering, n *ir.Node) (func(fr *frame), error) {
	cond, err := l.captures(n, 0, false)
	if err != nil {
		return nil, err
	}
	body, err := l.captures(n, 1, true)
	if err != nil {
		return nil, err
	}
	kept := l.prog.children[body.child].kept
	outs, inits := l.refs(n.Outputs), l.refs(n.Operands())
	flag := l.scratchRef()
	second := flag
	second.off += alignment
	var seconds []ref
	var bytes []int
	for _, v := range n.Outputs {
		seconds, bytes = append(seconds, second), append(bytes, v.Bytes())
		second.off += (v.Bytes() + alignment - 1) &^ (alignment - 1)
	}
	return func(fr *frame) {
		c, b := cond.frame(fr), body.frame(fr)
		c.setOut(0, fr.at(flag))
		for i, o := range outs {
			copyBytes(fr, o, inits[i], bytes[i])
			b.setParam(i, fr.at(o))
			b.setOut(i, fr.at(seconds[i]))
		}
		for c.holds(b, len(outs), fr.at(flag)) {
			b.run()
			for i, k := range kept {
				if !k {
					p := b.param(i)
					b.setParam(i, b.out(i))
					b.setOut(i, p)
				}
			}
		}
		for i, o := range outs {
			if p := b.param(i); p != fr.at(o) {
				copy(view[byte](fr, o, bytes[i]), unsafe.Slice((*byte)(p), bytes[i]))
			}
		}
		c.release()
		b.release()
	}, nil
}

// holds runs the condition on the state that the body reads next.
func (c *frame) holds(body *frame, n int, flag unsafe.Pointer) bool {
	for i := range n {
		c.setParam(i, body.param(i))
	}
	c.run()
	return *(*bool)(flag)
}

func branch(l *lowering, n *ir.Node) (func(fr *frame), error) {
	var sides [2]captures
	for i := range sides {
		var err error
		if sides[i], err = l.captures(n, i, false); err != nil {
			return nil, err
		}
	}
	pred, outs := l.at(n.Inputs[0]), l.refs(n.Outputs)
	return func(fr *frame) {
		side := &sides[1]
		if *(*bool)(fr.at(pred)) {
			side = &sides[0]
		}
		child := side.frame(fr)
		for i, o := range outs {
			child.setOut(i, fr.at(o))
		}
		child.run()
		child.release()
	}, nil
}

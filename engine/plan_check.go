package engine

import (
	"errors"
	"fmt"

	"github.com/weft-rl/weft/engine/ir"
)

// check replays the plan: it marks memory with the value last written there and reports reads of
// memory that holds another value by then, memory outside the arena, and results that do not end up
// in the caller's memory.
func (p *planner) check() error {
	c := &planChecker{planner: p, held: map[int32][]*ir.Value{}}
	for i, cl := range p.clusters {
		p.reads(cl, func(v *ir.Value) { c.read(i, v) })
		if s := p.scratch[i]; s != nil {
			c.write(nil, s.ref, s.bytes)
		}
		if cl.region() {
			c.region(i, cl)
		} else {
			c.single(i, cl.nodes[0])
		}
		if cl.sweep != nil && i == p.until(i) {
			c.sweep(cl.sweep, i)
		}
	}
	for _, f := range p.copies {
		c.read(forever, p.owner[f.from])
	}
	for i, r := range p.f.Results {
		c.result(i, r)
	}
	return errors.Join(c.errs...)
}

// region replays the order inside a region: the head's rows, then the nodes one after the other;
// and the head again, since it makes the rows of the next tile when those of this one have been
// finished.
func (c *planChecker) region(i int, cl *cluster) {
	if cl.head != nil {
		c.output(cl.head.Outputs[0])
	}
	for _, n := range cl.nodes {
		if n == cl.head {
			continue
		}
		for _, v := range n.Inputs {
			c.operand(i, v)
		}
		c.output(n.Outputs[0])
	}
	if cl.head != nil {
		for _, v := range cl.head.Inputs {
			c.operand(i, v)
		}
	}
}

// sweep checks that the members can begin again with the next tile: what they read of others is
// still there, and what shares memory is laid out by the same rows.
func (c *planChecker) sweep(s *sweep, last int) {
	first := map[*storage]*ir.Value{}
	for _, m := range s.members {
		c.reads(m, func(v *ir.Value) {
			if born, made := c.born[v]; !made || born < c.since(last) {
				c.read(last, v)
			}
		})
		for _, n := range m.nodes {
			v := n.Outputs[0]
			st := c.store[v]
			if st == nil || !st.arena {
				continue
			}
			if u := first[st]; u != nil && (v.Bytes() != u.Bytes() || firstAxis(v) != s.rows || firstAxis(u) != s.rows) {
				c.failf("%s and %s of a sweep share memory, but not by rows", u.Node.Op, n.Op)
			}
			first[st] = v
		}
	}
}

// operand checks a read from memory.
func (c *planChecker) operand(i int, v *ir.Value) {
	if c.folded[v.Node] {
		v = v.Node.Inputs[0]
	}
	if own := c.owner[v]; c.store[own] != nil {
		c.read(i, own)
	}
}

// single checks that what a step writes over is only one of its operands, and only once.
func (c *planChecker) single(i int, n *ir.Node) {
	for _, out := range n.Outputs {
		over := 0
		for _, in := range n.Inputs {
			if in.Bytes() > 0 && c.at(c.owner[in]) == c.at(out) {
				over++
			}
		}
		if over > 1 {
			c.failf("step %d (%s) writes over an operand that it is given %d times", i, n.Op, over)
		}
		c.output(out)
	}
}

func (c *planChecker) output(v *ir.Value) {
	if c.store[v] != nil {
		c.write(v, c.at(v), v.Bytes())
	}
}

type planChecker struct {
	*planner
	held map[int32][]*ir.Value // the value that each memory and cache line holds; nil is whatever the caller put there
	errs []error
}

func (c *planChecker) failf(format string, args ...any) {
	if len(c.errs) < 10 {
		c.errs = append(c.errs, fmt.Errorf(format, args...))
	}
}

// lines returns the cache lines of n bytes of a memory, which grows as it is written to. Storage
// begins on a line.
func (c *planChecker) lines(r ref, n int) []*ir.Value {
	if r.slot == 0 && r.off+n > c.prog.arena {
		c.failf("bytes %d to %d of an arena of %d", r.off, r.off+n, c.prog.arena)
	}
	first, last := r.off/alignment, (r.off+n+alignment-1)/alignment
	if grow := last - len(c.held[r.slot]); grow > 0 {
		c.held[r.slot] = append(c.held[r.slot], make([]*ir.Value, grow)...)
	}
	return c.held[r.slot][first:last]
}

func (c *planChecker) read(i int, v *ir.Value) {
	want := v
	if !stepped(v.Node) { // parameters, captures and constants are the caller's
		want = nil
	}
	for off, held := range c.lines(c.at(v), v.Bytes()) {
		if held != want {
			c.failf("step %d reads line %d of %s (node %d), which was overwritten", i, off, v.Node.Op, v.Node.ID)
			return
		}
	}
}

func (c *planChecker) write(v *ir.Value, r ref, n int) {
	held := c.lines(r, n)
	for j := range held {
		held[j] = v
	}
}

// result checks that result i is where the caller will look for it.
func (c *planChecker) result(i int, r *ir.Value) {
	for _, f := range c.copies {
		if f.result == i {
			return
		}
	}
	own := c.owner[r]
	switch want := c.outputs[i].ref; {
	case c.kept[i] && c.at(r) != c.store[c.f.Params[i]].ref:
		c.failf("result %d is not in its parameter's memory", i)
	case !c.kept[i] && c.at(r) != want:
		c.failf("result %d is not in the caller's memory", i)
	}
	if c.kept[i] && own == c.f.Params[i] {
		return
	}
	c.read(forever, own)
}

package engine

import (
	"cmp"
	"slices"

	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/ir"
)

// planner decides where every value lies. Views share their operand's storage. Results lie in the
// caller's memory; all else goes into one arena, where values that are not alive at the same time
// share addresses, and where a step may write over an operand that nobody reads later.
type planner struct {
	f        *ir.Func
	clusters []*cluster
	folded   map[*ir.Node]bool
	s        settings
	loop     bool // f is the body of a While

	owner   map[*ir.Value]*ir.Value // the value whose storage a view shares
	offset  map[*ir.Value]int       // where in it
	died    map[*ir.Value]int       // owner: the last step that reads it
	born    map[*ir.Value]int
	store   map[*ir.Value]*storage // storage, by owner
	copies  []finalCopy
	outputs []*storage
	kept    []bool
	scratch []*storage // scratch memory, by cluster; nil if it needs none
	prog    *program
}

// finalCopy is a result that lies elsewhere (in an input, in another result) and is copied out at
// the end.
type finalCopy struct {
	result int
	from   *ir.Value
}

// storage is a piece of memory with a lifetime, shared by the values that are written over one
// another.
type storage struct {
	ref         ref
	bytes       int
	first, last int
	arena       bool
	over        int // 1 + the step that wrote over what was here before
}

const forever = 1 << 30

// since returns when the step begins that cluster i is part of. The members of a sweep take turns:
// what one of them uses must stay as long as the sweep.
func (p *planner) since(i int) int {
	for ; i > 0 && p.clusters[i].sweep != nil && p.clusters[i-1].sweep == p.clusters[i].sweep; i-- {
	}
	return i
}

// until returns when the step ends.
func (p *planner) until(i int) int {
	if i == forever {
		return i
	}
	for ; i+1 < len(p.clusters) && p.clusters[i].sweep != nil && p.clusters[i+1].sweep == p.clusters[i].sweep; i++ {
	}
	return i
}

// aligned reports whether v, of cluster i, may lie over value in: in a sweep, if a row of one is
// where that row of the other is, and other members read it by rows too, having been given it by a
// member.
func (p *planner) aligned(i int, v, in *ir.Value) bool {
	s := p.clusters[i].sweep
	return s == nil || p.born[in] >= p.since(i) && !overRows(v.Node) && !overRows(in.Node) &&
		firstAxis(v) == s.rows && firstAxis(in) == s.rows
}

func (p *planner) run() {
	p.alias()
	p.lifetimes()
	p.inputs()
	p.results()
	p.values()
	p.allocate()
}

// alias finds what views are views of.
func (p *planner) alias() {
	p.owner, p.offset = map[*ir.Value]*ir.Value{}, map[*ir.Value]int{}
	for _, n := range p.f.Nodes {
		for _, v := range n.Outputs {
			p.owner[v] = v
		}
		if ir.View(n.Op) {
			p.owner[n.Outputs[0]], p.offset[n.Outputs[0]] = p.owner[n.Inputs[0]], p.offset[n.Inputs[0]]
		} else if n.Op == compute.OpTypeSlice && !stepped(n) {
			off, _ := contiguous(n)
			p.owner[n.Outputs[0]], p.offset[n.Outputs[0]] = p.owner[n.Inputs[0]], p.offset[n.Inputs[0]]+off
		}
	}
}

// reads calls fn with the owner of everything the cluster reads from memory.
func (p *planner) reads(c *cluster, fn func(v *ir.Value)) {
	inside := map[*ir.Node]bool{}
	for _, n := range c.nodes {
		inside[n] = true
	}
	for _, n := range c.nodes {
		for _, v := range n.Inputs {
			if p.folded[v.Node] {
				v = v.Node.Inputs[0]
			}
			if !inside[v.Node] {
				fn(p.owner[v])
			}
		}
	}
}

func (p *planner) lifetimes() {
	p.died, p.born = map[*ir.Value]int{}, map[*ir.Value]int{}
	for i, c := range p.clusters {
		for _, n := range c.nodes {
			for _, v := range n.Outputs {
				p.born[v], p.died[v] = i, i
			}
		}
		p.reads(c, func(v *ir.Value) { p.died[v] = i })
	}
	for _, r := range p.f.Results {
		p.died[p.owner[r]] = forever
	}
}

// inputs gives parameters, captures and constants their places.
func (p *planner) inputs() {
	p.store = map[*ir.Value]*storage{}
	slot := 1
	for _, v := range slices.Concat(p.f.Params, p.f.Captures) {
		p.store[v] = &storage{ref: ref{slot: int32(slot)}, bytes: v.Bytes()}
		slot++
	}
	slot += len(p.f.Results)
	for _, n := range p.f.Nodes {
		if n.Op == compute.OpTypeConstant {
			v := n.Outputs[0]
			p.store[v] = &storage{ref: ref{slot: int32(slot)}, bytes: v.Bytes()}
			p.prog.consts = append(p.prog.consts, n.Attr.(ir.Literal).Data)
			slot++
		}
	}
}

// results gives each result its caller's memory, unless it already lies elsewhere and must be
// copied.
func (p *planner) results() {
	p.kept = make([]bool, len(p.f.Results))
	p.outputs = make([]*storage, len(p.f.Results))
	taken := map[*ir.Value]bool{}
	for i, r := range p.f.Results {
		own := p.owner[r]
		slot := 1 + len(p.f.Params) + len(p.f.Captures) + i
		p.outputs[i] = &storage{ref: ref{slot: int32(slot)}, bytes: r.Bytes(), last: forever}
		switch {
		case p.loop && own == p.f.Params[i] && p.offset[r] == 0:
			p.kept[i] = true
		case p.store[own] != nil || taken[own] || own.Bytes() != r.Bytes():
			p.copies = append(p.copies, finalCopy{i, r})
		default:
			taken[own] = true
			if chain := p.chain(i, own); chain != nil {
				p.kept[i] = true
				for _, v := range chain {
					p.store[v] = p.store[p.f.Params[i]]
				}
				continue
			}
			p.store[own] = p.outputs[i]
		}
	}
}

// chain follows result i of a loop's body back to parameter i through steps that can each write
// over their operand. It returns the values on the way, all of which then lie in the parameter's
// own memory, so that a large state that is updated in place is never copied.
func (p *planner) chain(i int, v *ir.Value) []*ir.Value {
	if !p.loop || !p.s.on("inplace") {
		return nil
	}
	var chain []*ir.Value
	for v.Node.Op != compute.OpTypeParameter {
		if p.store[v] != nil || v.Bytes() != p.f.Params[i].Bytes() {
			return nil
		}
		chain = append(chain, v)
		c := p.clusters[p.born[v]]
		if c.sweep != nil {
			return nil // other tiles still read what it would write over
		}
		next := (*ir.Value)(nil)
		for _, in := range p.overwritable(c, v) {
			if p.died[in] == p.born[v] && (next == nil || in == p.f.Params[i]) {
				next = in
			}
		}
		if next == nil || next.Node.Op == compute.OpTypeConstant || next.Node.Op == compute.OpTypeCapturedValue {
			return nil
		}
		v = next
	}
	if v != p.f.Params[i] {
		return nil
	}
	return chain
}

// overwritable returns the owners of the operands that the cluster could write output v over.
func (p *planner) overwritable(c *cluster, v *ir.Value) []*ir.Value {
	var ins []*ir.Value
	if c.region() {
		ins = regionInPlace(c, v, p.folded)
	} else if h, _ := howOf(c.nodes[0].Op); h.inplace != nil {
		ins = h.inplace(c.nodes[0], v)
	}
	var out []*ir.Value
	for _, in := range ins {
		own := p.owner[in]
		if own.Bytes() == v.Bytes() && !slices.Contains(out, own) && !p.readElsewhere(c, own, in) {
			out = append(out, own)
		}
	}
	return out
}

// readElsewhere reports whether the cluster reads owner own other than as in. A region may read in
// as often as it likes, element by element; a single step that is also given it as another operand,
// or captures it, may read it after it has begun to write, and so may the head of a region, which
// reads rows of its operands for other tiles.
func (p *planner) readElsewhere(c *cluster, own, in *ir.Value) bool {
	count := 0
	for _, n := range c.nodes {
		for _, v := range n.Inputs {
			if p.folded[v.Node] {
				v = v.Node.Inputs[0]
			}
			if p.owner[v] == own && (v != in || n == c.head) {
				return true
			}
			if v == in {
				count++
			}
		}
	}
	return count > 1 && !c.region()
}

// values gives storage to what is left: over a dying operand where possible, else in the arena.
func (p *planner) values() {
	p.scratch = make([]*storage, len(p.clusters))
	for i, c := range p.clusters {
		if n := scratchBytes(c); n > 0 {
			p.scratch[i] = &storage{bytes: n, first: p.since(i), last: p.until(i), arena: true}
		}
		for _, n := range c.nodes {
			for _, v := range n.Outputs {
				if p.store[v] == nil && p.inMemory(c, v) {
					p.place(i, c, v)
				}
			}
		}
	}
}

// inMemory reports whether v is read outside its cluster, or is the output of a single node.
func (p *planner) inMemory(c *cluster, v *ir.Value) bool {
	return len(c.nodes) == 1 || p.died[v] > p.born[v] || v.Node == c.head || slices.Contains(c.tails, v.Node)
}

func (p *planner) place(i int, c *cluster, v *ir.Value) {
	if v.Node == c.head && p.died[v] == i {
		// The head goes where the region will put its own result, if that is a place of the
		// caller's that holds nothing yet.
		for _, n := range c.nodes {
			w := n.Outputs[0]
			if s := p.store[w]; slices.Contains(p.outputs, s) && w != v && w.Bytes() == v.Bytes() && slices.Contains(p.overwritable(c, w), v) {
				p.store[v] = s
				return
			}
		}
	}
	if p.s.on("inplace") && v.Node != c.head {
		for _, in := range p.overwritable(c, v) {
			if s := p.store[in]; p.died[in] == i && s != nil && s.arena && s.bytes == v.Bytes() && s.last == p.until(i) &&
				s.over <= i && p.aligned(i, v, in) {
				s.last, s.over = p.until(p.died[v]), i+1
				p.store[v] = s
				return
			}
		}
	}
	p.store[v] = &storage{bytes: v.Bytes(), first: p.since(i), last: p.until(p.died[v]), arena: true}
}

// allocate packs the arena: largest first, each at the lowest address that is free for its
// lifetime.
func (p *planner) allocate() {
	var all, placed []*storage
	seen := map[*storage]bool{}
	add := func(s *storage) {
		if s != nil && s.arena && !seen[s] {
			seen[s] = true
			all = append(all, s)
		}
	}
	for i, c := range p.clusters {
		add(p.scratch[i])
		for _, n := range c.nodes {
			for _, v := range n.Outputs {
				add(p.store[v])
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *storage) int { return cmp.Compare(b.bytes, a.bytes) })
	for _, s := range all {
		s.ref.off = fit(placed, s)
		p.prog.arena = max(p.prog.arena, s.ref.off+s.bytes)
		i, _ := slices.BinarySearchFunc(placed, s.ref.off, func(o *storage, off int) int { return o.ref.off - off })
		placed = slices.Insert(placed, i, s)
	}
}

// fit returns the lowest aligned offset where s meets none of placed, sorted by offset, that live
// when it does.
func fit(placed []*storage, s *storage) int {
	off := 0
	for _, o := range placed {
		if o.first > s.last || s.first > o.last {
			continue
		}
		if off+s.bytes <= o.ref.off {
			break
		}
		off = max(off, (o.ref.off+o.bytes+alignment-1)&^(alignment-1))
	}
	return off
}

// at returns where v lies.
func (p *planner) at(v *ir.Value) ref {
	r := p.store[p.owner[v]].ref
	r.off += p.offset[v]
	return r
}

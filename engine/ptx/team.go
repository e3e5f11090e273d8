package ptx

import (
	"fmt"
	"slices"

	"github.com/weft-rl/weft/engine/internal/assembly"
	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/rows"
)

// A loop whose matrices do not fit into registers is done by teams. The warps of a block have a
// band of 16 rows, or two. What is small of a row each warp computes for itself, a thread to a row,
// so that nobody waits for it; a long vector is a matrix of the block in shared memory, of which
// each warp makes every eighth piece of eight columns. Products run on the tensor cores. Weights
// are read anew in every round, from the cache that all blocks share: a band reads them once, where
// a row of its own would read them 16 times.
const (
	band      = 16 // rows of a step of the tensor cores
	teamWarps = 8
	teamWide  = 512 << 10 // elements of matrices, beyond which products of the whole batch are quicker
	rowWide   = 32 << 10  // elements that a warp may read in every round for a row of its own
)

// team writes one such kernel.
type team struct {
	*writer
	bands int // bands of a block
	top   int // bytes of shared memory
	arms  int // branches that are open

	uses     map[*rows.Node]int
	buffers  map[*rows.Node]*matrix       // long nodes, and small ones that are multiplied
	states   map[int]*matrix              // long states
	products map[*rows.Node][][][4]string // products, by the warp's pieces and by bands
	matrices map[*rows.Node][][2]part     // weights that are held
	vectors  map[*rows.Node][][2]string   // vectors that all rows share, if they are held

	thread, warp, mine string // mine is the thread's row in the block
	begin              string // the block's first row
	group, member      string // position of a thread in its warp: lane/4 and lane%4
	inside             string // predicate: the thread is the one that writes what is small of its row

	// Of regions: shared memory is used again once a matrix has been read for the last time, which
	// a first writing finds out.
	order int
	reads map[*rows.Node]int // the last one of each matrix, in the order of the program
	known map[*rows.Node]int // reads of the first writing; nil while that goes on, and in loops
	free  []span
}

func newTeam(l *rows.Loop, p ir.Precision, bands int) *team {
	t := &team{writer: newWriter(l, teamWarps, p), bands: bands, uses: map[*rows.Node]int{}, buffers: map[*rows.Node]*matrix{},
		states: map[int]*matrix{}, products: map[*rows.Node][][][4]string{}, matrices: map[*rows.Node][][2]part{},
		vectors: map[*rows.Node][][2]string{}, reads: map[*rows.Node]int{}}
	t.own, t.budget = t.special, 96
	return t
}

// ofTeam writes a loop as the kernel of teams, or refuses.
func ofTeam(l *rows.Loop, name string, p ir.Precision) (k Kernel, err error) {
	bands := 1
	if l.Rows > 2*band*processors {
		bands = 2
	}
	t := newTeam(l, p, bands)
	if err := refused(t.kernel); err != nil {
		return k, err
	}
	if t.top > mostShared {
		return k, refusal{fmt.Sprintf("%d bytes of shared memory", t.top)}
	}
	return Kernel{Name: name, Text: dynamic(t.text(name)), Grid: up(l.Rows, t.rows()) / t.rows(), Block: teamWarps * lanes, Shared: t.top + overhang}, nil
}

// rows returns how many a block has.
func (t *team) rows() int { return band * t.bands }

// kernel writes the body, as writer's does.
func (t *team) kernel() {
	t.where()
	t.survey()
	t.ahead()
	for i, r := range t.loop.Results {
		switch {
		case r.Kind == rows.State && spread(r.Init.N):
			t.states[i] = t.room(r.Init.N)
			t.readLong(r.Init, t.states[i])
		case r.Kind == rows.State, r.Kind == rows.Common:
			t.carried[i] = t.copied(kindOf(r.Value.DType()), t.get(r.Init))
		case r.Kind == rows.Sum:
			t.carried[i] = []string{t.constant(r.Value.DType(), 0)}
		}
	}
	t.Line("bar.sync 0")
	t.round = t.Op(b32, "mov.u32", "0")
	start := t.label()
	t.Label(start)
	t.enter()
	t.oneRound()
	t.exit()
	t.Line("bar.sync 0") // the next round overwrites what this one reads
	t.Line("add.u32 %s, %s, 1", t.round, t.round)
	more := t.Op(pred, "setp.lt.u32", t.round, fmt.Sprint(t.loop.Trips))
	t.Line("@%s bra %s", more, start)
	t.results()
	t.Line("ret")
}

// results writes what states and sums are after the last round.
func (t *team) results() {
	for i, r := range t.loop.Results {
		switch {
		case t.states[i] != nil:
			t.writeLong(i, t.states[i])
		case r.Kind == rows.State, r.Kind == rows.Sum:
			t.store(i, t.carried[i])
		case r.Kind == rows.Common:
			all := t.first
			t.first = t.Op(pred, "and.pred", all, t.Op(pred, "setp.eq.u64", t.row, "0"))
			t.store(i, t.carried[i])
			t.first = all
		}
	}
}

// where finds the row and the addresses. Beyond the last row threads do that one again, and do not
// write it.
func (t *team) where() {
	t.addresses()
	t.threads()
	t.begin = t.Op(b32, "mul.lo.u32", t.Op(b32, "mov.u32", "%ctaid.x"), fmt.Sprint(t.rows()))
	row := t.Op(b32, "add.u32", t.begin, t.mine)
	t.first = t.inside
	if t.loop.Rows%t.rows() != 0 {
		t.first = t.Op(pred, "and.pred", t.inside, t.Op(pred, "setp.lt.u32", row, fmt.Sprint(t.loop.Rows)))
		row = t.Op(b32, "min.u32", row, fmt.Sprint(t.loop.Rows-1))
	}
	t.row = t.Op(b64, "cvt.u64.u32", row)
}

// threads finds out which one this is. Every warp has all rows of a block, if they are not more
// than its threads.
func (t *team) threads() {
	t.thread = t.Op(b32, "mov.u32", "%tid.x")
	t.lane = t.Op(b32, "and.b32", t.thread, "31")
	t.lane64 = t.Op(b64, "cvt.u64.u32", t.lane)
	t.warp = t.Op(b32, "shr.u32", t.thread, "5")
	t.group, t.member = t.Op(b32, "shr.u32", t.lane, "2"), t.Op(b32, "and.b32", t.lane, "3")
	t.mine = t.Op(b32, "and.b32", t.thread, fmt.Sprint(t.rows()-1))
	t.inside = t.Op(pred, "setp.lt.u32", t.thread, fmt.Sprint(t.rows()))
}

// survey counts who uses what.
func (t *team) survey() { t.counts(func(visit func(*rows.Node)) { t.walk(true, visit) }, teamWide) }

// counts counts how often nodes are used: an operand of a product is kept in any case. Matrices may
// have so many elements.
func (t *team) counts(walk func(func(*rows.Node)), most int) {
	total := 0
	walk(func(n *rows.Node) {
		for _, a := range n.Args {
			t.uses[a]++
			if n.Op == rows.Dot {
				t.uses[a]++
			}
		}
		if n.Op == rows.Dot {
			total += n.N * n.Args[0].N
		}
	})
	if total > most {
		refuse("matrices of %d elements", total)
	}
}

// ahead writes, before the loop, what is the same in every round, and loads weights while there is
// room.
func (t *team) ahead() {
	t.holds(func(visit func(*rows.Node)) { t.walk(false, visit) })
	changes := map[*rows.Node]bool{}
	t.walk(false, func(n *rows.Node) {
		changes[n] = spread(n.N) || slices.ContainsFunc(n.Args, long) || n.Op == rows.Round || n.Op == rows.Carried || n.Op == rows.Chosen ||
			slices.ContainsFunc(n.Args, func(a *rows.Node) bool { return changes[a] })
		if !changes[n] {
			t.get(n)
		}
	})
}

// holds loads weights, and vectors that all rows share, while there is room.
func (t *team) holds(walk func(func(*rows.Node))) {
	walk(func(n *rows.Node) {
		switch {
		case n.Op == rows.Dot && !long(n) && !long(n.Args[0]):
			t.hold(n)
		case n.Op == rows.Dot:
			t.holdPieces(n)
		case long(n) && common(n):
			t.holdVector(n)
		}
	})
}

// long reports whether a node's vectors are matrices of the block.
func long(n *rows.Node) bool { return spread(n.N) }

// common reports whether a node is read, and the same for all rows.
func common(n *rows.Node) bool {
	return n.Op == rows.Load && n.Place.Row == 0 && len(n.Dyn) == 0
}

// oneRound writes a round: small results as writer does, long ones by way of shared memory.
func (t *team) oneRound() {
	t.walk(false, func(n *rows.Node) {
		if n.Op == rows.Load && !spread(n.N) && !slices.ContainsFunc(n.Args, func(a *rows.Node) bool { return a.Op != rows.Round }) {
			t.get(n)
		}
		if n.Op == rows.Carried && spread(n.N) {
			t.buffers[n] = t.states[n.State]
		}
	})
	t.roundResults(func(r rows.Result) bool { return !spread(len(r.Place.Elems)) })
	t.longResults()
}

// longResults writes what is put aside, and gives long states their next values.
func (t *team) longResults() {
	next := map[int]*matrix{}
	for i, r := range t.loop.Results {
		switch {
		case (r.Kind == rows.Aside || r.Kind == rows.Kept) && spread(r.Next.N):
			t.writeLong(i, t.keep(r.Next))
		case t.states[i] != nil && r.Next.Op == rows.Carried && r.Next.State != i:
			refuse("a long state that becomes another")
		case t.states[i] != nil && r.Next.Op != rows.Carried:
			next[i] = t.keep(r.Next)
		}
	}
	if len(next) > 0 {
		t.Line("bar.sync 0") // all have read the old values
	}
	for i := range t.loop.Results {
		if h := next[i]; h != nil {
			t.copyLong(t.states[i], h, t.loop.Results[i].Next.N)
		}
	}
}

// special computes what is not the thread's alone: branches, products of long vectors, and what is
// taken from them.
func (t *team) special(n *rows.Node) []string {
	switch {
	case spread(n.N):
		refuse("a row's %d elements in one thread", n.N)
	case n.Op == rows.Chosen:
		return t.choose(n)
	case !slices.ContainsFunc(n.Args, long):
		return nil
	case n.Op == rows.Dot:
		return t.smallDot(n)
	case n.Op == rows.Reduce:
		return t.across(n)
	case n.Op == rows.Pick:
		return t.picked(n)
	}
	refuse("%s of a long row", n.Op)
	return nil
}

// choose writes a branch: if a row of the block wants it, all compute it, and those take it that
// want it. Every warp has all rows, so they agree.
func (t *team) choose(n *rows.Node) []string {
	if t.rows() > lanes {
		refuse("a branch of rows that no warp has all of")
	}
	b, end := n.Branch, t.label()
	cond := t.get(b.Cond)[0]
	wanted := t.Op(pred, "vote.sync.any.pred", cond, "0xffffffff")
	outs := make([][]string, len(b.Outcomes))
	t.arms++
	t.enter()
	for i, o := range b.Outcomes {
		outs[i] = t.copied(kindOf(o.Chosen.Type), t.get(o.Else))
	}
	t.exit()
	t.Line("@!%s bra %s", wanted, end)
	t.enter()
	for i, o := range b.Outcomes {
		k := kindOf(o.Chosen.Type)
		for j, x := range t.get(o.Then) {
			t.move(k, outs[i][j], t.Either(k, cond, x, outs[i][j]))
		}
	}
	t.exit()
	t.arms--
	t.Label(end)
	for i, o := range b.Outcomes {
		t.scopes[len(t.scopes)-1][o.Chosen] = outs[i]
	}
	return outs[n.Which]
}

// smallDot returns a product with few columns. The warps share the sum's elements, and each thread
// adds up, in order, what they found for its row.
func (t *team) smallDot(n *rows.Node) []string {
	h := t.keep(n.Args[0])
	steps, pieces := t.steps(n), up(n.N, 8)/8
	active := min(steps, teamWarps)
	sums, weight := t.zeroSums(pieces), t.weightsOf(n)
	for j := range up(steps, teamWarps) / teamWarps {
		a := t.sharedOperand(h, steps, j)
		for c := range pieces {
			t.multiplyBands(a, weight(j*pieces+c), sums[c])
		}
	}
	t.read(n.Args[0])
	parts := t.rooms(8*pieces, active)
	size := parts.bytes()
	to := t.Op(b32, "mad.lo.u32", t.warp, fmt.Sprint(size), t.corner(parts))
	guard := ""
	if active < teamWarps {
		guard = "@" + t.Op(pred, "setp.lt.u32", t.warp, fmt.Sprint(active)) + " "
	}
	for c := range pieces {
		for b := range t.bands {
			t.put(parts, to, 8*c, b, guard, sums[c][b])
		}
	}
	t.Line("bar.sync 0")
	at := t.rowOf(parts)
	out := make([]string, n.N)
	for i := range out {
		var found []string
		for w := range active {
			found = append(found, t.F("ld.shared", fmt.Sprintf("[%s+%d]", at, parts.at+w*size+4*i)))
		}
		out[i] = t.total(found)
	}
	t.release(parts, active)
	return out
}

// across reduces a long row: each thread goes along its own.
func (t *team) across(n *rows.Node) []string {
	h := t.keep(n.Args[0])
	at := t.rowOf(h)
	out := make([]string, n.N)
	for i, g := range n.Groups {
		out[i] = t.fold(n, at, h, g)
	}
	t.read(n.Args[0])
	return out
}

// picked returns single elements of long rows.
func (t *team) picked(n *rows.Node) []string {
	out := make([]string, n.N)
	for i, f := range n.From {
		if a := n.Args[f.Arg]; spread(a.N) {
			h := t.keep(a)
			out[i] = t.F("ld.shared", fmt.Sprintf("[%s+%d]", t.rowOf(h), h.at+4*f.Elem))
			t.read(a)
		} else {
			out[i] = t.get(a)[f.Elem]
		}
	}
	return out
}

// zeroSums returns the beginnings of sums, for so many pieces and each band.
func (t *team) zeroSums(pieces int) [][][4]string {
	zero := assembly.Float(0)
	out := make([][][4]string, pieces)
	for i := range out {
		out[i] = slices.Repeat([][4]string{{zero, zero, zero, zero}}, t.bands)
	}
	return out
}

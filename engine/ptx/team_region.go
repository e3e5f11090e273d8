package ptx

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/rows"
)

// A region of wide networks is done by teams, up to 64 rows at a time. Its weights are read from
// the cache that all blocks share. Sums of products that do not fit into the registers of a block
// are left to others: their two factors are written, for all rows.
const (
	mostBands  = 4
	regionWide = 48 << 10 // elements of matrices, forth and back; 256 x 256 take as long as XLA's kernels do, and seconds to be compiled
	pieceRegs  = 64       // registers of a thread that a sum of products may take
)

// Left is a sum over rows of a region that its kernel leaves to others: of products of two matrices
// that it writes.
type Left struct {
	Sum  int // position in the region's sums
	X, Y int // positions in Tiles.Written
}

// teamRegion writes one such kernel.
type teamRegion struct {
	*team
	region  *rows.Region
	how     *Tiles
	written map[*rows.Node]int // position of matrices that are outputs
	out     []string           // their addresses
	sums    []*teamSum
}

// wanted is how many blocks keep a device busy. Tests want fewer.
var wanted = processors * 3 / 4

// regionBands returns how many bands of rows a block has: as many as can be, since they share the
// weights that are read, while there are as many blocks as wanted.
func regionBands(rows int) int {
	bands := mostBands
	for bands > 1 && (rows%(band*bands) != 0 || rows/(band*bands) < wanted) {
		bands /= 2
	}
	return bands
}

// ofTeamRegion writes a region as a kernel of teams with so many bytes of shared memory at most, or
// refuses.
func ofTeamRegion(r *rows.Region, name string, p ir.Precision, most int) Tiles {
	bands := regionBands(r.Rows)
	if r.Rows%(band*bands) != 0 {
		refuse("%d rows, which are no multiple of %d", r.Rows, band*bands)
	}
	k := Tiles{Blocks: min(r.Rows/(band*bands), processors), At: make([]int, len(r.Sums))}
	first := newTeamRegion(r, &k, p, nil)
	first.kernel()
	second := newTeamRegion(r, &k, p, first.reads)
	second.kernel()
	if k.Shared = second.top + overhang; k.Shared > most {
		refuse("%d bytes of shared memory", k.Shared)
	}
	k.Kernel = Kernel{Name: name, Text: dynamic(second.text(name)), Grid: k.Blocks, Block: teamWarps * lanes, Shared: k.Shared}
	return k
}

func newTeamRegion(r *rows.Region, how *Tiles, p ir.Precision, known map[*rows.Node]int) *teamRegion {
	t := &teamRegion{team: newTeam(&rows.Loop{Rows: r.Rows, Inputs: r.Inputs}, p, regionBands(r.Rows)), region: r, how: how, written: map[*rows.Node]int{}}
	t.known = known
	how.Single, how.Double, how.Written, how.Left = 0, 0, nil, nil
	for i, s := range r.Sums {
		t.plan(i, s)
	}
	return t
}

// plan decides what becomes of a sum.
func (t *teamRegion) plan(i int, s rows.Total) {
	a := &teamSum{Total: s}
	if s.Y != nil && !a.fits() {
		t.how.Left = append(t.how.Left, Left{i, t.output(s.X), t.output(s.Y)})
		t.sums = append(t.sums, a)
		return
	}
	n := s.X.N
	if s.Y != nil {
		n *= s.Y.N
	}
	count := &t.how.Single
	if s.Value.DType() == dtypes.Float64 {
		count = &t.how.Double
	}
	a.at, t.how.At[i] = *count, *count
	*count += n
	t.sums = append(t.sums, a)
}

// output returns the position of a matrix that the kernel writes.
func (t *teamRegion) output(n *rows.Node) int {
	i, ok := t.written[n]
	if !ok {
		i = len(t.how.Written)
		t.written[n] = i
		t.how.Written = append(t.how.Written, n.N)
	}
	return i
}

// kernel writes the body: what is held, the loop over tiles of rows, what becomes of the sums.
func (t *teamRegion) kernel() {
	for _, v := range t.region.Inputs {
		if v == nil {
			t.inputs = append(t.inputs, "")
			continue
		}
		t.inputs = append(t.inputs, t.address(t.params))
		t.params++
	}
	single, double := t.address(t.params), t.address(t.params+1)
	t.params += 2
	for range t.how.Written {
		t.out = append(t.out, t.address(t.params))
		t.params++
	}
	t.threads()
	t.survey()
	t.ahead()
	for _, a := range t.sums {
		t.begins(a)
	}
	block := t.Op(b32, "mov.u32", "%ctaid.x")
	number := t.Op(b32, "mov.u32", block)
	t.begin, t.row = t.New(b32), t.New(b64)
	start := t.label()
	t.Label(start)
	t.enter()
	t.Line("mul.lo.u32 %s, %s, %d", t.begin, number, t.rows())
	t.Line("cvt.u64.u32 %s, %s", t.row, t.Op(b32, "add.u32", t.begin, t.mine))
	for _, a := range t.sums {
		t.add(a)
	}
	t.exit()
	t.Line("bar.sync 0") // the next tile overwrites what this one reads
	t.Line("add.u32 %s, %s, %d", number, number, t.how.Blocks)
	more := t.Op(pred, "setp.lt.u32", number, fmt.Sprint(t.region.Rows/t.rows()))
	t.Line("@%s bra %s", more, start)
	t.leave(t.Op(b64, "cvt.u64.u32", block), single, double)
	t.Line("ret")
}

// survey counts who uses what.
func (t *teamRegion) survey() {
	for _, s := range t.region.Sums {
		t.uses[s.X] += 2
		if s.Y != nil {
			t.uses[s.Y] += 2
		}
	}
	t.counts(t.nodes, regionWide)
}

// ahead holds weights and vectors that all rows share. What rows compute depends on the tile.
func (t *teamRegion) ahead() { t.holds(t.nodes) }

// nodes visits all that the region computes, operands first.
func (t *teamRegion) nodes(visit func(*rows.Node)) {
	seen := map[*rows.Node]bool{}
	var down func(n *rows.Node)
	down = func(n *rows.Node) {
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		for _, a := range n.Args {
			down(a)
		}
		visit(n)
	}
	for _, s := range t.region.Sums {
		down(s.X)
		down(s.Y)
	}
}

// write writes a matrix that is an output, when it is there for the first time.
func (t *teamRegion) write(n *rows.Node) {
	i, ok := t.written[n]
	if !ok {
		return
	}
	delete(t.written, n)
	h := t.keep(n)
	t.byRow(h, n.N, func(row, _ string) (string, int) {
		return t.Op(b64, "mad.lo.u64", row, fmt.Sprint(4*n.N), t.out[i]), 1
	}, func(at, address string, offset int, guard string) {
		t.Line("@%s st.global.f32 [%s+%d], %s", guard, address, offset, t.F("ld.shared", at))
	})
	t.read(n)
}

package trial

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// witness records the operations of one replica.
type witness struct {
	group string
	rank  int
	iter  int64
	calls []string // iteration, kind and name
	made  []string // calls with digests of arguments and results
	early []Call   // of the first iterations
}

// Call is an operation with what its tensors hold.
type Call struct {
	Group  string
	Of     string // iteration, kind and name
	Nth    int    // how often that was called before
	Leaves []Leaf
}

// Leaf sums up a tensor in such a way that the sums of its shards are that of all.
type Leaf struct {
	Name string
	N    int    // elements
	Bag  uint64 // of their bits
	Sum  float64
}

// earlyIterations are those whose calls are kept one by one.
const earlyIterations = 6

// Next notes that an iteration begins.
func (w *witness) Next(done int64) { w.iter = done }

// Operation records one call. Environments are reset wherever a state is asked for, so
// that nothing depends on how often they are.
func (w *witness) Operation(op rl.Operation) {
	if strings.HasSuffix(op.Name, " reset") {
		return
	}
	h := sha256.New()
	for _, l := range slices.Concat(op.In, op.Out) {
		addLeaf(h, l)
	}
	call := fmt.Sprint(w.iter, " ", op.Kind, " ", op.Name)
	if w.iter < earlyIterations {
		c := Call{Group: w.group, Of: call, Nth: w.count(call)}
		for _, l := range slices.Concat(op.In, op.Out) {
			c.Leaves = append(c.Leaves, bagged(l))
		}
		w.early = append(w.early, c)
	}
	w.calls = append(w.calls, call)
	w.made = append(w.made, fmt.Sprintf("%s %x", call, h.Sum(nil)))
}

// count returns how often a call was made.
func (w *witness) count(call string) (n int) {
	for _, c := range w.calls {
		if c == call {
			n++
		}
	}
	return n
}

func bagged(l rl.Leaf) Leaf {
	out := Leaf{Name: l.Name}
	if !l.Ok() {
		return out
	}
	add := func(bits uint32, value float64) {
		x := (uint64(bits) + 1) * 0x9e3779b97f4a7c15
		out.Bag += (x ^ x>>29) * 0xbf58476d1ce4e5b9
		out.N, out.Sum = out.N+1, out.Sum+value
	}
	switch l.Shape().DType {
	case dtypes.Float32:
		for _, x := range rl.Read[float32](l.Tensor) {
			add(math.Float32bits(x), finite(float64(x)))
		}
	case dtypes.Int32:
		for _, x := range rl.Read[int32](l.Tensor) {
			add(uint32(x), float64(x))
		}
	case dtypes.Bool:
		for _, x := range rl.Read[bool](l.Tensor) {
			if x {
				add(1, 1)
			} else {
				add(0, 0)
			}
		}
	}
	return out
}

// finite returns x, or a number in the place of one that JSON cannot have.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 1e6
	}
	return x
}

func addLeaf(h hash.Hash, l rl.Leaf) {
	if !l.Ok() {
		return
	}
	fmt.Fprintln(h, l.Name, l.Shape())
	switch l.Shape().DType {
	case dtypes.Float32:
		h.Write(dtypes.UnsafeByteSliceFromAny(rl.Read[float32](l.Tensor)))
	case dtypes.Int32:
		h.Write(dtypes.UnsafeByteSliceFromAny(rl.Read[int32](l.Tensor)))
	case dtypes.Bool:
		h.Write(dtypes.UnsafeByteSliceFromAny(rl.Read[bool](l.Tensor)))
	}
}

// Witnesses record the operations of all replicas of a run.
type Witnesses struct {
	mu  sync.Mutex
	all []*witness
}

// Observe returns the observer of one replica.
func (w *Witnesses) Observe(group string, rank int) rl.Observer {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := &witness{group: group, rank: rank}
	w.all = append(w.all, one)
	return one
}

// counts returns how often each operation was called in each iteration. Replicas that
// share out environments make a call together, those that share out agents make calls
// of their own.
func (w *Witnesses) counts(p plan.Plan) (out []string) {
	total := map[string]int{}
	groups := map[string][]*witness{}
	for _, x := range w.all {
		groups[x.group] = append(groups[x.group], x)
	}
	for name, list := range groups {
		g := p.Grouping.Group(name)
		most := map[string]int{}
		for _, x := range list {
			mine := map[string]int{}
			for _, c := range x.calls {
				mine[c]++
			}
			for c, n := range mine {
				if g != nil && g.Over == fdg.Agents {
					most[c] += n
				} else {
					most[c] = max(most[c], n)
				}
			}
		}
		for c, n := range most {
			total[c] += n
		}
	}
	for c, n := range total {
		out = append(out, fmt.Sprint(c, " ", n))
	}
	slices.Sort(out)
	return out
}

// work returns the digest of all calls, in an order that no schedule changes.
func (w *Witnesses) work() string {
	var all []string
	for _, x := range w.all {
		all = append(all, x.made...)
	}
	slices.Sort(all)
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(all, "\n"))))
}

// Early returns the calls of the first iterations, by replica.
func (w *Witnesses) Early() (out [][]Call) {
	for _, x := range w.all {
		out = append(out, x.early)
	}
	return out
}

// traces returns the digests of the calls of every replica.
func (w *Witnesses) traces() (out []string) {
	for _, x := range w.all {
		out = append(out, fmt.Sprintf("%s/%d %x", x.group, x.rank, sha256.Sum256([]byte(strings.Join(x.made, "\n")))))
	}
	slices.Sort(out)
	return out
}

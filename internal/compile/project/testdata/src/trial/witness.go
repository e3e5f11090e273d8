package trial

import (
	"crypto/sha256"
	"fmt"
	"hash"
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
}

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
	w.calls = append(w.calls, call)
	w.made = append(w.made, fmt.Sprintf("%s %x", call, h.Sum(nil)))
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

// witnesses are those of all replicas of a run.
type witnesses struct {
	mu  sync.Mutex
	all []*witness
}

// observe returns the observer of one replica.
func (w *witnesses) observe(group string, rank int) rl.Observer {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := &witness{group: group, rank: rank}
	w.all = append(w.all, one)
	return one
}

// counts returns how often each operation was called in each iteration. Replicas that
// share out environments make a call together, those that share out agents make calls
// of their own.
func (w *witnesses) counts(p plan.Plan) (out []string) {
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
func (w *witnesses) work() string {
	var all []string
	for _, x := range w.all {
		all = append(all, x.made...)
	}
	slices.Sort(all)
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(all, "\n"))))
}

// traces returns the digests of the calls of every replica.
func (w *witnesses) traces() (out []string) {
	for _, x := range w.all {
		out = append(out, fmt.Sprintf("%s/%d %x", x.group, x.rank, sha256.Sum256([]byte(strings.Join(x.made, "\n")))))
	}
	slices.Sort(out)
	return out
}

package verify

import (
	"hash/maphash"
	"math/bits"
	"path/filepath"
	"strings"
	"time"

	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/internal/stack"
	"github.com/weft-rl/weft/rl"
)

// trace records the operations of one replica. It implements rl.Observer.
type trace struct {
	group    string
	rank     int
	records  []*record
	next     int       // calls of Next so far
	iter     int64     // iterations done at the last of them
	deadline time.Time // time at which the loop fails; zero is none
	applied  int64     // number of the iteration, from 1, that first applied a gradient; 0 before it
}

// record is one operation.
type record struct {
	ident
	iter    int64
	callers []stack.Place // the innermost first
	in, out []digest
}

// ident tells operations apart, but for those of one component in one iteration.
type ident struct {
	next       int
	kind, name string
	number     int
}

// digest stands for a tensor.
type digest struct {
	name  string
	shape shapes.Shape
	envs  rl.Span // environments of the replica
	bytes uint64  // hash of the content
	// rows is the sum over rows of a hash of (global row, content), so that the sum
	// over the shards of a batch is the digest of the batch; bag is the same without
	// the row's number. byEnv is true if the first axis has as many rows as the replica
	// has environments.
	rows, bag uint64
	byEnv     bool
}

// errLong is why a plain loop is not verified that takes too long.
type errLong struct{}

func (errLong) Error() string { return "one iteration of the plain loop takes too long" }

// Next begins an iteration.
func (t *trace) Next(done int64) { t.next, t.iter = t.next+1, done }

// Operation records an operation.
func (t *trace) Operation(op rl.Operation) {
	if !t.deadline.IsZero() && time.Now().After(t.deadline) {
		rl.Fail(errLong{})
	}
	r := &record{ident: ident{t.next, op.Kind, op.Name, op.Number}, iter: t.iter, in: digests(op.In, op.Envs), out: digests(op.Out, op.Envs)}
	r.callers = stack.Callers(deepest)
	if op.Kind == applyKind && t.applied == 0 {
		t.applied = t.iter + 1
	}
	t.records = append(t.records, r)
}

// deepest is how many callers of an operation are recorded.
const deepest = 16

// applyKind and gradKind are the operations before which and behind which several
// learners' results are those of one only within rounding.
const (
	applyKind = "rl.Opt.Apply"
	gradKind  = "rl.Loss.Grad"
)

var seed = maphash.MakeSeed()

func digests(leaves []rl.Leaf, envs rl.Span) []digest {
	out := make([]digest, len(leaves))
	for i, l := range leaves {
		out[i] = newDigest(l, envs)
	}
	return out
}

func newDigest(l rl.Leaf, envs rl.Span) digest {
	data := rl.System.Bytes(l.Tensor)
	d := digest{name: l.Name, shape: l.Shape(), envs: envs, bytes: maphash.Bytes(seed, data)}
	n := envs.Len()
	if d.byEnv = n > 0 && l.Shape().Rank() > 0 && l.Rows() == n; d.byEnv {
		size := len(data) / n
		for i := range n {
			row := maphash.Bytes(seed, data[i*size:(i+1)*size])
			d.rows += mixed(row, uint64(envs.Lo+i))
			d.bag += mixed(row, 0)
		}
	}
	return d
}

// mixed returns a hash of a row's content and its number (splitmix64's finaliser).
func mixed(content, row uint64) uint64 {
	x := content ^ bits.RotateLeft64((row+1)*0x9e3779b97f4a7c15, 31)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// same reports whether the tensors of some replicas are those of others. known is
// false if the two cannot be compared: replicas that hold different rows, of which
// some are missing. With bags set the order of rows does not count: replicas of a
// learner have parts of minibatches, which may be as long as they have environments.
func same(a, b []digest, bags bool) (equal, known bool) {
	if equal, known = pairwise(a, b); known {
		return equal, true
	}
	if x, n, ok := joined(a); ok {
		if y, m, ok := joined(b); ok && n == m {
			return bags && x.bag == y.bag || x.rows == y.rows, true
		}
	}
	for _, d := range append(a[:len(a):len(a)], b...) {
		if !d.shape.Equal(a[0].shape) {
			return true, false
		}
		equal = equal && d.bytes == a[0].bytes
	}
	return equal, true
}

// pairwise compares what replicas of the same environments hold; known is false if
// one of b has no partner among a.
func pairwise(a, b []digest) (equal, known bool) {
	equal = true
	for _, x := range b {
		found := false
		for _, y := range a {
			if x.envs == y.envs && x.shape.Equal(y.shape) {
				found = true
				equal = equal && x.bytes == y.bytes
			}
		}
		if !found {
			return true, false
		}
	}
	return equal, true
}

// joined returns the digest of the rows of all replicas, and their number. ok is false
// if a part has no rows by environment.
func joined(parts []digest) (sum digest, rows int, ok bool) {
	for _, d := range parts {
		if !d.byEnv {
			return digest{}, 0, false
		}
		sum.rows, sum.bag = sum.rows+d.rows, sum.bag+d.bag
		rows += d.envs.Len()
	}
	return sum, rows, true
}

// generatedName reports whether a file is one that weft generate writes.
func generatedName(file string) bool {
	name := filepath.Base(file)
	return strings.HasPrefix(name, "gen_") && strings.HasSuffix(name, ".go")
}

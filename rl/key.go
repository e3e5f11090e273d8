package rl

import (
	"math/bits"
	"math/rand/v2"

	"github.com/weft-rl/weft/internal/philox"
)

// How numbers are drawn.
//
// A random number is a function, not a stream: of (seed, use, iteration, position in it, global
// row, position in the row). A Key is 128 bits, folded by Philox4x32-10; draws are Philox blocks of
// (row, block) under it (internal/philox), and rl/graphkey.go is the same integer arithmetic as
// graph code, bit for bit, which a test compares. Outside a lowered loop the draws of a graph
// function are an *input* that Go fills: at the batch sizes of a rollout this is far cheaper than
// sixty small graph operations, and the bits are the same. Normals and Gumbels are graph code on
// these uniforms.
//
// Minibatches are taken by rl.Permutation, a keyed Feistel network walked along its cycles:
// position j of the order is computed alone, without a table or a sort, so a shard can find its own
// rows. Environments draw by (seed, their global index, their step number): how many stand beside
// them does not matter, and a reset needs no count of its own. Those of a process that takes the
// place of a lost one draw by its life as well (System.Anew).

// Key names a random draw. A draw is a pure function of the key, the row's global index and the
// position in the row: nothing is consumed, so splitting a batch over workers does not change the
// numbers.
//
// A key is 128 bits, folded from the seed, the name of the use, the iteration
// and the positions in it.
//
//weft:key
type Key struct {
	w   [4]uint32
	row uint32 // global index of row 0, where a replica owns a shard
	own *owned // the environments of the replica whose run the key is of; nil: all
	// in is the key inside a device program, where the iteration is itself a graph
	// value; nil elsewhere.
	in *graphKey
	// next is the key of the same draw in the next iteration, where follows is set.
	next    [4]uint32
	follows bool
}

// NewKey returns the root of all keys of a seed.
//
//weft:refuse use run.Key, which belongs to the iteration
func NewKey(seed uint64) Key {
	return Key{w: [4]uint32{uint32(seed), uint32(seed >> 32), 0x77656674, 0}}
}

// Fold derives a key: equal keys and numbers give equal keys, and anything else
// gives independent ones.
//
//weft:refuse give run.Key the number: run.Key(use, i)
func (k Key) Fold(x uint64) Key {
	if k.in != nil {
		g := k.in.w[0].Graph()
		out := k.in.fold(word(g, uint32(x)), word(g, uint32(x>>32)))
		out.path = k.in.path.fold(keyFold{lo: uint32(x), hi: uint32(x >> 32)})
		return k.inside(out)
	}
	out := Key{w: folded(k.w, x), row: k.row, own: k.own, follows: k.follows}
	if k.follows {
		out.next = folded(k.next, x)
	}
	return out
}

// folded returns the 128 bits of a key with a number folded in.
func folded(w [4]uint32, x uint64) [4]uint32 {
	return philox.Block([4]uint32{uint32(x), uint32(x >> 32), w[2], w[3]}, [2]uint32{w[0], w[1]})
}

// iteration derives the key of iteration i, which knows the key of the iteration behind it.
func (k Key) iteration(i uint64) Key {
	out := k.Fold(i)
	out.next, out.follows = folded(k.w, i+1), true
	return out
}

// Ahead returns the key of the same draw in the next iteration. ok is false where it is not known,
// as in a device program. A component that has to wait for what it draws can bring it then.
//
//weft:refuse draw by run.Key, which belongs to the iteration
func (k Key) Ahead() (next Key, ok bool) {
	return Key{w: k.next, row: k.row, own: k.own}, k.follows
}

// Use derives the key of a named use.
//
//weft:refuse give run.Key the name of the use
func (k Key) Use(name string) Key { return k.Fold(hash(name)) }

// At moves row 0 of the draws to global index row.
//
//weft:refuse let the operation find its rows: draws go by their global index
func (k Key) At(row int) Key {
	k.row = uint32(row)
	if k.in != nil {
		k = k.inside(graphKey{k.in.w, word(k.in.w[0].Graph(), uint32(row)), k.in.path.at(uint32(row))})
	}
	return k
}

// OwnOf returns the environments of a batch with this many rows, among those of the replica whose
// run made the key. The batch's random numbers are that part of the numbers for all environments.
// ok is false where the run has one replica, the key is of no run, or the batch is of no
// environments.
//
//weft:refuse let the operation find its rows: draws go by their global index
//weft:own
func (k Key) OwnOf(rows int) (own Span, ok bool) {
	if k.own == nil {
		return Span{}, false
	}
	return k.own.of(rows)
}

// forBatch returns the key for draws of rows rows by a function of a batch of lead
// rows: where that is the replica's environments, draws go by their global
// indices. Control that draws a number of its own gets the same everywhere.
func (k Key) forBatch(lead, rows int) Key {
	own, ok := k.OwnOf(lead)
	if !ok || rows%lead != 0 {
		return k
	}
	return k.At(own.Lo * (rows / lead))
}

// places reports whether draws for a batch of so many rows are what they are in a run of one
// replica: there are no others, or it is known which rows of all they are, or they are all.
func (k Key) places(rows int) bool {
	if k.own == nil || k.own.Len() == k.own.Of || rows == k.own.Of {
		return true
	}
	_, ok := k.own.of(rows)
	return ok
}

// of returns the key for draws for a batch with these leaves: where they say which rows of a batch
// of all replicas they are, draws go by that.
func (k Key) of(leaves []Tensor) Key {
	if k.own == nil {
		return k
	}
	lead := rowsOf(leaves)
	for _, t := range leaves {
		if t.val != nil && t.val.share != nil && hasRows(t, lead) {
			k.own = &owned{Span: *t.val.share}
			return k
		}
	}
	return k
}

// alongside fails if an operation is given a replica's shares of batches with unequal numbers of
// rows: they are not rows that stand beside each other in the whole batches.
func alongside(what, name string, leaves []Tensor) {
	var first *Span
	for _, t := range leaves {
		switch {
		case t.val == nil || t.val.share == nil:
		case first == nil:
			first = t.val.share
		case *first != *t.val.share:
			failf("%s %q is given a share of %d rows beside a share of %d: draw as many rows in both samples, or let one learner have them",
				what, name, first.Of, t.val.share.Of)
		}
	}
}

// filled returns the key for a batch of rows that is filled up to more of them.
func (k Key) filled(rows, full int) Key {
	if own, ok := k.OwnOf(rows); ok {
		k.own = &owned{Span: Span{Lo: own.Lo, Hi: own.Lo + full, Of: own.Of}}
	}
	return k
}

// inside returns the key k as graph values.
func (k Key) inside(g graphKey) Key { return Key{row: k.row, own: k.own, in: &g} }

// Bits returns the four random words of block b of row i.
//
//weft:refuse draw in a graph function, by row, or use run.Key where a key is asked for
func (k Key) Bits(i, b int) [4]uint32 {
	if k.in != nil {
		failf("a key inside a device program has no bits to read: draw in a graph function")
	}
	ctr := [4]uint32{k.row + uint32(i), uint32(b), k.w[2], k.w[3]}
	return philox.Block(ctr, [2]uint32{k.w[0], k.w[1]})
}

// Uniform returns draw j of row i, in the open interval (0,1).
//
//weft:refuse draw in a graph function, by row, or use run.Key where a key is asked for
func (k Key) Uniform(i, j int) float64 { return float64(philox.Unit(k.Bits(i, j/4)[j%4])) }

// IntN returns draw j of row i, uniform over 0..n-1 up to a bias of n/2^32.
//
//weft:refuse draw in a graph function, by row, or use run.Key where a key is asked for
func (k Key) IntN(i, j, n int) int {
	hi, _ := bits.Mul32(k.Bits(i, j/4)[j%4], uint32(n))
	return int(hi)
}

// Rand returns a generator for plain Go code, such as a host environment, that wants
// more than a few numbers. It starts from the key and row i alone, so there is no
// stream to save.
//
//weft:refuse draw in a graph function, by row, or use run.Key where a key is asked for
func (k Key) Rand(i int) *rand.Rand {
	w := k.Bits(i, 0)
	return rand.New(rand.NewPCG(uint64(w[0])|uint64(w[1])<<32, uint64(w[2])|uint64(w[3])<<32))
}

// hash returns FNV-1a: it names uses, it need not be random.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// fillUniform writes rows x n draws of k: the numbers of Uniform.
func (k Key) fillUniform(out []float32, n int) { philox.Fill(out, n, k.row, k.w) }

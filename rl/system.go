package rl

import (
	"reflect"

	"github.com/gomlx/compute/dtypes"
)

// System has what Weft itself does with the words of this package: it splits a run into
// replicas, moves tensors between them, saves what checkpoints hold, and makes device programs
// of loops. Generated programs reach it through package edge. Authors have no use of it.
//
// These functions need unexported fields of authors' types, so they cannot stand in a package of
// their own. As methods of an unexported type they stay out of the list of words, and are plain
// calls that the compiler checks; functions that this package hands to an internal one when it
// starts would be untyped there, or indirect. A lint test refuses System to authors' packages.
var System system

// system is the type of System. Its methods are in the files of the words that they are
// about.
type system struct{}

// Concat returns the rows of several tensors, one tensor after another: the parts of a
// batch, put together.
func (system) Concat(parts []Tensor) Tensor { return concat(parts) }

// Part returns rows lo to hi of a tensor.
func (system) Part(t Tensor, lo, hi int) Tensor { return part(t, lo, hi) }

// InParts returns tensors of the given shapes whose rows [bounds[i], bounds[i+1]) get returns on
// first use, for all tensors at once. Tensors that are not Ok stay absent.
func (system) InParts(like []Tensor, bounds []int, get func(part int) []Tensor) []Tensor {
	return inPartsOf(like, bounds, get)
}

// HasLeaves reports whether values of type t consist only of tensors, so that Leaves accepts them.
func (system) HasLeaves(t reflect.Type) bool {
	_, err := structs.Of(t)
	return err == nil
}

// Shard returns the range [lo, hi) of n things, in multiples of block, that part r of k owns.
func (system) Shard(n, block, r, k int) (lo, hi int) { return shard(n, block, r, k) }

// Share returns rows [lo, hi) of a batch that all replicas have, as one replica's: what a loss
// draws for them goes by their places in the batch.
func (system) Share(t Tensor, lo, hi int) Tensor {
	out := part(t, lo, hi)
	if out.val != nil {
		out.val.share = &Span{Lo: lo, Hi: hi, Of: t.Rows()}
	}
	return out
}

// Shards returns a scope for a replica that has shards [first, last) of k. It shares its run with
// other replicas even if it has all shards: the owner of the run counts episodes.
func (system) Shards(s *Scope, first, last, k int) *Scope { return s.shards(first, last, k) }

// SaveSome puts the state of the components for whose names want is true.
func (system) SaveSome(s *Scope, st *State, want func(name string) bool) { s.saveSome(st, want) }

// SaveCounters puts the counters alone, the run's and its scope's.
func (system) SaveCounters(r *Run, st *State) { r.saveCounters(st) }

// LoadSome does what Run.Load does for a replica that has use of the components for whose names
// want is true.
func (system) LoadSome(r *Run, st *State, want func(name string) bool) error {
	return r.loadSome(st, want)
}

// Leave ends the iteration that the training function was in when it returned, if Next had not
// ended it. Whoever calls the training function calls Leave behind it; Train does. In a run of
// several replicas Leave meets the others as Next does; more reports that the one that decides
// goes on all the same. The function may then be called again, and its first Next continues
// with that iteration.
func (system) Leave(r *Run) (more bool) { return r.leave() }

// TakeEpisodes returns the episodes that ended since it was last called.
func (system) TakeEpisodes(e *Episodes) []Episode { return e.take() }

// KindNames returns the kinds of agents that Episode.Kinds are of; nil where there is one.
func (system) KindNames(e *Episodes) []string { return e.kindNames() }

// ApplyAt does what Opt.Apply does inside a device program, with a learning rate that may be a
// graph value.
func (system) ApplyAt(o *Opt, g Grads, lr Tensor) { o.applyAt(g, lr) }

// Table returns a number that f computes from the counters of every iteration, inside a device
// program: a scalar of type d.
func (system) Table(r *Run, d dtypes.DType, f func(*Run) float64) Tensor { return r.host(d, f) }

// FusedKind returns the kind of operation that an observer sees in the place of those that one
// graph did.
func (system) FusedKind() string { return fusedKind }

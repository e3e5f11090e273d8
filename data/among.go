package data

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Demonstrated says what part of an update is demonstrations, as settings for an algorithm that
// learns from a table to embed.
type Demonstrated struct {
	Demos        string  `names:"data set" doc:"data set of demonstrations, which updates learn from beside the policy's own steps; none by default"`
	DemoFraction float64 `default:"0.25" range:"[0,1]" doc:"part of the rows of every update that are demonstrations, if there are any"`
}

// DemoRows returns how many rows of an update of n are demonstrations.
//
//weft:pure
func (d Demonstrated) DemoRows(n int) int {
	if d.Demos == "" {
		return 0
	}
	return int(d.DemoFraction*float64(n) + .5)
}

// NewShown returns the set of demonstrations under the name "demos". It fails unless they have the
// given spaces.
//
//weft:makes
func NewShown[E any](s *rl.Scope, from Demonstrated, obs, action rl.Space, how Options) (*Set[E], error) {
	set, err := NewFrom[E](s, "demos", From{Data: from.Demos, OnDevice: onDevice}, how)
	if err == nil {
		err = set.Fits(obs, action)
	}
	return set, err
}

// Among returns a sample of a table with its first n rows replaced by steps that are drawn from the
// set, so that an update learns from both. The set has the table's elements and options. The table
// does not know the rows that are the set's: their Index is -1.
//
//weft:op sample reads whole shape=rows shards=even
func (d *Set[E]) Among(k rl.Key, n int, own replay.Sample[E]) replay.Sample[E] {
	if rows := own.Index.Rows(); n < 0 || n > rows {
		rl.Failf("data set %q: %d rows among a sample of %d", d.name, n, rows)
	}
	if n == 0 {
		return own
	}
	if l := d.scope.Lowering(); l != nil {
		return d.traced(l).among(k, n, own)
	}
	return d.observed("Among", func() replay.Sample[E] {
		s := d.demonstrated(k, n)
		return d.zip(s.Shown, own, s.Begins, rl.FromFlat(d.scope, make([]bool, n), n), d.replaced)
	})
}

// demonstration is a sample of the set that becomes part of a table's, and whether an episode
// begins with each row.
type demonstration[E any] struct {
	Shown  replay.Sample[E]
	Begins rl.Tensor
}

// demonstrated draws n steps.
func (d *Set[E]) demonstrated(k rl.Key, n int) demonstration[E] {
	shown, begins := d.sampled(k, n), make([]bool, n)
	for i, row := range rl.Read[int64](shown.Index) {
		_, begins[i] = slices.BinarySearch(d.starts, row)
	}
	shown.Index = rl.FromFlat(d.scope, slices.Repeat([]int64{-1}, n), n)
	return demonstration[E]{shown, rl.FromFlat(d.scope, begins, n)}
}

// zip puts two samples of one form together, tensor by tensor. begins is where an episode begins
// with a step that is shown, which no observation of a set has with it; never is false.
func (d *Set[E]) zip(shown, own replay.Sample[E], begins, never rl.Tensor, join func(shown, own rl.Tensor) rl.Tensor) replay.Sample[E] {
	a, b, names := rl.Leaves(shown), rl.Leaves(own), rl.LeafNames(own)
	out := make([]rl.Tensor, len(b))
	for i, x := range b {
		switch {
		case !x.Ok():
			continue
		case names[i] == "Data.Obs.First":
			a[i] = begins
		case names[i] == "Data.Next.First":
			a[i] = never
		}
		d.alikeIn(names[i], a[i], x)
		out[i] = join(a[i], x)
	}
	return rl.Rebuild(own, out)
}

// replaced returns own with its first rows replaced by those of shown.
func (d *Set[E]) replaced(shown, own rl.Tensor) rl.Tensor {
	to := reflect.MakeSlice(reflect.TypeOf(rl.Flat(own)), own.Shape().Size(), own.Shape().Size())
	reflect.Copy(to, reflect.ValueOf(rl.Flat(own)))
	reflect.Copy(to, reflect.ValueOf(rl.Flat(shown)))
	return d.scope.Device().Tensor(to.Interface(), own.Shape())
}

// alikeIn fails unless two tensors differ in their number of rows alone.
func (d *Set[E]) alikeIn(name string, shown, own rl.Tensor) {
	if !shown.Ok() {
		rl.Failf("data set %q: the table's %s is not in the set", d.name, name)
	}
	a, b := shown.Shape(), own.Shape()
	if a.DType != b.DType || fmt.Sprint(a.Dimensions[1:]) != fmt.Sprint(b.Dimensions[1:]) {
		rl.Failf("data set %q: %s of the set is %s, that of the table %s", d.name, name, a, b)
	}
}

// among does what Set.Among does.
func (t traced[E]) among(k rl.Key, n int, own replay.Sample[E]) replay.Sample[E] {
	s := t.demonstrated(k, n)
	return t.zip(s.Shown, own, s.Begins, rl.Wrap(graph.ZerosLike(s.Begins.Node())), func(a, b rl.Tensor) rl.Tensor {
		x := b.Node()
		if x.Shape().Dimensions[0] == n {
			return a
		}
		rest := graph.SliceAxis(x, 0, graph.AxisRange(n, x.Shape().Dimensions[0]))
		return rl.Wrap(graph.Concatenate([]*graph.Node{a.Node(), rest}, 0))
	})
}

// demonstrated does what Set.demonstrated does.
func (t traced[E]) demonstrated(k rl.Key, n int) demonstration[E] {
	if t.tooLarge() {
		return rl.Feed(t.scope.Lowering(), k, func(k rl.Key) demonstration[E] { return t.Set.demonstrated(k, n) })
	}
	shown := t.sample(k, n)
	begins := take(t.on.Begins.Node(), graph.ConvertDType(shown.Index.Node(), dtypes.Int32))
	shown.Index = rl.Wrap(graph.BroadcastToDims(graph.Const(t.g, int64(-1)), n))
	return demonstration[E]{shown, rl.Wrap(begins)}
}

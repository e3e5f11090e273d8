package elite

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-rl/weft/rl"
)

// Buffer keeps the best episodes that were finished, and lends out their steps. It is a
// component of this package's own: state that a run saves, and that a policy places.
// E is a struct of tensors [env, ...], one row for each environment.
//
// Every tensor is one flat ring, cut into regions of limit rows: one for each
// environment, which its episode is written into as it happens, and one for each
// episode that is kept. An episode that is to be kept trades its region for that of
// the worst one, so no step is ever copied.
//
//weft:fragment replay
type Buffer[E any] struct {
	scope    *rl.Scope
	keep     int
	limit    int
	like     E          // an element without its tensors
	rings    []*rl.Ring // one for each tensor; nil where it is absent
	episodes []episode  // episodes that are kept, followed by that of each environment
}

// episode is a region of the rings, and what is in it.
type episode struct {
	region, steps int
	total         float32 // reward
}

// NewBuffer returns an empty buffer of the keep best episodes. Of longer ones it keeps
// the first limit steps.
func NewBuffer[E any](s *rl.Scope, name string, keep, limit int) *Buffer[E] {
	b := &Buffer[E]{scope: s, keep: keep, limit: limit}
	s.Register(name, b) // a run saves what is registered
	return b
}

// Insert adds a step of every environment. over, [env] bool, is where an episode ended
// with it.
//
//weft:op writes
func (b *Buffer[E]) Insert(e E, reward, over rl.Tensor) {
	leaves := rl.Leaves(e)
	if b.rings == nil {
		b.begin(e, leaves, over.Rows())
	}
	r, ends := rl.Read[float32](reward), rl.Read[bool](over)
	for env := range ends {
		now := &b.episodes[b.keep+env]
		if now.steps < b.limit {
			for i, x := range leaves {
				if x.Ok() {
					b.rings[i].PutRow(now.region*b.limit+now.steps, x, env)
				}
			}
			now.steps++
		}
		now.total += r[env]
		if ends[env] {
			b.finish(now)
		}
	}
}

// begin makes the rings for steps like the first ones.
func (b *Buffer[E]) begin(e E, leaves []rl.Tensor, envs int) {
	b.like = rl.Rebuild(e, make([]rl.Tensor, len(leaves))) // its tensors would live on
	b.rings = make([]*rl.Ring, len(leaves))
	b.episodes = make([]episode, b.keep+envs)
	for i := range b.episodes {
		b.episodes[i].region = i
	}
	for i, x := range leaves {
		if x.Ok() {
			b.rings[i] = rl.NewRing(len(b.episodes)*b.limit, x)
		}
	}
}

// finish keeps an episode that is as good as the worst one, and begins another.
func (b *Buffer[E]) finish(now *episode) {
	kept := b.episodes[:b.keep]
	worst := slices.MinFunc(kept, func(x, y episode) int {
		if x.steps == 0 || y.steps == 0 { // an empty region is the worst
			return cmp.Compare(x.steps, y.steps)
		}
		return cmp.Compare(x.total, y.total)
	})
	if worst.steps == 0 || now.total >= worst.total {
		kept[slices.Index(kept, worst)], *now = *now, worst
	}
	now.steps, now.total = 0, 0
}

// Ready reports whether n episodes are kept.
//
//weft:op reads
func (b *Buffer[E]) Ready(n int) bool {
	found := 0
	for _, e := range b.episodes[:min(b.keep, len(b.episodes))] {
		if e.steps > 0 {
			found++
		}
	}
	return found >= n
}

// Sample draws n steps of the episodes that are kept, with replacement. The draws are
// those of the key alone, so that where the buffer lives cannot change them.
//
//weft:op reads
//weft:axis rows
func (b *Buffer[E]) Sample(k rl.Key, n int) E {
	var slots []int // of all steps
	for _, e := range b.episodes[:b.keep] {
		for j := range e.steps {
			slots = append(slots, e.region*b.limit+j)
		}
	}
	drawn := make([]int, n)
	for i := range drawn {
		drawn[i] = slots[k.IntN(i, 0, len(slots))]
	}
	out := make([]rl.Tensor, len(b.rings))
	for i, r := range b.rings {
		if r != nil {
			out[i] = r.Gather(b.scope, drawn)
		}
	}
	return rl.Rebuild(b.like, out)
}

// Axis of the buffer is none: a sample is drawn from all of it, so it has one home.
func (b *Buffer[E]) Axis() rl.Axis { return rl.None }

// Save puts the rings, and what is in their regions.
func (b *Buffer[E]) Save(s *rl.State) {
	var regions, steps []int64
	var totals []float32
	for _, e := range b.episodes {
		regions, steps, totals = append(regions, int64(e.region)), append(steps, int64(e.steps)), append(totals, e.total)
	}
	rl.PutSlice(s, "regions", regions)
	rl.PutSlice(s, "steps", steps)
	rl.PutSlice(s, "totals", totals)
	rl.PutSlice(s, "form", []byte(rl.FormOf(b.like)))
	for i, r := range b.rings {
		if r != nil {
			r.Save(s, fmt.Sprint(i), len(b.episodes)*b.limit)
		}
	}
}

// Load takes back what Save put.
func (b *Buffer[E]) Load(s *rl.State) (err error) {
	regions := rl.GetSlice[int64](s, "regions")
	steps, totals := rl.GetSliceN[int64](s, "steps", len(regions)), rl.GetSliceN[float32](s, "totals", len(regions))
	b.rings, b.episodes = nil, make([]episode, len(regions))
	if len(regions) == 0 || s.Err() != nil {
		return s.Err()
	}
	for i := range b.episodes {
		b.episodes[i] = episode{int(regions[i]), int(steps[i]), totals[i]}
	}
	if b.like, err = rl.OfForm[E](string(rl.GetSlice[byte](s, "form"))); err != nil {
		return err
	}
	b.rings = make([]*rl.Ring, len(rl.LeafNames(b.like)))
	for i := range b.rings {
		if s.Has(fmt.Sprint(i)) {
			b.rings[i] = rl.LoadRing(s, fmt.Sprint(i), len(regions)*b.limit)
		}
	}
	return s.Err()
}

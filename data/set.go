package data

import (
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// Set is a data set that a loop learns from. E is a struct of tensors that says what is read of a
// step, by the names of its fields, as replay.Transition does:
//
//	Obs, Next              observations before and after the step, as rl.Obs or rl.Tree
//	Action                 rl.Tree
//	Reward                 rl.Tensor, float32
//	Terminated, Truncated  rl.Tensor, bool
//	any, with the tag `data:"NAME"`   an extra column, rl.Tensor
//
// What E leaves out is not read. Draws are integer arithmetic on the key's bits, so that a device
// program draws the same rows, and they do not depend on where the set lives or on how many
// learners share a batch out among them.
//
//weft:component data axis=none home=replay large
type Set[E any] struct {
	Options
	scope   *rl.Scope
	name    string
	src     Source
	meta    Meta
	columns []Column // of the set
	starts  []int64
	like    E         // an element without its tensors
	reads   []reading // by leaf of E
	powers  []float32 // of the discount
	on      boarded   // the same on a device, where a program has it
	ahead   ahead     // what is read for the next iteration
}

// Options say what the rows of a sample are.
type Options struct {
	// NStep is a number of steps that a row stands for: the reward is the discounted sum over them,
	// Next, Terminated and Truncated are the last one's. The end of an episode ends them. 0 and 1
	// are one step.
	NStep    int
	Discount float64 // of a reward one step later
	// OnDevice is the largest size in bytes that a set may have to lie on the device of a program;
	// 0 is 4 GiB, and less than 0 is none. Of a larger set the host brings the batches.
	OnDevice int64
}

// From is the setting that names a data set, for an algorithm to embed.
type From struct {
	Data     string `names:"data set" doc:"data set to learn from: a file that weft record or weft data import wrote, or a name with the prefix of a registered source"`
	Episodes int    `default:"0" unit:"episodes" range:"[0,)" doc:"learn from the first so many episodes of the data set; 0 is all of them"`
	OnDevice int    `default:"4096" unit:"MiB" range:"[0,)" doc:"keep a data set up to this size on the device under gpu-only; of a larger one, bring the batches of the next iterations"`
}

// onDevice is From's default size of a set that lies on the device, in MiB.
const onDevice = 4096

// reading names the column that a leaf of E is read from.
type reading struct {
	column int // -1: the leaf is absent
	at     place
}

// place is the row of a step, or of several, that a number is read in.
type place uint8

const (
	first place = iota
	last        // step of the row
	after       // the row behind it
	all         // the discounted sum
)

// New returns a set of a source, which belongs to it from then on. It fails if the source does not
// have what E names.
//
//weft:makes name=1
func New[E any](s *rl.Scope, name string, from Source, how Options) *Set[E] {
	d := &Set[E]{Options: how, scope: s, name: name, src: from, meta: from.Meta(), starts: from.Starts()}
	d.columns = d.meta.Columns()
	if how.NStep < 0 {
		rl.Failf("data set %q: rows of %d steps", name, how.NStep)
	}
	d.form()
	power := 1.0
	for range d.span() + 1 {
		d.powers = append(d.powers, float32(power))
		power *= how.Discount
	}
	s.Register(name, d)
	return d
}

// NewFrom opens the data set that settings name and does what New does with it.
//
//weft:makes name=1
func NewFrom[E any](s *rl.Scope, name string, from From, how Options) (*Set[E], error) {
	src, err := Open(from.Data)
	if err == nil && from.Episodes > 0 {
		src, err = First(src, from.Episodes)
	}
	if err != nil {
		return nil, err
	}
	if how.OnDevice = int64(from.OnDevice) << 20; how.OnDevice == 0 {
		how.OnDevice = -1
	}
	return New[E](s, name, src, how), nil
}

// Meta describes the data.
//
//weft:pure
func (d *Set[E]) Meta() Meta { return d.meta }

// Spaces returns the spaces of the episodes' observations and actions.
//
//weft:pure
func (d *Set[E]) Spaces() (obs, action rl.Space) { return d.meta.Obs, d.meta.Action }

// Fits returns an error unless agents that act in the given spaces can learn from the set.
//
//weft:pure
func (d *Set[E]) Fits(obs, action rl.Space) error { return d.meta.Fits(obs, action) }

// span returns the steps of a row.
func (d *Set[E]) span() int { return max(1, d.NStep) }

// steps returns how many steps can be drawn.
func (d *Set[E]) steps() int { return int(d.meta.Steps) }

// form finds the columns that E names.
func (d *Set[E]) form() {
	typ := reflect.TypeFor[E]()
	if typ.Kind() != reflect.Struct {
		rl.Failf("data set %q: %s names no columns: give it a struct with fields such as Obs and Action", d.name, typ)
	}
	v := reflect.ValueOf(&d.like).Elem()
	for i := range typ.NumField() {
		d.shape(typ.Field(i), v.Field(i))
	}
	names := rl.LeafNames(d.like)
	d.reads = make([]reading, len(names))
	found := false
	for i, name := range names {
		d.reads[i] = d.reading(typ, name)
		found = found || d.reads[i].column >= 0
	}
	if !found {
		rl.Failf("data set %q: %s names no column", d.name, typ)
	}
}

// shape gives a field that holds a tree the names of its leaves.
func (d *Set[E]) shape(f reflect.StructField, v reflect.Value) {
	space := d.meta.Obs
	if f.Name == "Action" {
		space = d.meta.Action
	}
	var names []string
	for _, l := range space.Leaves() {
		names = append(names, l.Name)
	}
	tree := rl.NewTree(names, make([]rl.Tensor, len(names)))
	switch f.Type {
	case reflect.TypeFor[rl.Tree]():
		v.Set(reflect.ValueOf(tree))
	case reflect.TypeFor[rl.Obs]():
		v.Set(reflect.ValueOf(rl.Obs{X: tree}))
	}
}

// reading returns where a leaf of E is read.
func (d *Set[E]) reading(typ reflect.Type, leaf string) reading {
	field, rest, _ := strings.Cut(leaf, ".")
	f, _ := typ.FieldByName(field)
	if f.Type == reflect.TypeFor[rl.Obs]() {
		var x string
		if x, rest, _ = strings.Cut(rest, "."); x != "X" {
			return reading{column: -1} // masks and the like
		}
	}
	if tag := f.Tag.Get("data"); tag != "" {
		return reading{d.numbered(tag), first}
	}
	switch field {
	case "Obs":
		return reading{d.numbered(join(Obs, rest)), first}
	case "Next":
		return reading{d.numbered(join(Obs, rest)), after}
	case "Action":
		return reading{d.numbered(join(Action, rest)), first}
	case "Reward":
		return reading{d.numbered(Reward), all}
	case "Terminated":
		return reading{d.numbered(Terminated), last}
	case "Truncated":
		return reading{d.numbered(Truncated), last}
	}
	rl.Failf(`data set %q: field %s of %s names no column: fields are Obs, Next, Action, Reward, Terminated and Truncated, or have a tag such as data:"log_prob"`, d.name, field, typ)
	return reading{}
}

// numbered returns the number of a column, which must be there.
func (d *Set[E]) numbered(name string) int {
	i := d.meta.Column(name)
	if i < 0 {
		var names []string
		for _, c := range d.columns {
			names = append(names, c.Name)
		}
		rl.Failf("data set %q has no column %q: it has %s", d.name, name, strings.Join(names, ", "))
	}
	return i
}

// Sample draws n steps, with replacement. Index is the rows' numbers in the set.
//
//weft:op sample reads whole shape=rows
func (d *Set[E]) Sample(k rl.Key, n int) replay.Sample[E] {
	if l := d.scope.Lowering(); l != nil {
		return d.boarding(l, k, func(t traced[E]) replay.Sample[E] { return t.sample(k, n) }, func(k rl.Key) replay.Sample[E] { return d.sampled(k, n) })
	}
	return d.observed("Sample", func() replay.Sample[E] { return d.sampled(k, n) })
}

// Sequences draws n sequences of length steps, [rows, time, ...]. A sequence begins at any step.
// Valid is false beyond the end of its episode, where rows repeat the episode's last step.
//
//weft:op sample reads whole shape=rows
func (d *Set[E]) Sequences(k rl.Key, n, length int) replay.Sample[E] {
	if d.span() > 1 || length < 1 {
		rl.Failf("sequences of %d steps from a data set whose rows are of %d: sequences have single steps", length, d.span())
	}
	from := func(k rl.Key) replay.Sample[E] {
		rows, left := d.draw(k, n)
		return d.windows(rows, left, length, float32(1/float64(d.steps())))
	}
	if l := d.scope.Lowering(); l != nil {
		return d.boarding(l, k, func(t traced[E]) replay.Sample[E] { return t.sequences(k, n, length) }, from)
	}
	return d.observed("Sequences", func() replay.Sample[E] { return from(k) })
}

// Episodes draws n whole episodes, [rows, time, ...], with replacement. They are as long as the
// longest of the set; Valid is false beyond the end of each.
//
//weft:op sample reads whole shape=rows
func (d *Set[E]) Episodes(k rl.Key, n int) replay.Sample[E] {
	if d.span() > 1 {
		rl.Failf("episodes from a data set whose rows are of %d steps: episodes have single steps", d.span())
	}
	from := func(k rl.Key) replay.Sample[E] {
		rows, left := make([]int64, n), make([]int, n)
		many := len(d.starts) - 1
		for i := range rows {
			e := k.IntN(i, 0, many)
			rows[i], left[i] = d.starts[e], int(d.starts[e+1]-d.starts[e])-1
		}
		return d.windows(rows, left, int(d.meta.Longest), float32(1/float64(many)))
	}
	if l := d.scope.Lowering(); l != nil {
		return d.boarding(l, k, func(t traced[E]) replay.Sample[E] { return t.episodes(k, n) }, from)
	}
	return d.observed("Episodes", func() replay.Sample[E] { return from(k) })
}

// observed shows an observer what an operation returned.
func (d *Set[E]) observed(what string, f func() replay.Sample[E]) replay.Sample[E] {
	o := d.scope.Observed()
	s := f()
	if o != nil {
		op := rl.Operation{Kind: "data.Set." + what, Name: d.name}
		if o.Values() {
			op.Out = rl.NamedLeaves("", s)
		}
		o.End(op)
	}
	return s
}

// draw chooses n steps: their rows, and the number of steps until the end of the episode, that step
// included.
func (d *Set[E]) draw(k rl.Key, n int) (rows []int64, left []int) {
	rows, left = make([]int64, n), make([]int, n)
	many := d.steps()
	for i := range rows {
		rows[i], left[i] = d.step(int64(k.IntN(i, 0, many)))
	}
	return rows, left
}

// step returns the row of step j of all, and the number of steps until the end of its episode.
// Before the steps of episode e lie the final rows of e episodes.
func (d *Set[E]) step(j int64) (row int64, left int) {
	e := sort.Search(len(d.starts)-1, func(e int) bool { return d.starts[e+1]-int64(e)-1 > j })
	row = j + int64(e)
	return row, int(d.starts[e+1] - 1 - row)
}

// sampled does what Sample does on values.
func (d *Set[E]) sampled(k rl.Key, n int) replay.Sample[E] {
	r := d.read(k, n)
	return replay.Sample[E]{
		Index: rl.FromFlat(d.scope, r.rows, n), Prob: d.alike(n, float32(1/float64(d.steps()))), Discount: rl.FromFlat(d.scope, r.discount, n),
		Data: d.rebuilt(func(leaf int, at reading) rl.Tensor {
			if at.at == all && d.span() > 1 {
				return d.sum(r.flat[leaf], r.left)
			}
			return d.tensor(at.column, r.flat[leaf], n)
		}),
	}
}

// windows returns sequences of length steps that begin at rows, of whose episodes so many steps are
// left.
func (d *Set[E]) windows(rows []int64, left []int, length int, prob float32) replay.Sample[E] {
	n := len(rows)
	here, next, valid := make([]int64, 0, n*length), make([]int64, 0, n*length), make([]bool, 0, n*length)
	for i, r := range rows {
		for t := range length {
			at := r + int64(min(t, left[i]-1))
			here, next, valid = append(here, at), append(next, at+1), append(valid, t < left[i])
		}
	}
	s := replay.Sample[E]{
		Index: rl.FromFlat(d.scope, slices.Clone(rows), n), Prob: d.alike(n, prob), Valid: rl.FromFlat(d.scope, valid, n, length),
	}
	s.Data = d.element(func(at reading) rl.Tensor {
		if at.at == after {
			return d.gather(at.column, next, n, length)
		}
		return d.gather(at.column, here, n, length)
	})
	return s
}

// element puts an element together from its leaves.
func (d *Set[E]) element(leaf func(reading) rl.Tensor) E {
	return d.rebuilt(func(_ int, at reading) rl.Tensor { return leaf(at) })
}

// rebuilt does what element does, for leaves that go by their numbers.
func (d *Set[E]) rebuilt(leaf func(i int, at reading) rl.Tensor) E {
	out := make([]rl.Tensor, len(d.reads))
	for i, at := range d.reads {
		if at.column >= 0 {
			out[i] = leaf(i, at)
		}
	}
	return rl.Rebuild(d.like, out)
}

// gather returns rows of a column as a tensor [lead..., ...].
func (d *Set[E]) gather(column int, rows []int64, lead ...int) rl.Tensor {
	flat, err := d.copied(column, rows)
	if err != nil {
		rl.Fail(err)
	}
	return d.tensor(column, flat, lead...)
}

// copied returns the numbers of some rows of a column.
func (d *Set[E]) copied(column int, rows []int64) (flat any, err error) {
	row := d.columns[column].Shape
	flat = dtypes.MakeAnySlice(row.DType, len(rows)*row.Size())
	if err = d.src.Gather(column, rows, flat); err != nil {
		err = fmt.Errorf("data set %q: column %q: %w", d.name, d.columns[column].Name, err)
	}
	return flat, err
}

// tensor returns numbers of a column as a tensor [lead..., ...].
func (d *Set[E]) tensor(column int, flat any, lead ...int) rl.Tensor {
	row := d.columns[column].Shape
	return d.scope.Device().Tensor(flat, shapes.Make(row.DType, slices.Concat(lead, row.Dimensions)...))
}

// alike returns a number for each of n rows.
func (d *Set[E]) alike(n int, x float32) rl.Tensor {
	return rl.FromFlat(d.scope, slices.Repeat([]float32{x}, n), n)
}

// sum returns the discounted sum of a column's numbers, of d.span() steps for each row, over the
// steps that each has. It is the estimator of package rl, so that there is one definition of what
// rounds.
func (d *Set[E]) sum(flat any, steps []int) rl.Tensor {
	n, span := len(steps), d.span()
	end, begin := make([]bool, n*span), make([]int, n)
	for i, s := range steps {
		end[i*span+s-1], begin[i] = true, i*span
	}
	reward := rl.FromFlat(d.scope, flat.([]float32), n, span)
	no := rl.FromFlat(d.scope, make([]bool, n*span), n, span)
	ret := rl.NStep(d.Discount, span, reward, rl.Zero(reward), no, rl.FromFlat(d.scope, end, n, span))
	return rl.Gather(ret, 2, begin)
}

// Axis of a data set: a sample is drawn from all of it.
func (d *Set[E]) Axis() rl.Axis { return rl.None }

// Save puts the checksum of the data: they are read again and not saved.
func (d *Set[E]) Save(s *rl.State) { rl.PutSlice(s, "checksum", []byte(d.meta.Checksum)) }

// Load returns an error unless the state was saved with the same data.
func (d *Set[E]) Load(s *rl.State) error {
	sum := string(rl.GetSlice[byte](s, "checksum"))
	if s.Err() == nil && sum != d.meta.Checksum {
		return fmt.Errorf("the run learns from a data set with the checksum %.12s, this one has %.12s: give it the set that it began with", sum, d.meta.Checksum)
	}
	return s.Err()
}

// Close gives back what the source holds.
func (d *Set[E]) Close() error {
	d.ahead.running.Wait()
	return d.src.Close()
}

// Normalise gives statistics of observations the mean and the deviation that they have in the set.
// A constructor calls it, so that the network and whoever runs it later see the same numbers.
func (d *Set[E]) Normalise(to *rl.Stats) error {
	n := d.meta.Norm
	if n == nil {
		return fmt.Errorf("observations of data set %q are %s: only blocks of floats are normalised", d.name, d.meta.Obs)
	}
	count := float64(d.starts[len(d.starts)-1])
	mean, m2 := slices.Clone(n.Mean), make([]float64, len(n.Std))
	for i, s := range n.Std {
		m2[i] = s * s * count
	}
	return to.Adopt([]rl.Tensor{rl.FromFlat(d.scope, []float64{count}), rl.FromFlat(d.scope, mean, len(mean)), rl.FromFlat(d.scope, m2, len(m2))})
}

package data

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/rl"
)

// Version is the version of the form of data sets. A program refuses to read another.
const Version = 1

// Meta describes a data set.
type Meta struct {
	Env         string   // environment that the episodes are of, by ID; may be empty
	Obs, Action rl.Space // of one step
	Limit       int      // steps after which episodes were truncated; 0 is unknown or never
	Extra       []Column // columns beside the usual ones
	// About says where the data come from: policy, run, step. It is not part of the checksum.
	About map[string]string
	// Bounds are the returns to which the scores 0 and 100 belong; nil if they are not known.
	Bounds *Bounds

	// The fields below follow from the rows.

	Episodes, Steps int64
	Longest         int64 // steps of the longest episode
	Returns         Summary
	Lengths         Summary
	Norm            *Norm  // of observations; nil unless they are blocks of floats
	Checksum        string // SHA-256 of spaces and rows, in hexadecimal
}

// Summary is a mean and deviation, with the extremes.
type Summary struct {
	Mean float64 `json:"mean"`
	Std  float64 `json:"std"`
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
}

// Bounds are the returns of a random policy and of an expert, between which a score is measured.
type Bounds struct {
	Random float64 `json:"random"`
	Expert float64 `json:"expert"`
}

// Score returns a return on the scale on which a random policy has 0 and an expert 100.
func (b Bounds) Score(ret float64) float64 { return 100 * (ret - b.Random) / (b.Expert - b.Random) }

// Norm is the mean and standard deviation of every number of an observation, over all rows, the
// final observations included. Leaves of a Dict are joined in their order.
type Norm struct {
	Mean []float64 `json:"mean"`
	Std  []float64 `json:"std"`
}

// Column is one kind of numbers in every row.
type Column struct {
	Name  string
	Shape shapes.Shape // of one row
	Space rl.Space     // simple space that the numbers lie in; nil is any
}

// The names of columns. Those of the leaves of a Dict are "obs.NAME" and "action.NAME".
const (
	Obs        = "obs"
	Action     = "action"
	Reward     = "reward"
	Terminated = "terminated"
	Truncated  = "truncated"
)

// Columns lists the columns of the set, in the order by which sources and episodes number them.
func (m Meta) Columns() []Column {
	out := slices.Concat(leavesOf(Obs, m.Obs), leavesOf(Action, m.Action))
	out = append(out,
		Column{Name: Reward, Shape: shapes.Make(dtypes.Float32)},
		Column{Name: Terminated, Shape: shapes.Make(dtypes.Bool)},
		Column{Name: Truncated, Shape: shapes.Make(dtypes.Bool)})
	return append(out, m.Extra...)
}

// leavesOf returns a column for each simple space in a space.
func leavesOf(what string, space rl.Space) (out []Column) {
	if space == nil {
		return nil
	}
	for _, l := range space.Leaves() {
		out = append(out, Column{Name: join(what, l.Name), Shape: l.Space.Shape(), Space: l.Space})
	}
	return out
}

// join returns the name of the column of a leaf.
func join(what, leaf string) string {
	if leaf == "" {
		return what
	}
	return what + "." + leaf
}

// Column returns the number of the column of a name, or -1.
func (m Meta) Column(name string) int {
	return slices.IndexFunc(m.Columns(), func(c Column) bool { return c.Name == name })
}

// Check returns what is wrong with the description itself.
func (m Meta) Check() error {
	if m.Obs == nil || m.Action == nil || len(m.Obs.Leaves()) == 0 || len(m.Action.Leaves()) == 0 {
		return fmt.Errorf("a data set has a space of observations and one of actions")
	}
	seen := map[string]bool{}
	for _, c := range m.Columns() {
		if seen[c.Name] {
			return fmt.Errorf("two columns are called %q", c.Name)
		}
		seen[c.Name] = true
		if !known(c.Shape.DType) {
			return fmt.Errorf("column %q holds %s: a data set holds bool, uint8, int32, int64, float32 and float64", c.Name, c.Shape.DType)
		}
	}
	return nil
}

// Fits returns an error unless agents that act in the given spaces can learn from the set.
func (m Meta) Fits(obs, action rl.Space) error {
	for _, x := range []struct {
		what      string
		set, want rl.Space
	}{{"observations", m.Obs, obs}, {"actions", m.Action, action}} {
		if !Same(x.set, x.want) {
			return fmt.Errorf("%s of the data set are %s, those of the environment are %s", x.what, x.set, x.want)
		}
	}
	return nil
}

// Same reports whether values of two spaces have the same form. The bounds of a Box may differ.
func Same(a, b rl.Space) bool {
	return slices.EqualFunc(a.Leaves(), b.Leaves(), func(x, y rl.SpaceLeaf) bool {
		if x.Name != y.Name || !x.Space.Shape().Equal(y.Space.Shape()) {
			return false
		}
		_, box := x.Space.(rl.Box)
		_, too := y.Space.(rl.Box)
		return box && too || x.Space.String() == y.Space.String()
	})
}

// width returns how many numbers an observation has, if all of them are floats in blocks.
func width(space rl.Space) (n int, ok bool) {
	for _, l := range space.Leaves() {
		if b, box := l.Space.(rl.Box); !box || !b.Shape().DType.IsFloat() {
			return 0, false
		}
		n += l.Space.Shape().Size()
	}
	return n, true
}

// tally sums numbers up, and their squares about a running mean (Welford, 1962).
type tally struct {
	n        int64
	mean, m2 float64
	min, max float64
}

func (t *tally) add(x float64) {
	if t.n == 0 {
		t.min, t.max = x, x
	}
	t.n++
	d := x - t.mean
	t.mean += d / float64(t.n)
	t.m2 += d * (x - t.mean)
	t.min, t.max = min(t.min, x), max(t.max, x)
}

func (t *tally) std() float64 { return math.Sqrt(t.m2 / float64(max(1, t.n))) }

func (t *tally) summary() Summary { return Summary{t.mean, t.std(), t.min, t.max} }

// scores are the returns of a random and of an expert policy by which D4RL normalises scores, by
// the beginning of an environment's ID (Farama's D4RL, d4rl/infos.py).
var scores = []struct {
	env string
	Bounds
}{
	{"HalfCheetah-", Bounds{-280.178953, 12135.0}}, {"Hopper-", Bounds{-20.272305, 3234.3}},
	{"Walker2d-", Bounds{1.629008, 4592.3}}, {"Ant-", Bounds{-325.6, 3879.7}},
}

// BoundsOf returns the returns by which D4RL normalises scores in an environment, nil if it does
// not.
func BoundsOf(env string) *Bounds {
	if _, name, ok := strings.Cut(env, ":"); ok { // a scheme, as in gym:Hopper-v5
		env = name
	}
	for _, s := range scores {
		if strings.HasPrefix(env, s.env) {
			return &s.Bounds
		}
	}
	return nil
}

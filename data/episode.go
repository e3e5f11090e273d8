package data

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/rl"
)

// Episode is one episode as columns: Columns[i] is a slice of the type of column i of the set, with
// Steps+1 rows. The last row holds the final observation; its other columns are zero.
type Episode struct {
	Steps   int
	Columns []any
}

// NewEpisode returns an episode of zeros.
func NewEpisode(m Meta, steps int) Episode {
	e := Episode{Steps: steps}
	for _, c := range m.Columns() {
		e.Columns = append(e.Columns, dtypes.MakeAnySlice(c.Shape.DType, (steps+1)*c.Shape.Size()))
	}
	return e
}

// Read reads episode i of a source.
func Read(src Source, i int) (Episode, error) {
	m, starts := src.Meta(), src.Starts()
	from, to := starts[i], starts[i+1]
	e := NewEpisode(m, int(to-from)-1)
	rows := make([]int64, to-from)
	for j := range rows {
		rows[j] = from + int64(j)
	}
	for c, column := range m.Columns() {
		n := len(rows)
		if !isObs(column.Name) {
			n-- // the last row has an observation alone
		}
		if err := src.Gather(c, rows[:n], firstRows(e.Columns[c], n*column.Shape.Size())); err != nil {
			return e, fmt.Errorf("episode %d: %w", i, err)
		}
	}
	return e, nil
}

// isObs reports whether a column is one of observations.
func isObs(name string) bool { return name == Obs || len(name) > 4 && name[:4] == "obs." }

// firstRows returns the first n elements of a slice.
func firstRows(flat any, n int) any {
	switch x := flat.(type) {
	case []float32:
		return x[:n]
	case []float64:
		return x[:n]
	case []int32:
		return x[:n]
	case []int64:
		return x[:n]
	case []uint8:
		return x[:n]
	case []bool:
		return x[:n]
	}
	panic(fmt.Sprintf("a column of %T", flat)) // Meta.Check has seen them
}

// known reports whether columns may hold numbers of a type.
func known(t dtypes.DType) bool {
	switch t {
	case dtypes.Float32, dtypes.Float64, dtypes.Int32, dtypes.Int64, dtypes.Uint8, dtypes.Bool:
		return true
	}
	return false
}

// bad says what is wrong with a row of an episode.
type bad struct {
	row  int
	what string
}

func (b bad) Error() string { return fmt.Sprintf("row %d: %s", b.row, b.what) }

// check returns what is wrong with the episode, with the number of its row.
func (e Episode) check(columns []Column, bounds []rl.Bounds) error {
	if e.Steps < 1 {
		return fmt.Errorf("an episode has at least one step, this one has %d", e.Steps)
	}
	if len(e.Columns) != len(columns) {
		return fmt.Errorf("it has %d columns, the set has %d", len(e.Columns), len(columns))
	}
	for i, c := range columns {
		rows := e.Steps
		if isObs(c.Name) {
			rows++
		}
		if n := size(e.Columns[i]); n != (e.Steps+1)*c.Shape.Size() {
			return fmt.Errorf("column %q has %d numbers, %d rows of %s have %d", c.Name, n, e.Steps+1, c.Shape, (e.Steps+1)*c.Shape.Size())
		}
		if err := checkColumn(c, bounds[i], firstRows(e.Columns[i], rows*c.Shape.Size())); err != nil {
			return err
		}
	}
	return e.ends(columns)
}

// ends checks that an episode ends in its last step and nowhere else.
func (e Episode) ends(columns []Column) error {
	for i, c := range columns {
		if c.Name != Terminated {
			continue
		}
		term, trunc := e.Columns[i].([]bool), e.Columns[i+1].([]bool)
		for t := range e.Steps {
			if (term[t] || trunc[t]) != (t == e.Steps-1) {
				if t == e.Steps-1 {
					return bad{t, "the last step of an episode is terminated or truncated, this one is neither"}
				}
				return bad{t, "it is terminated or truncated, and another step follows in the same episode"}
			}
		}
	}
	return nil
}

// checkColumn finds a number that is none, or that is not in its space.
func checkColumn(c Column, in rl.Bounds, flat any) error {
	each := max(1, c.Shape.Size())
	if at, x := notFinite(flat); at >= 0 {
		return bad{at / each, fmt.Sprintf("column %q is %v", c.Name, x)}
	}
	if c.Space == nil {
		return nil
	}
	if row, at, x, out := in.OutsideFlat(flat); out {
		return bad{row, fmt.Sprintf("number %d of column %q is %v, which is not in %s", at, c.Name, x, c.Space)}
	}
	return nil
}

// notFinite returns the place of the first number that is none, or -1.
func notFinite(flat any) (at int, x float64) {
	switch f := flat.(type) {
	case []float32:
		for i, v := range f {
			if v-v != 0 {
				return i, float64(v)
			}
		}
	case []float64:
		for i, v := range f {
			if v-v != 0 {
				return i, v
			}
		}
	}
	return -1, 0
}

// size returns the length of a slice of numbers.
func size(flat any) int {
	switch x := flat.(type) {
	case []float32:
		return len(x)
	case []float64:
		return len(x)
	case []int32:
		return len(x)
	case []int64:
		return len(x)
	case []uint8:
		return len(x)
	case []bool:
		return len(x)
	}
	return -1
}

// total returns the sum of an episode's rewards.
func (e Episode) total(reward int) (sum float64) {
	for _, r := range e.Columns[reward].([]float32)[:e.Steps] {
		sum += float64(r)
	}
	return sum
}

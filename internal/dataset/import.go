package dataset

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/rl"
)

// Source names what is imported, and says what is not in it.
type Source struct {
	Path   string
	Env    string   // environment that it is of, by ID; may be empty
	Obs    rl.Space // nil: found from the numbers
	Action rl.Space // space of actions, likewise
	Python string   // interpreter for what Go does not read
}

// table is steps as rows, whose episodes end where a step is terminated or truncated.
type table struct {
	obs, next, action     array
	reward                []float64
	terminated, truncated []bool
	about                 *data.Meta // environment and spaces, if the file names them
}

// described is the name of the array that holds a set's description, as bytes of JSON.
const described = "weft.data"

// Import makes a data set of a NumPy archive (.npz), a CSV file, episodes that --wrap record=FILE
// wrote (.jsonl), or, through Python, an HDF5 file or a data set of Minari (minari:NAME).
func Import(out string, from Source) (data.Meta, error) {
	t, err := from.read()
	if err != nil {
		return data.Meta{}, fmt.Errorf("%s: %w", from.Path, err)
	}
	return from.knowing(t).write(out, t)
}

// knowing returns the source with what the file itself says of it, where nothing else was said.
func (from Source) knowing(t *table) Source {
	if d := t.about; d != nil && from.Obs == nil && from.Action == nil {
		from.Env, from.Obs, from.Action = d.Env, d.Obs, d.Action
	}
	return from
}

// ImportRecords makes a data set of the files that --wrap record=FILE wrote in one run, in the
// order in which the episodes ended.
func ImportRecords(out string, from Source, files ...string) (data.Meta, error) {
	t, err := readRecords(files...)
	if err != nil {
		return data.Meta{}, fmt.Errorf("%s: %w", from.Path, err)
	}
	return from.write(out, t)
}

// write writes steps into a file.
func (from Source) write(out string, t *table) (data.Meta, error) {
	m := data.Meta{Env: from.Env, Obs: from.Obs, Action: from.Action, Bounds: data.BoundsOf(from.Env), About: map[string]string{"imported": filepath.Base(from.Path)}}
	if m.Obs == nil {
		m.Obs = t.obs.space()
	}
	if m.Action == nil {
		m.Action = t.action.space()
	}
	if err := t.check(m); err != nil {
		return m, fmt.Errorf("%s: %w", from.Path, err)
	}
	m, err := write(out, m, func(add func(data.Episode) error) error { return t.episodes(m, add) })
	if err != nil {
		return m, fmt.Errorf("%s: %w", from.Path, err)
	}
	return m, nil
}

// read reads the steps by the kind of file.
func (s Source) read() (*table, error) {
	if name, ok := strings.CutPrefix(s.Path, "minari:"); ok {
		return fromArchive(s.foreign("minari", name))
	}
	switch ext := filepath.Ext(s.Path); ext {
	case ".npz":
		return fromArchive(readArchive(s.Path))
	case ".csv":
		return readCSV(s.Path)
	case ".jsonl":
		return readRecords(s.Path)
	case ".hdf5", ".h5":
		return fromArchive(s.foreign("hdf5", s.Path))
	default:
		return nil, fmt.Errorf("files ending in %q are not imported: a data set is made of .npz, .csv, .jsonl, .hdf5 and minari:NAME", ext)
	}
}

// fromArchive finds the steps in arrays by the names that D4RL has for them.
func fromArchive(a map[string]array, err error) (*table, error) {
	if err != nil {
		return nil, err
	}
	t := &table{}
	if x, ok := a[described]; ok {
		if t.about, err = x.meta(); err != nil {
			return nil, fmt.Errorf("array %q: %w", described, err)
		}
	}
	names := func(list ...string) (array, error) {
		for _, n := range list {
			if x, ok := a[n]; ok {
				return x, nil
			}
		}
		return array{}, fmt.Errorf("there is no array %q (nor %s)", list[0], strings.Join(list[1:], " or "))
	}
	var reward, term, trunc array
	for _, x := range []struct {
		to   *array
		list []string
	}{
		{&t.obs, []string{"observations", "obs"}}, {&t.next, []string{"next_observations", "next_obs"}}, {&t.action, []string{"actions", "action"}},
		{&reward, []string{"rewards", "reward"}}, {&term, []string{"terminals", "terminated", "terminations"}}, {&trunc, []string{"timeouts", "truncated", "truncations"}},
	} {
		if *x.to, err = names(x.list...); err != nil {
			return nil, err
		}
		if n := x.to.rows(); n != t.obs.rows() || n == 0 {
			return nil, fmt.Errorf("array %q has %d rows, %q has %d", x.list[0], n, "observations", t.obs.rows())
		}
	}
	t.reward = reward.x
	for i := range term.x {
		t.terminated, t.truncated = append(t.terminated, term.x[i] != 0), append(t.truncated, trunc.x[i] != 0)
	}
	if len(t.reward) != t.obs.rows() || len(t.terminated) != t.obs.rows() {
		return nil, fmt.Errorf("rewards, terminals and timeouts are one number for each of %d rows", t.obs.rows())
	}
	return t, nil
}

// meta returns the description whose text an array holds, as bytes.
func (a array) meta() (*data.Meta, error) {
	text := make([]byte, len(a.x))
	for i, c := range a.x {
		text[i] = byte(c)
	}
	m := &data.Meta{}
	return m, json.Unmarshal(text, m)
}

// space returns a space that the numbers lie in: choices, if they are single whole numbers from 0
// on, or a block without bounds.
func (a array) space() rl.Space {
	if a.whole && len(a.dims) == 1 && slices.Min(a.x) >= 0 {
		return rl.Discrete{N: int(slices.Max(a.x)) + 1}
	}
	return rl.Box{Dims: slices.Clone(a.dims[1:])}
}

// check returns an error unless rows have the form of the spaces.
func (t *table) check(m data.Meta) error {
	for _, x := range []struct {
		what  string
		a     array
		space rl.Space
	}{{"observations", t.obs, m.Obs}, {"next_observations", t.next, m.Obs}, {"actions", t.action, m.Action}} {
		if len(x.space.Leaves()) != 1 {
			return fmt.Errorf("%s are %s: only simple spaces are imported", x.what, x.space)
		}
		want, n := x.space.Shape().Size(), len(x.a.x)/max(1, x.a.rows())
		if n != want {
			return fmt.Errorf("mismatched space: %s have %d numbers a row, %s has %d", x.what, n, x.space, want)
		}
	}
	return nil
}

// episodes hands the episodes on. Steps behind the last end are an episode that was cut off.
func (t *table) episodes(m data.Meta, add func(data.Episode) error) error {
	n, from := t.obs.rows(), 0
	for i := range n {
		last := i == n-1
		if !t.terminated[i] && !t.truncated[i] && !last {
			continue
		}
		if err := add(t.episode(m, from, i+1)); err != nil {
			return err
		}
		from = i + 1
	}
	return nil
}

// episode returns rows [from, to) as one.
func (t *table) episode(m data.Meta, from, to int) data.Episode {
	steps := to - from
	e := data.NewEpisode(m, steps)
	fill(e.Columns[0], 0, t.obs.part(from, to))
	fill(e.Columns[0], steps*m.Obs.Shape().Size(), t.next.part(to-1, to))
	fill(e.Columns[1], 0, t.action.part(from, to))
	fill(e.Columns[2], 0, t.reward[from:to])
	term := t.terminated[to-1]
	e.Columns[3].([]bool)[steps-1], e.Columns[4].([]bool)[steps-1] = term, !term
	return e
}

// part returns the numbers of some rows.
func (a array) part(from, to int) []float64 {
	size := len(a.x) / a.rows()
	return a.x[from*size : to*size]
}

// fill writes numbers into a column from a place on. What the column's type cannot hold is refused
// with the episode, as no number.
func fill(flat any, at int, x []float64) {
	switch to := flat.(type) {
	case []float32:
		for i, v := range x {
			to[at+i] = float32(v)
		}
	case []float64:
		copy(to[at:], x)
	case []int32:
		for i, v := range x {
			to[at+i] = int32(whole(v))
		}
	case []int64:
		for i, v := range x {
			to[at+i] = int64(whole(v))
		}
	case []uint8:
		for i, v := range x {
			to[at+i] = uint8(whole(v))
		}
	default:
		panic(fmt.Sprintf("a column of %T", flat)) // Meta.Check has seen them
	}
}

// whole returns a whole number; of any other number, one that lies in no space.
func whole(v float64) float64 {
	if v != math.Trunc(v) || math.Abs(v) > math.MaxInt32 {
		return math.MinInt32
	}
	return v
}

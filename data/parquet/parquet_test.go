package parquet_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	reader "github.com/parquet-go/parquet-go"

	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/data/datatest"
	"github.com/weft-rl/weft/data/parquet"
	"github.com/weft-rl/weft/rl"
)

// all has a column of every type.
func all() data.Meta {
	return data.Meta{
		Env: "All-v0", Limit: 7, About: map[string]string{"policy": "none"}, Bounds: &data.Bounds{Random: -1, Expert: 3},
		Obs: rl.Dict{
			{Name: "picture", Space: rl.Box{Low: []float64{0}, High: []float64{255}, Dims: []int{2, 3, 1}, DType: dtypes.Uint8}},
			{Name: "state", Space: rl.Box{Dims: []int{3}}}, {Name: "exact", Space: rl.Box{Dims: []int{2}, DType: dtypes.Float64}},
		},
		Action: rl.Dict{{Name: "push", Space: rl.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{2}}}, {Name: "which", Space: rl.MultiDiscrete{N: []int{3, 2}}}},
		Extra:  []data.Column{{Name: "legal", Shape: shapes.Make(dtypes.Bool, 5)}, {Name: "count", Shape: shapes.Make(dtypes.Int64)}},
	}
}

// episode returns one whose numbers follow from seed.
func episode(m data.Meta, seed uint64, steps int) data.Episode {
	e, k := data.NewEpisode(m, steps), rl.NewKey(seed)
	for c, column := range m.Columns() {
		n := steps * column.Shape.Size()
		if strings.HasPrefix(column.Name, "obs.") {
			n += column.Shape.Size()
		}
		switch x := e.Columns[c].(type) {
		case []float32:
			for i := range n {
				x[i] = float32(2*k.Uniform(i, c) - 1)
			}
		case []float64:
			for i := range n {
				x[i] = k.Uniform(i, c)
			}
		case []uint8:
			for i := range n {
				x[i] = uint8(k.IntN(i, c, 256))
			}
		case []int32:
			for i := range n {
				x[i] = int32(k.IntN(i, c, 2))
			}
		case []int64:
			for i := range n {
				x[i] = int64(i)
			}
		case []bool:
			for i := range n {
				x[i] = column.Name == "legal" && k.IntN(i, c, 2) == 1 || column.Name == data.Truncated && i == steps-1
			}
		}
	}
	return e
}

func write(t *testing.T, path string, m data.Meta, lengths ...int) data.Meta {
	t.Helper()
	w, err := parquet.Create(path, m)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range lengths {
		if err := w.Add(episode(m, uint64(i), n)); err != nil {
			t.Fatal(err)
		}
	}
	m, err = w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestFile: a file holds what was written, episode by episode, and passes the conformance kit.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "set")
	lengths := []int{3, 1, 40, 7}
	m := write(t, path, all(), lengths...)
	src, err := data.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	datatest.Check(t, src)
	if got, want := text(t, src.Meta()), text(t, m); got != want {
		t.Errorf("description\n%s, want\n%s", got, want)
	}
	for i, n := range lengths {
		got, err := data.Read(src, i)
		if err != nil {
			t.Fatal(err)
		}
		if want := episode(m, uint64(i), n); !reflect.DeepEqual(got, want) {
			t.Errorf("episode %d\n%v, want\n%v", i, got, want)
		}
	}
}

// TestForeign reads a data set with another reader.
func TestForeign(t *testing.T) {
	path := filepath.Join(t.TempDir(), "set")
	m, lengths := all(), []int{3, 1, 40}
	write(t, path, m, lengths...)
	type line struct {
		Episode int64     `parquet:"episode"`
		Step    int32     `parquet:"step"`
		Final   bool      `parquet:"final"`
		Picture [6]byte   `parquet:"obs.picture"`
		State   []float32 `parquet:"obs.state,list"`
		Exact   []float64 `parquet:"obs.exact,list"`
		Push    []float32 `parquet:"action.push,list"`
		Which   []int32   `parquet:"action.which,list"`
		Reward  float32   `parquet:"reward"`
		Legal   []bool    `parquet:"legal,list"`
		Count   int64     `parquet:"count"`
	}
	lines, err := reader.ReadFile[line](path)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range lengths {
		e := episode(m, uint64(i), n)
		for step := range n + 1 {
			want := line{Episode: int64(i), Step: int32(step), Final: step == n}
			for c, column := range m.Columns() {
				size := column.Shape.Size()
				from, to := step*size, (step+1)*size
				switch column.Name {
				case "obs.picture":
					want.Picture = [6]byte(e.Columns[c].([]uint8)[from:to])
				case "obs.state":
					want.State = e.Columns[c].([]float32)[from:to]
				case "obs.exact":
					want.Exact = e.Columns[c].([]float64)[from:to]
				case "action.push":
					want.Push = e.Columns[c].([]float32)[from:to]
				case "action.which":
					want.Which = e.Columns[c].([]int32)[from:to]
				case "reward":
					want.Reward = e.Columns[c].([]float32)[from]
				case "legal":
					want.Legal = e.Columns[c].([]bool)[from:to]
				case "count":
					want.Count = e.Columns[c].([]int64)[from]
				}
			}
			if got := lines[0]; !reflect.DeepEqual(got, want) {
				t.Errorf("episode %d, step %d\n%v, want\n%v", i, step, got, want)
			}
			lines = lines[1:]
		}
	}
	if len(lines) > 0 {
		t.Errorf("%d more rows", len(lines))
	}
}

// text returns a description as files hold it.
func text(t *testing.T, m data.Meta) string {
	t.Helper()
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestGroups: episodes that lie in several row groups are read as others are.
func TestGroups(t *testing.T) {
	path := filepath.Join(t.TempDir(), "set")
	m := data.Meta{Obs: rl.Box{Dims: []int{1}}, Action: rl.Discrete{N: 2}}
	want := write(t, path, m, 70_000, 5, 140_000)
	src, err := parquet.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if err := data.Verify(src); err != nil {
		t.Error(err)
	}
	if src.Meta().Checksum != want.Checksum {
		t.Error("another checksum")
	}
}

// TestNothingLeft: a set that was not committed leaves no file.
func TestNothingLeft(t *testing.T) {
	dir := t.TempDir()
	w, err := parquet.Create(filepath.Join(dir, "set"), all())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add(data.Episode{Steps: 2}); err == nil {
		t.Error("an episode without columns was taken")
	}
	if _, err := w.Commit(); err == nil || !strings.Contains(err.Error(), "at least one episode") {
		t.Errorf("an empty set was committed: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestDamaged: files that are no data sets, or not whole, are refused with a sentence, whatever was
// done to them.
func TestDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "set")
	write(t, path, all(), 5, 9)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(text []byte) error {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		src, err := data.Open(path)
		if err != nil {
			return err
		}
		defer src.Close()
		return data.Verify(src)
	}
	for n := 0; n < len(whole); n += 97 {
		if err := try(whole[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes are taken for a data set", n, len(whole))
		}
	}
	for n := 4; n < len(whole); n += 31 {
		text := append([]byte(nil), whole...)
		text[n] ^= 0x5a
		_ = try(text) // it may be a byte that nobody reads; what matters is that nothing panics
	}
	if err := try([]byte("episode,step\n0,0\n")); err == nil || !strings.Contains(err.Error(), "weft data import") {
		t.Errorf("a text is opened: %v", err)
	}
}

package parquet

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/rl"
)

// TestFetch: rows that are read by system calls, because they are not in memory, are those of the
// mapping.
func TestFetch(t *testing.T) {
	m := data.Meta{Obs: rl.Box{Dims: []int{3}}, Action: rl.Discrete{N: 9}}
	path := filepath.Join(t.TempDir(), "set")
	w, err := Create(path, m)
	if err != nil {
		t.Fatal(err)
	}
	w.most = 7 // rows of a row group
	e := data.NewEpisode(m, 20)
	for i := range e.Columns[0].([]float32) {
		e.Columns[0].([]float32)[i] = float32(i)
	}
	for i := range 20 {
		e.Columns[1].([]int32)[i], e.Columns[2].([]float32)[i] = int32(i%9), float32(-i)
	}
	e.Columns[4].([]bool)[19] = true
	if err := w.Add(e); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i := range f.columns[:3] {
		c := &f.columns[i]
		for r := range int64(20) {
			got := make([]byte, c.size)
			if err := f.fetch(got, c.at(r)); err != nil || !bytes.Equal(got, c.at(r)) {
				t.Errorf("column %d, row %d: %v, %v; want %v", i, r, got, err, c.at(r))
			}
		}
	}
}

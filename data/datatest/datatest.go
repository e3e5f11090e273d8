// Package datatest is the conformance kit of data sources: it checks that a data.Source of an
// author's own keeps to what package data says.
package datatest

import (
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/rl"
)

// Check reads all of a source, and fails t if its rows are not those of episodes, if they are not
// what its description says, or if what Gather returns depends on what else is asked for.
func Check(t testing.TB, src data.Source) {
	t.Helper()
	m, starts := src.Meta(), src.Starts()
	if err := m.Check(); err != nil {
		t.Fatalf("Meta: %v", err)
	}
	if len(starts) < 2 || starts[0] != 0 || !slices.IsSorted(starts) {
		t.Fatalf("Starts: %d numbers from %v: they are the first rows of all episodes, from 0 on, and the number of rows", len(starts), starts[:min(3, len(starts))])
	}
	if e, s := int64(len(starts)-1), starts[len(starts)-1]-int64(len(starts)-1); e != m.Episodes || s != m.Steps {
		t.Errorf("Meta says %d episodes of %d steps, Starts has %d of %d", m.Episodes, m.Steps, e, s)
	}
	if err := data.Verify(src); err != nil {
		t.Errorf("%v", err)
	}
	if !reflect.DeepEqual(src.Meta(), m) || !slices.Equal(src.Starts(), starts) {
		t.Error("Meta or Starts changed when rows were read")
	}
	gathers(t, src)
	outside(t, src)
}

// gathers compares rows that are gathered in any order, by several goroutines, with the rows of
// their episodes.
func gathers(t testing.TB, src data.Source) {
	t.Helper()
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			k := rl.NewKey(uint64(g))
			for i := range 20 {
				scattered(t, src, k.Fold(uint64(i)))
			}
		})
	}
	all.Wait()
}

// scattered gathers steps of some episodes in one call, some of them twice.
func scattered(t testing.TB, src data.Source, k rl.Key) {
	t.Helper()
	m, starts := src.Meta(), src.Starts()
	var rows []int64
	var episodes, steps []int
	for i := range 5 {
		e := k.IntN(i, 0, len(starts)-1)
		at := k.IntN(i, 1, int(starts[e+1]-starts[e])-1)
		episodes, steps, rows = append(episodes, e), append(steps, at), append(rows, starts[e]+int64(at))
	}
	rows, episodes, steps = append(rows, rows[0]), append(episodes, episodes[0]), append(steps, steps[0])
	for c, column := range m.Columns() {
		n := column.Shape.Size()
		out := dtypes.MakeAnySlice(column.Shape.DType, len(rows)*n)
		if err := src.Gather(c, rows, out); err != nil {
			t.Errorf("Gather of column %q: %v", column.Name, err)
			return
		}
		for i, e := range episodes {
			whole, err := data.Read(src, e)
			if err != nil {
				t.Error(err)
				return
			}
			got := reflect.ValueOf(out).Slice(i*n, (i+1)*n).Interface()
			want := reflect.ValueOf(whole.Columns[c]).Slice(steps[i]*n, (steps[i]+1)*n).Interface()
			if !reflect.DeepEqual(got, want) {
				t.Errorf("column %q of row %d is %v, and %v if its episode is read as a whole", column.Name, rows[i], got, want)
				return
			}
		}
	}
}

// outside asks for rows that do not exist.
func outside(t testing.TB, src data.Source) {
	t.Helper()
	column := src.Meta().Columns()[0]
	for _, row := range []int64{-1, src.Starts()[len(src.Starts())-1]} {
		if err := src.Gather(0, []int64{row}, dtypes.MakeAnySlice(column.Shape.DType, column.Shape.Size())); err == nil {
			t.Errorf("Gather of row %d returned no error: there is no such row", row)
		}
	}
}

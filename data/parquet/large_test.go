package parquet_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/data/parquet"
	"github.com/weft-rl/weft/rl"
)

// wide describes rows of about 260 bytes.
var wide = data.Meta{Obs: rl.Box{Dims: []int{62}}, Action: rl.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{2}}}

// large writes a file of episodes of 1000 steps, and opens it.
func large(t testing.TB, episodes int) *parquet.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "set")
	w, err := parquet.Create(path, wide)
	if err != nil {
		t.Fatal(err)
	}
	e := data.NewEpisode(wide, 1000)
	e.Columns[4].([]bool)[999] = true
	for i := range episodes {
		e.Columns[0].([]float32)[0] = float32(i)
		if err := w.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	f, err := parquet.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// batch gathers n steps of all columns, drawn by a key.
func batch(t testing.TB, f *parquet.File, out []any, k rl.Key, n int) {
	rows, starts := make([]int64, n), f.Starts()
	for i := range rows {
		e := k.IntN(i, 0, len(starts)-1)
		rows[i] = starts[e] + int64(k.IntN(i, 1, 1000))
	}
	for c := range out {
		if err := f.Gather(c, rows, out[c]); err != nil {
			t.Fatal(err)
		}
	}
}

// buffers returns memory for a batch of n rows.
func buffers(n int) (out []any) {
	for _, c := range wide.Columns() {
		out = append(out, dtypes.MakeAnySlice(c.Shape.DType, n*c.Shape.Size()))
	}
	return out
}

// TestMapped: an open file takes memory for its index and not for its rows, before they are read
// and after.
func TestMapped(t *testing.T) {
	f, out := large(t, 60), buffers(256) // 15 MB
	taken := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := taken()
	for i := range 300 {
		batch(t, f, out, rl.NewKey(uint64(i)), 256) // more rows than there are
	}
	if more := taken() - before; more > 1<<20 {
		t.Errorf("reading %d rows left %d bytes in memory", 300*256, more)
	}
	runtime.KeepAlive(f)
}

// BenchmarkBatch reads batches of 256 steps. WEFT_EPISODES says how many thousand steps the file
// has, each about 260 KB: with a limit of the memory of the process (a cgroup's) that is a quarter
// of it, most rows are read from disk.
func BenchmarkBatch(b *testing.B) {
	episodes := 60
	if n, err := strconv.Atoi(os.Getenv("WEFT_EPISODES")); err == nil {
		episodes = n
	}
	f, out := large(b, episodes), buffers(256)
	i := uint64(0)
	for b.Loop() {
		batch(b, f, out, rl.NewKey(i), 256)
		i++
	}
	b.ReportMetric(float64(episodes)*1001*260/1e6, "MB/file")
}

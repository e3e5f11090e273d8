package parquet_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	reader "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/weft-rl/weft/data/parquet"
)

// TestWriteTable reads a table back with another reader.
func TestWriteTable(t *testing.T) {
	var file bytes.Buffer
	err := parquet.WriteTable(&file, []parquet.Column{
		{Name: "step", Ints: []int64{1, 2, 1 << 53}}, {Name: "eval/return", Floats: []float64{math.NaN(), 2.5, math.Inf(1)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := pqarrow.ReadTable(t.Context(), bytes.NewReader(file.Bytes()), reader.NewReaderProperties(nil), pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Release()
	steps := got.Column(0).Data().Chunk(0).(*array.Int64)
	returns := got.Column(1).Data().Chunk(0).(*array.Float64)
	if got.NumRows() != 3 || steps.Value(2) != 1<<53 || !returns.IsNull(0) || returns.Value(1) != 2.5 || !math.IsInf(returns.Value(2), 1) {
		t.Errorf("%v", got)
	}
	if name := got.Schema().Field(1).Name; name != "eval/return" {
		t.Errorf("the column is called %q", name)
	}
}

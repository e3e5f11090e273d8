package parquet_test

import (
	"bytes"
	"math"
	"testing"

	reader "github.com/parquet-go/parquet-go"

	"github.com/weft-rl/weft/data/parquet"
)

// TestWriteTable reads a table back with another reader.
func TestWriteTable(t *testing.T) {
	var file bytes.Buffer
	err := parquet.WriteTable(&file, []parquet.Column{
		{Name: "step", Ints: []int64{1, 2, 1 << 53}}, {Name: "eval/return", Floats: []float64{math.NaN(), 2.5, math.Inf(1)}},
		{Name: "env", Texts: []string{"", "Pendulum-v1", "CartPole-v1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		Step    int64    `parquet:"step"`
		Returns *float64 `parquet:"eval/return,optional"`
		Env     string   `parquet:"env"`
	}
	got, err := reader.Read[line](bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[2].Step != 1<<53 || got[0].Returns != nil || *got[1].Returns != 2.5 || !math.IsInf(*got[2].Returns, 1) || got[1].Env != "Pendulum-v1" {
		t.Errorf("%v", got)
	}
}

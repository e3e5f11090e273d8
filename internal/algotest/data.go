package algotest

import (
	"testing"

	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/rl"
)

// Random returns a data set of blocks of numbers. Observations and actions are drawn evenly between
// their bounds, rewards between -1 and 1. Episodes have five steps; every other one terminates.
func Random(t testing.TB, obs, action rl.Box, episodes int) data.Source {
	t.Helper()
	m := data.Meta{Obs: obs, Action: action}
	set, err := data.NewMemory(m)
	for i := 0; err == nil && i < episodes; i++ {
		const steps = 5
		e, key := data.NewEpisode(m, steps), rl.NewKey(uint64(i))
		draw(e.Columns[0].([]float32), obs, steps+1, key.Use("obs"))
		draw(e.Columns[1].([]float32), action, steps, key.Use("action"))
		draw(e.Columns[2].([]float32), rl.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{1}}, steps, key.Use("reward"))
		e.Columns[3+i%2].([]bool)[steps-1] = true
		err = set.Add(e)
	}
	if err == nil {
		err = set.Complete()
	}
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// draw fills the first rows of a column.
func draw(x []float32, box rl.Box, rows int, key rl.Key) {
	n := box.Shape().Size()
	for i := range rows * n {
		lo, hi := box.Bounds(i % n)
		x[i] = float32(lo + (hi-lo)*key.Uniform(i, 0))
	}
}

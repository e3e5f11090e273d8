package nn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/engine"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// rolling is a device where chains of steps become loops.
type rolling struct{ compute.Backend }

func (rolling) Rolls() bool { return true }

// TestScan: as a loop, a cell gives the outputs and derivatives that it gives step by step.
func TestScan(t *testing.T) {
	const envs = 2
	b, err := engine.New("")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Finalize()
	for _, c := range cells {
		for _, time := range []int{2, 3, 7} {
			for _, clears := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %d %v", c.name, time, clears), func(t *testing.T) {
					written := differentiated(rl.NewScope(rl.NewDevice(b), 1), c.cell, envs, time, clears)
					rolled := differentiated(rl.NewScope(rl.NewDevice(rolling{b}), 1), c.cell, envs, time, clears)
					for i, what := range []string{"outputs", "memory", "inputs", "first memory"} {
						near(t, what, rolled[i], written[i], 1e-5)
					}
					for i := range written[4:] {
						near(t, fmt.Sprint("weights ", i), rolled[4+i], written[4+i], 1e-5)
					}
				})
			}
		}
	}
}

// differentiated returns the outputs and the last memory of a cell, and the derivatives
// of a sum that has both in it, by all that they are made of.
func differentiated(s *rl.Scope, cell nn.Cell, envs, time int, clears bool) [][]float64 {
	const features = 2
	p := buildCell(s, cell)
	in := []rl.Tensor{
		rl.FromFlat(s, wave(envs*time*features, 0), envs, time, features),
		rl.FromFlat(s, wave(envs*cell.StateSize(), 2), envs, cell.StateSize()),
	}
	if clears {
		first := make([]bool, envs*time)
		for i := range first {
			first[i] = i%3 == 1
		}
		in = append(in, rl.FromFlat(s, first, envs, time))
	}
	return eval(s, func(c *rl.Ctx, x []*node) []*node {
		var first *node
		if clears {
			first = x[2]
		}
		wrt := []*node{graph.Identity(x[0]), graph.Identity(x[1])}
		y, last := nn.Unroll(c, c.Scope(p), cell, wrt[0], wrt[1], first)
		byPath := func(a, b *model.Variable) int { return strings.Compare(a.Path(), b.Path()) }
		for _, v := range slices.SortedFunc(c.Scope(p).IterVariables(), byPath) {
			wrt = append(wrt, v.NodeValue(c.Graph()))
		}
		sum := graph.Add(graph.ReduceAllSum(graph.Square(y)), graph.ReduceAllSum(graph.Sin(last)))
		rows := func(x *node) *node { return graph.Reshape(x, 1, -1) }
		out := []*node{rows(y), rows(last)}
		for _, d := range graph.Gradient(sum, wrt...) {
			out = append(out, rows(d))
		}
		return out
	}, in...)
}

// TestScanSize: the graph of a sequence is as large as that of a longer one.
func TestScanSize(t *testing.T) {
	b, err := engine.New("")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Finalize()
	s := rl.NewScope(rl.NewDevice(rolling{b}), 1)
	cell := nn.GRU{Units: 3}
	p := buildCell(s, cell)
	size := func(time int) (nodes int) {
		eval(s, func(c *rl.Ctx, x []*node) []*node {
			y, _ := nn.Unroll(c, c.Scope(p), cell, x[0], nil, nil)
			d := graph.Gradient(graph.ReduceAllSum(graph.Square(y)), x[0])
			nodes = len(c.Graph().Nodes())
			return d
		}, rl.FromFlat(s, make([]float32, 2*time*2), 2, time, 2))
		return nodes
	}
	if short, long := size(4), size(200); short != long {
		t.Errorf("%d nodes for 4 steps, %d for 200", short, long)
	}
}

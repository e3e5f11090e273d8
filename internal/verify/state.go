package verify

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/rl"
)

// near is how far weights of several learners, whose gradients are summed in parts,
// may be from those of one, relative to how far these have moved. Rounding makes less
// than a tenth of that in a few iterations, other gradients make it many times over.
const near = 0.02

// left is the state that a run leaves.
type left struct {
	initial []checkpoint.Array // parameters before the first iteration, of the plain loop
	early   []checkpoint.Array // parameters when learned ones have been used for an iteration
	arrays  []checkpoint.Array // the whole state
	logs    [][]rl.Logged      // logs, by iteration
}

// compare returns how got differs from want, nil if it does not.
func (want left) compare(got left, g *fdg.Graph, than string) *Difference {
	if d := compareArrays(want.arrays, got.arrays, g, than, equal); d != nil {
		return d
	}
	for i, logs := range want.logs {
		have := map[string]float64{}
		if i < len(got.logs) {
			for _, l := range got.logs[i] {
				have[l.Name] = l.X
			}
		}
		for _, l := range logs {
			x, ok := have[l.Name]
			what := fmt.Sprintf("%s is %v, and %v in %s", l.Name, x, l.X, than)
			if !ok {
				what = fmt.Sprintf("%s is not logged, unlike in %s", l.Name, than)
			}
			if !ok || math.Float64bits(x) != math.Float64bits(l.X) {
				return &Difference{Place: logPlace(g, l.Name, int64(i)), What: what}
			}
		}
	}
	return nil
}

// logPlace returns the place where a name is logged, or nil if the graph has none.
func logPlace(g *fdg.Graph, name string, iter int64) *Place {
	i := slices.IndexFunc(g.Nodes, func(n fdg.Node) bool { return n.Kind == fdg.Log && strings.Contains(n.Text, fmt.Sprintf("%q", name)) })
	if i < 0 {
		return nil
	}
	return &Place{Operation: "rl.Run.Log", Name: name, Pos: g.Nodes[i].Pos.String(), Iteration: iter + 1, Time: 1}
}

// compareArrays returns how the arrays of a state differ from those that are wanted,
// nil if they do not. Weights come first in the answer: they are what a run is for.
func compareArrays(want, got []checkpoint.Array, g *fdg.Graph, than string, equal func(a, b checkpoint.Array) bool) *Difference {
	have := map[string]checkpoint.Array{}
	for _, a := range got {
		have[a.Name] = a
	}
	var names []string
	for _, a := range want {
		b, ok := have[a.Name]
		if !ok || a.DType != b.DType || !slices.Equal(a.Shape, b.Shape) || !equal(a, b) {
			names = append(names, a.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(order(g, a), order(g, b)), cmp.Compare(a, b)) })
	what := fmt.Sprintf("%s differs from that of %s", names[0], than)
	if n := len(names) - 1; n > 0 {
		what += fmt.Sprintf(" (and %d more arrays of the state)", n)
	}
	return &Difference{What: what, writer: writer(g, names[0])}
}

func equal(a, b checkpoint.Array) bool { return bytes.Equal(a.Data, b.Data) }

// rounded returns a comparison of weights that began as initial: float32 ones may
// differ by rounding, others not at all.
func rounded(initial []checkpoint.Array) func(a, b checkpoint.Array) bool {
	from := map[string]checkpoint.Array{}
	for _, a := range initial {
		from[a.Name] = a
	}
	return func(a, b checkpoint.Array) bool {
		began, ok := from[a.Name]
		if a.DType != "F32" || !ok || len(began.Data) != len(a.Data) {
			return equal(a, b)
		}
		return distance(a, b) <= near*distance(a, began)
	}
}

// distance returns the Euclidean distance of two float32 arrays.
func distance(a, b checkpoint.Array) float64 {
	sum := 0.0
	for i := 0; i+4 <= len(a.Data); i += 4 {
		d := float64(number(a, i)) - float64(number(b, i))
		sum += d * d
	}
	return math.Sqrt(sum)
}

// number returns the float32 at byte i.
func number(a checkpoint.Array, i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(a.Data[i:]))
}

// resource returns the index of the resource that an array of the state belongs to, or
// -1 if the graph names none.
func resource(g *fdg.Graph, array string) int {
	best := -1
	for i, r := range g.Resources {
		if strings.HasPrefix(array, r.Name+"/") && (best < 0 || len(r.Name) > len(g.Resources[best].Name)) {
			best = i
		}
	}
	return best
}

// order ranks arrays: weights, then what else the graph names, then the rest.
func order(g *fdg.Graph, array string) int {
	switch i := resource(g, array); {
	case i < 0:
		return 2
	case g.Resources[i].Kind == "weights":
		return 0
	}
	return 1
}

// reads names the resources that the operation at a place reads.
func reads(g *fdg.Graph, p Place) (out []string) {
	for _, n := range g.Nodes {
		if n.Op != p.Operation || n.Pos.String() != p.Pos {
			continue
		}
		for _, r := range n.Reads {
			if name := g.Resources[r].Name; !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// writer names the first operation of the loop that writes an array.
func writer(g *fdg.Graph, array string) string {
	at := resource(g, array)
	for _, n := range g.Nodes {
		if at >= 0 && slices.Contains(n.Writes, at) && !n.Kind.Control() {
			return fmt.Sprintf("%s at %s", cmp.Or(n.Op, string(n.Kind)), n.Pos)
		}
	}
	return ""
}

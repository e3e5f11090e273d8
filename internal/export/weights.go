package export

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/rl"
)

// architecture is a policy's graph for programs that read its weights.
type architecture struct {
	Format  string `json:"format"` // weft-policy-1
	About   `json:"policy"`
	Inputs  []port   `json:"inputs"`
	Outputs []port   `json:"outputs"`
	Arrays  []string `json:"arrays"` // names in the file of weights
	// Graph holds the operations in order, recorded for one row.
	Graph []operation `json:"graph"`
}

type port struct {
	Name  string    `json:"name"`
	Value string    `json:"value"` // value in the graph
	Type  string    `json:"type"`
	Shape []int     `json:"shape"`
	Space string    `json:"space,omitempty"`
	Fresh []float64 `json:"fresh,omitempty"` // memory at the start of an episode
}

type operation struct {
	Op         string   `json:"op"`
	In         []string `json:"in"`
	Out        string   `json:"out"`
	Type       string   `json:"type"`
	Shape      []int    `json:"shape"`
	Attributes any      `json:"attributes,omitempty"`
}

// Weights returns the arrays of the policy, constants among them, and its architecture as JSON.
func Weights(p *runner.Player, about About) (checkpoint.File, []byte, error) {
	r, err := record(p, 1)
	if err != nil {
		return checkpoint.File{}, nil, err
	}
	d := &describer{names: map[*ir.Value]string{}}
	f, err := d.describe(r, about)
	if err != nil {
		return f, nil, err
	}
	text, err := json.MarshalIndent(d.architecture, "", " ")
	return f, append(text, '\n'), err
}

// describer names the values of a graph.
type describer struct {
	architecture
	names  map[*ir.Value]string
	arrays []checkpoint.Array
}

func (d *describer) describe(r recorded, about About) (checkpoint.File, error) {
	main := r.module.Flatten()
	live := main.Live()
	d.Format, d.About = "weft-policy-1", about
	for _, w := range r.Weights {
		if v := main.Params[w.At]; live[v.Node] {
			d.names[v] = w.Name
			if err := d.keep(w.Name, v, rl.System.Bytes(w.Tensor)); err != nil {
				return checkpoint.File{}, err
			}
		}
	}
	for _, in := range r.In {
		v := main.Params[in.At]
		d.names[v] = in.Name
		if live[v.Node] {
			d.Inputs = append(d.Inputs, d.port(in, v))
		}
	}
	for i, n := range main.Nodes {
		if err := d.node(i, n, live[n]); err != nil {
			return checkpoint.File{}, err
		}
	}
	for _, out := range r.Out {
		d.Outputs = append(d.Outputs, d.port(out, main.Results[out.At]))
	}
	return checkpoint.File{Meta: map[string]string{"policy": about.String()}, Arrays: d.arrays}, nil
}

func (d *describer) node(i int, n *ir.Node, live bool) error {
	if !live || n.Op == compute.OpTypeParameter {
		return nil
	}
	if len(n.Funcs) > 0 || len(n.Outputs) != 1 {
		return Unwritable{fmt.Errorf("operation %s has branches or loops: an architecture in JSON cannot have them", n.Op)}
	}
	v := n.Outputs[0]
	if l, ok := n.Attr.(ir.Literal); ok {
		d.names[v] = fmt.Sprintf("constant/%d", i)
		return d.keep(d.names[v], v, l.Data)
	}
	d.names[v] = fmt.Sprintf("%%%d", i)
	o := operation{Op: n.Op.String(), Out: d.names[v], Type: typeName(v.DType()), Shape: dimensions(v), Attributes: n.Attr}
	for _, in := range n.Inputs {
		o.In = append(o.In, d.names[in])
	}
	d.Graph = append(d.Graph, o)
	return nil
}

// keep puts an array into the file of weights.
func (d *describer) keep(name string, v *ir.Value, data []byte) error {
	kind := runner.DType(v.DType())
	if kind == "" {
		return fmt.Errorf("array %q: %s cannot be in a file of weights", name, v.DType())
	}
	d.Arrays = append(d.Arrays, name)
	d.arrays = append(d.arrays, checkpoint.Array{Name: name, DType: kind, Shape: dimensions(v), Data: data})
	return nil
}

func (d *describer) port(p runner.Port, v *ir.Value) port {
	out := port{Name: p.Name, Value: d.names[v], Type: typeName(v.DType()), Shape: dimensions(v)}
	if p.Space != nil {
		out.Space = p.Space.String()
	}
	if p.Fresh.Ok() {
		out.Fresh = rl.Floats(p.Fresh)
	}
	return out
}

func typeName(t dtypes.DType) string { return strings.ToLower(t.String()) }

// dimensions returns the dimensions of a value. It never returns nil, which JSON would write as
// null.
func dimensions(v *ir.Value) []int { return append([]int{}, v.Shape.Dimensions...) }

// Package export writes trained policies for other programs: as ONNX models, or as weights in
// safetensors with the architecture in JSON.
//
// What is written is the graph that the engine records when the agent acts greedily, whatever
// algorithm trained it: observations are normalised, memory is updated and actions are kept within
// their bounds inside of it. Memory is an input and an output.
package export

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/onnx"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/rl"
)

// About says where a policy comes from.
type About struct {
	Algorithm string   `json:"algorithm"`
	Env       string   `json:"env"`
	Wrappers  []string `json:"wrappers,omitempty"` // those that change what the agent sees or does, and are not in the graph
	Step      int64    `json:"step"`               // step of the training at which the weights were saved
	Weights   string   `json:"weights"`            // choice of weights: best or newest
}

// The numbers of rows that a policy is recorded for: dimensions in which the recordings differ are
// multiples of the rows. Both are primes, so that no other axis is taken for them by chance.
const (
	rows      = 13
	otherRows = 17
)

// recorded is a policy's graph with its recording.
type recorded struct {
	runner.Graph
	module *ir.Module
}

// record compiles the policy for so many rows.
func record(p *runner.Player, rows int) (r recorded, err error) {
	if r.Graph, err = p.Graph(rows); err != nil {
		return r, err
	}
	exe, ok := r.Exe.(interface{ Module() *ir.Module })
	if !ok {
		return r, fmt.Errorf("a policy is exported from the device cpu, not from one that computes by %T", r.Exe)
	}
	r.module = exe.Module()
	return r, nil
}

// ONNX returns the policy as an ONNX model for any number of rows.
func ONNX(p *runner.Player, about About) ([]byte, error) {
	one, err := record(p, rows)
	if err != nil {
		return nil, err
	}
	other, err := record(p, otherRows)
	if err != nil {
		return nil, err
	}
	m := onnx.Model{Name: "policy", Doc: about.String(), Inputs: make([]onnx.Input, len(one.module.Main.Params)), Meta: about.meta(one.Graph)}
	for _, w := range one.Weights {
		m.Inputs[w.At] = onnx.Input{Name: w.Name, Weight: rl.System.Bytes(w.Tensor)}
	}
	for _, in := range one.In {
		m.Inputs[in.At] = onnx.Input{Name: in.Name, Doc: describe(in)}
	}
	for range one.module.Main.Results {
		m.Outputs = append(m.Outputs, onnx.Output{})
	}
	for _, out := range one.Out {
		m.Outputs[out.At] = onnx.Output{Name: out.Name, Doc: describe(out)}
	}
	text, err := onnx.Encode(m, onnx.Recording{Module: one.module, Rows: rows}, onnx.Recording{Module: other.module, Rows: otherRows})
	if err != nil {
		return nil, Unwritable{err}
	}
	return text, nil
}

// Unwritable is the error of a policy that ONNX models or architectures in JSON cannot hold.
type Unwritable struct{ Err error }

func (e Unwritable) Error() string { return e.Err.Error() }

func (e Unwritable) Unwrap() error { return e.Err }

// String says in a sentence where the policy comes from.
func (a About) String() string {
	text := fmt.Sprintf("the greedy policy of %s on %s, %s weights of step %d", a.Algorithm, a.Env, a.Weights, a.Step)
	if len(a.Wrappers) > 0 {
		text += "; observations and actions are those between the agent and the wrappers " + strings.Join(a.Wrappers, ", ")
	}
	return text
}

// meta returns the description for programs. Fresh memory is there where it is not zero.
func (a About) meta(g runner.Graph) (out []onnx.Entry) {
	out = []onnx.Entry{
		{Key: "weft.algorithm", Value: a.Algorithm}, {Key: "weft.env", Value: a.Env},
		{Key: "weft.step", Value: fmt.Sprint(a.Step)}, {Key: "weft.weights", Value: a.Weights},
	}
	if len(a.Wrappers) > 0 {
		out = append(out, onnx.Entry{Key: "weft.wrappers", Value: strings.Join(a.Wrappers, ",")})
	}
	for _, p := range slices.Concat(g.In, g.Out) {
		if p.Space != nil {
			out = append(out, onnx.Entry{Key: "weft.space." + p.Name, Value: p.Space.String()})
		}
	}
	return out
}

// describe says what an input or output is.
func describe(p runner.Port) string {
	switch {
	case p.Space != nil:
		return p.Space.String()
	case p.Fresh.Ok():
		return "next_memory of the step before; at the start of an episode " + start(p.Fresh)
	}
	return ""
}

// start says what memory is at the start of an episode.
func start(fresh rl.Tensor) string {
	if fresh.Shape().DType == dtypes.Bool {
		return "false"
	}
	x := rl.Floats(fresh)
	if slices.Min(x) == slices.Max(x) {
		return fmt.Sprint(x[0])
	}
	return fmt.Sprint(x)
}

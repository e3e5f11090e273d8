package gym

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/rl"
)

// description is a worker's answer about its environments. Kinds of agents stand
// beside each other; Gymnasium has one of one agent.
type description struct {
	Kinds  []kind  `json:"kinds"`
	Limit  int     `json:"limit"`
	Turns  bool    `json:"turns"`  // one agent after another acts
	State  int     `json:"state"`  // numbers of the global state
	Mortal []bool  `json:"mortal"` // whether agents can leave the game, by kind; only the leading worker knows
	Exact  bool    `json:"exact"`
	Why    string  `json:"why"`
	Rate   float64 `json:"rate"` // pictures a second; 0 where there are none
	Cost   float64 `json:"cost"` // approximate seconds of a step; 0 if unknown
}

type kind struct {
	Name   string   `json:"name"`
	Agents []string `json:"agents"`
	Masked bool     `json:"masked"`
	Obs    []leaf   `json:"obs"`
	Action []leaf   `json:"action"`
}

// leaf is a simple space.
type leaf struct {
	Name  string     `json:"name"`
	Type  string     `json:"type"`
	DType string     `json:"dtype"`
	Dims  []int      `json:"dims"`
	Low   []*float64 `json:"low"` // nil is none
	High  []*float64 `json:"high"`
	Start int        `json:"start"`
	N     any        `json:"n"` // a number or several
}

var dtypeOf = map[string]dtypes.DType{"float32": dtypes.Float32, "uint8": dtypes.Uint8, "int32": dtypes.Int32, "int64": dtypes.Int64}

// spaceOf returns leaves as a space; a single one without a name is itself.
func spaceOf(leaves []leaf, open bool) (rl.Space, error) {
	var out rl.Dict
	for _, l := range leaves {
		s, err := l.space(open)
		if err != nil {
			return nil, err
		}
		if l.Name == "" && len(leaves) == 1 {
			return s, nil
		}
		out = append(out, rl.SpaceLeaf{Name: l.Name, Space: s})
	}
	return out, nil
}

func (l leaf) space(open bool) (rl.Space, error) {
	if err := l.check(); err != nil {
		return nil, fmt.Errorf("space %q: %w", l.Name, err)
	}
	switch l.Type {
	case "box":
		d, ok := dtypeOf[l.DType]
		if !ok {
			return nil, fmt.Errorf("space %q: numbers of type %s are not known", l.Name, l.DType)
		}
		b := rl.Box{Low: bounds(l.Low, math.Inf(-1)), High: bounds(l.High, math.Inf(1)), Dims: l.Dims, DType: d}
		if open && d == dtypes.Float32 {
			b.Low, b.High = nil, nil
		}
		return b, nil
	case "discrete":
		return rl.Discrete{N: count(l.N), Start: l.Start}, nil
	case "multi_binary":
		return rl.MultiBinary{N: count(l.N)}, nil
	case "multi_discrete":
		var d rl.MultiDiscrete
		for _, n := range several(l.N) {
			d.N = append(d.N, count(n))
		}
		return d, nil
	}
	return nil, fmt.Errorf("space %q: kind %s is not known", l.Name, l.Type)
}

const (
	maxNumbers = 1 << 26 // most numbers of a space: more than a picture of 4096 x 4096 points has
	maxValues  = 1 << 53 // most values of a number that JSON still tells apart
)

// check checks that a space is one that can be, before anything is counted by it.
func (l leaf) check() error {
	size := 1.
	for _, n := range l.Dims {
		if size *= float64(n); n < 0 || size > maxNumbers {
			return fmt.Errorf("its shape %v is none, or has more than %d numbers", l.Dims, maxNumbers)
		}
	}
	most := float64(maxValues)
	if l.Type == "multi_binary" {
		most = maxNumbers
	}
	sum := 0.
	for _, n := range append(several(l.N), l.N) {
		if x, ok := n.(float64); ok {
			sum += x
			if x != math.Trunc(x) || x < 0 || sum > most {
				return fmt.Errorf("its number of values %v is none, or more than %.0f", x, most)
			}
		}
	}
	return nil
}

// several returns the numbers of a list that came as JSON, if it is one.
func several(x any) []any {
	all, _ := x.([]any)
	return slices.Clip(all)
}

// count returns a number that came as JSON.
func count(x any) int {
	f, _ := x.(float64)
	return int(f)
}

func bounds(x []*float64, none float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = none
		if v != nil {
			out[i] = *v
		}
	}
	return out
}

package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/rl"
)

// request is the body that a client sends. Where there are several kinds of agents, their views are
// in Kinds by name.
type request struct {
	view
	Kinds   map[string]view `json:"kinds"`
	Version *int64          `json:"version"` // step of the training; nil is the newest
}

// view holds the observations of the agents of a kind.
type view struct {
	Obs    parts[float64] `json:"obs"`
	Legal  parts[bool]    `json:"legal"`
	State  []float64      `json:"state"`
	Memory parts[float64] `json:"memory"`
}

// response answers a request.
type response struct {
	did
	Kinds   map[string]did `json:"kinds,omitempty"`
	Version int64          `json:"version"`
}

// did holds the actions of the agents of a kind.
type did struct {
	Action any            `json:"action,omitempty"` // a number, numbers, or these by part
	Memory parts[float64] `json:"memory,omitempty"`
}

// parts are the leaves of a space by name: in JSON an object, or, if the space is no Dict, its only
// list, nested or flat.
type parts[T float64 | bool] map[string][]T

// UnmarshalJSON takes a list, a single value, or an object of those.
func (p *parts[T]) UnmarshalJSON(text []byte) error {
	text = bytes.TrimSpace(text)
	if bytes.Equal(text, []byte("null")) {
		return nil
	}
	*p = parts[T]{}
	if !bytes.HasPrefix(text, []byte("{")) {
		list, err := flattened[T](text)
		(*p)[""] = list
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	for name, one := range all {
		list, err := flattened[T](one)
		if err != nil {
			return fmt.Errorf("part %q: %w", name, err)
		}
		(*p)[name] = list
	}
	return nil
}

// flattened reads a value, or lists of them of any depth, in row-major order.
func flattened[T float64 | bool](text []byte) (out []T, err error) {
	if err := json.Unmarshal(text, &out); err == nil { // the usual case
		return out, nil
	}
	var any any
	if err := json.Unmarshal(text, &any); err != nil {
		return nil, err
	}
	return appendAll[T](nil, any)
}

func appendAll[T float64 | bool](out []T, x any) (_ []T, err error) {
	switch x := x.(type) {
	case []any:
		for _, e := range x {
			if out, err = appendAll(out, e); err != nil {
				return nil, err
			}
		}
		return out, nil
	case T:
		return append(out, x), nil
	}
	var want T
	return nil, fmt.Errorf("%v is no %T", x, want)
}

// mostBody bounds a request in bytes.
const mostBody = 8 << 20

// decode reads one request, or a list of them.
func decode(body io.Reader) (all []request, list bool, err error) {
	text, err := io.ReadAll(io.LimitReader(body, mostBody+1))
	if err != nil {
		return nil, false, err
	}
	if len(text) > mostBody {
		return nil, false, fmt.Errorf("the request has more than %d MiB", mostBody>>20)
	}
	text = bytes.TrimSpace(text)
	if list = bytes.HasPrefix(text, []byte("[")); list {
		err = strict(text, &all)
	} else {
		all = make([]request, 1)
		err = strict(text, &all[0])
	}
	if err == nil && len(all) > mostBatch {
		err = fmt.Errorf("%d requests in one: send at most %d", len(all), mostBatch)
	}
	return all, list, err
}

// strict refuses fields that it does not know: they are usually misspelt.
func strict(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(to)
	if err == nil && d.More() {
		err = errors.New("there is text behind the JSON object")
	}
	if err != nil {
		return fmt.Errorf("the request is not of the form {\"obs\": [...]}: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// ask checks a request against the spaces of a player.
func (q request) ask(p *runner.Player) (runner.Ask, error) {
	specs := p.Specs()
	views := []view{q.view}
	if len(specs) > 1 {
		views = nil
		for _, s := range specs {
			v, ok := q.Kinds[s.Kind]
			if !ok {
				return runner.Ask{}, fmt.Errorf("the request lacks kind %q: it is of the form {\"kinds\": {%q: {\"obs\": [...]}, ...}}", s.Kind, s.Kind)
			}
			views = append(views, v)
		}
	}
	if len(q.Kinds) > 0 && len(q.Kinds) != len(specs) || len(specs) == 1 && q.Kinds != nil {
		return runner.Ask{}, fmt.Errorf("the request has %d kinds of agents, the policy acts for %s", len(q.Kinds), kindNames(specs))
	}
	var seen []runner.Seen
	var memory []map[string][]float64
	for _, v := range views {
		if v.Obs == nil {
			return runner.Ask{}, errors.New(`the request has no "obs"`)
		}
		seen = append(seen, runner.Seen{X: v.Obs, Legal: v.Legal, State: v.State})
		memory = append(memory, v.Memory)
	}
	if !slices.ContainsFunc(memory, func(m map[string][]float64) bool { return m != nil }) {
		memory = nil
	}
	return p.Ask(seen, memory)
}

func kindNames(specs []env.Spec) string {
	if len(specs) == 1 {
		return "one"
	}
	var names []string
	for _, s := range specs {
		names = append(names, s.Kind)
	}
	return strings.Join(names, ", ")
}

// decision holds what a version of a policy has decided.
type decision struct {
	specs []env.Spec
	step  int64
	runner.Told
}

// check refuses numbers that JSON does not have.
func (d decision) check() error {
	for i := range d.specs {
		if !finite(d.Actions[i]) || !finite(d.Memory[i]) {
			return fmt.Errorf("the policy at step %d returned a number that is not finite: its training has diverged", d.step)
		}
	}
	return nil
}

// answer returns the decision as a response.
func (d decision) answer() response {
	out := response{Version: d.step}
	for i, s := range d.specs {
		x := did{Action: asJSON(s.Action, d.Actions[i]), Memory: d.Memory[i]}
		if len(d.specs) == 1 {
			out.did = x
			continue
		}
		if out.Kinds == nil {
			out.Kinds = map[string]did{}
		}
		out.Kinds[s.Kind] = x
	}
	return out
}

// finite reports whether JSON has all numbers.
func finite(all map[string][]float64) bool {
	for _, xs := range all {
		for _, x := range xs {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return false
			}
		}
	}
	return true
}

// asJSON returns an action in the form that its space has: a number, a list, or these by part.
func asJSON(s rl.Space, action map[string][]float64) any {
	one := func(s rl.Space, x []float64) any {
		if s.Shape().Rank() == 0 && len(x) == 1 {
			return x[0]
		}
		return x
	}
	leaves := s.Leaves()
	if len(leaves) == 1 && leaves[0].Name == "" {
		return one(s, action[""])
	}
	out := map[string]any{}
	for _, l := range leaves {
		out[l.Name] = one(l.Space, action[l.Name])
	}
	return out
}

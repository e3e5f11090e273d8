package data

import (
	"encoding/json"
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/rl"
)

// spaceText is a space as JSON.
type spaceText struct {
	Kind   string      `json:"kind"` // box, discrete, multi-discrete, multi-binary, dict
	Low    []float64   `json:"low,omitempty"`
	High   []float64   `json:"high,omitempty"`
	Dims   []int       `json:"dims,omitempty"`
	DType  string      `json:"dtype,omitempty"`
	Frames int         `json:"frames,omitempty"`
	N      []int       `json:"n,omitempty"`
	Start  int         `json:"start,omitempty"`
	Names  []string    `json:"names,omitempty"` // of a dict
	Parts  []spaceText `json:"parts,omitempty"`
}

// spaceOf returns a space as it is written.
func spaceOf(s rl.Space) spaceText {
	switch s := s.(type) {
	case rl.Box:
		return spaceText{Kind: "box", Low: bounded(s.Low), High: bounded(s.High), Dims: s.Dims, DType: s.Shape().DType.String(), Frames: s.Frames}
	case rl.Discrete:
		return spaceText{Kind: "discrete", N: []int{s.N}, Start: s.Start}
	case rl.MultiDiscrete:
		return spaceText{Kind: "multi-discrete", N: s.N}
	case rl.MultiBinary:
		return spaceText{Kind: "multi-binary", N: []int{s.N}}
	case rl.Dict:
		t := spaceText{Kind: "dict"}
		for _, l := range s {
			t.Names, t.Parts = append(t.Names, l.Name), append(t.Parts, spaceOf(l.Space))
		}
		return t
	}
	return spaceText{}
}

// largest stands for infinity, which JSON does not know.
const largest = 1e308

func bounded(x []float64) (out []float64) {
	for _, v := range x {
		out = append(out, max(-largest, min(largest, v)))
	}
	return out
}

func unbounded(x []float64) (out []float64) {
	for _, v := range x {
		if v <= -largest || v >= largest {
			v *= 10 // infinity of the same sign
		}
		out = append(out, v)
	}
	return out
}

// dtypeOf returns the type of a name.
func dtypeOf(name string) (dtypes.DType, error) {
	d, ok := dtypes.MapOfNames[name]
	if !ok {
		return d, fmt.Errorf("numbers of type %q are not known", name)
	}
	return d, nil
}

// FormatSpace returns a space as JSON, as descriptions of data sets have it.
func FormatSpace(s rl.Space) ([]byte, error) { return json.Marshal(spaceOf(s)) }

// ParseSpace reads what FormatSpace returned.
func ParseSpace(text []byte) (rl.Space, error) {
	var t spaceText
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, err
	}
	return t.space()
}

// space returns the space that was written.
func (t spaceText) space() (rl.Space, error) {
	one := func() (int, error) {
		if len(t.N) != 1 {
			return 0, fmt.Errorf("a space of kind %q has one number n, not %d", t.Kind, len(t.N))
		}
		return t.N[0], nil
	}
	switch t.Kind {
	case "box":
		d, err := dtypeOf(t.DType)
		return rl.Box{Low: unbounded(t.Low), High: unbounded(t.High), Dims: t.Dims, DType: d, Frames: t.Frames}, err
	case "discrete":
		n, err := one()
		return rl.Discrete{N: n, Start: t.Start}, err
	case "multi-discrete":
		return rl.MultiDiscrete{N: t.N}, nil
	case "multi-binary":
		n, err := one()
		return rl.MultiBinary{N: n}, err
	case "dict":
		return t.dict()
	}
	return nil, fmt.Errorf("a space of kind %q is not known", t.Kind)
}

func (t spaceText) dict() (rl.Space, error) {
	if len(t.Names) != len(t.Parts) {
		return nil, fmt.Errorf("a dict of %d names and %d spaces", len(t.Names), len(t.Parts))
	}
	var d rl.Dict
	for i, p := range t.Parts {
		s, err := p.space()
		if err != nil {
			return nil, err
		}
		d = append(d, rl.SpaceLeaf{Name: t.Names[i], Space: s})
	}
	return d, nil
}

// metaText is a Meta as JSON.
type metaText struct {
	Version  int               `json:"version"`
	Env      string            `json:"env,omitempty"`
	Obs      spaceText         `json:"obs"`
	Action   spaceText         `json:"action"`
	Limit    int               `json:"limit,omitempty"`
	Extra    []columnText      `json:"extra,omitempty"`
	About    map[string]string `json:"about,omitempty"`
	Bounds   *Bounds           `json:"bounds,omitempty"`
	Episodes int64             `json:"episodes"`
	Steps    int64             `json:"steps"`
	Longest  int64             `json:"longest"`
	Returns  Summary           `json:"returns"`
	Lengths  Summary           `json:"lengths"`
	Norm     *Norm             `json:"norm,omitempty"`
	Checksum string            `json:"checksum"`
}

type columnText struct {
	Name  string     `json:"name"`
	DType string     `json:"dtype"`
	Dims  []int      `json:"dims,omitempty"`
	Space *spaceText `json:"space,omitempty"`
}

// MarshalJSON writes the description as files hold it.
func (m Meta) MarshalJSON() ([]byte, error) {
	t := metaText{
		Version: Version, Env: m.Env, Obs: spaceOf(m.Obs), Action: spaceOf(m.Action), Limit: m.Limit, About: m.About, Bounds: m.Bounds,
		Episodes: m.Episodes, Steps: m.Steps, Longest: m.Longest, Returns: m.Returns, Lengths: m.Lengths, Norm: m.Norm, Checksum: m.Checksum,
	}
	for _, c := range m.Extra {
		x := columnText{Name: c.Name, DType: c.Shape.DType.String(), Dims: c.Shape.Dimensions}
		if c.Space != nil {
			s := spaceOf(c.Space)
			x.Space = &s
		}
		t.Extra = append(t.Extra, x)
	}
	return json.Marshal(t)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (m *Meta) UnmarshalJSON(text []byte) error {
	var t metaText
	if err := json.Unmarshal(text, &t); err != nil {
		return err
	}
	if t.Version != Version {
		return fmt.Errorf("it is of version %d, this program reads version %d", t.Version, Version)
	}
	obs, err := t.Obs.space()
	if err != nil {
		return fmt.Errorf("space of observations: %w", err)
	}
	action, err := t.Action.space()
	if err != nil {
		return fmt.Errorf("space of actions: %w", err)
	}
	*m = Meta{
		Env: t.Env, Obs: obs, Action: action, Limit: t.Limit, About: t.About, Bounds: t.Bounds,
		Episodes: t.Episodes, Steps: t.Steps, Longest: t.Longest, Returns: t.Returns, Lengths: t.Lengths, Norm: t.Norm, Checksum: t.Checksum,
	}
	for _, x := range t.Extra {
		c, err := x.column()
		if err != nil {
			return fmt.Errorf("column %q: %w", x.Name, err)
		}
		m.Extra = append(m.Extra, c)
	}
	return m.Check()
}

func (t columnText) column() (c Column, err error) {
	d, err := dtypeOf(t.DType)
	if err == nil && t.Space != nil {
		c.Space, err = t.Space.space()
	}
	c.Name, c.Shape = t.Name, shapes.Make(d, t.Dims...)
	return c, err
}

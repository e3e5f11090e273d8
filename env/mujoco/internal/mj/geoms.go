package mj

import (
	"errors"
	"slices"
)

// Kind is the library's number for a kind of geom.
type Kind int32

// The kinds that have a simple form, and the one that has a form for every place.
const (
	Plane Kind = iota
	HeightField
	Sphere
	Capsule
	Ellipsoid
	Cylinder
	Box
)

// Geom is a visible part of a model.
type Geom struct {
	Index int
	Kind  Kind
	Size  [3]float64
	RGBA  [4]float32
}

// shown is the number of groups that MuJoCo's own viewers show at first.
const shown = 3

// grey is the colour of a geom that is given none, for which its material's stands.
var grey = []float32{.5, .5, .5, 1}

// Geoms returns what one sees of the model, but for height fields. To ask for them may
// give every simulation fields of its own: it is for simulations that are not
// stepped.
func (s *Sims) Geoms() ([]Geom, error) {
	e := s.engine
	kinds, groups, materials := numbers[int32](e, "geom_type"), numbers[int32](e, "geom_group"), numbers[int32](e, "geom_matid")
	sizes, rgba, paint := numbers[float64](e, "geom_size"), numbers[float32](e, "geom_rgba"), numbers[float32](e, "mat_rgba")
	n := len(kinds)
	if n == 0 || len(groups) != n || len(materials) != n || len(sizes) != 3*n || len(rgba) != 4*n {
		return nil, errors.New("its model has no visible geometry")
	}
	var out []Geom
	for i := range n {
		colour := rgba[4*i : 4*i+4]
		if m := int(materials[i]); m >= 0 && slices.Equal(colour, grey) && len(paint) >= 4*m+4 {
			colour = paint[4*m : 4*m+4]
		}
		if groups[i] < shown && colour[3] > 0 && Kind(kinds[i]) != HeightField {
			out = append(out, Geom{i, Kind(kinds[i]), [3]float64(sizes[3*i:]), [4]float32(colour)})
		}
	}
	return out, nil
}

package solid

import "math"

// Vec is a place, a direction, or a colour's red, green and blue between 0 and 1.
type Vec [3]float64

func (a Vec) add(b Vec) Vec            { return Vec{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }
func (a Vec) sub(b Vec) Vec            { return Vec{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }
func (a Vec) times(x float64) Vec      { return Vec{a[0] * x, a[1] * x, a[2] * x} }
func (a Vec) dot(b Vec) float64        { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }
func (a Vec) unit() Vec                { return a.times(1 / math.Sqrt(a.dot(a))) }
func (a Vec) mix(b Vec, x float64) Vec { return a.times(1 - x).add(b.times(x)) }

func (a Vec) cross(b Vec) Vec {
	return Vec{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}

// Shape is the shape of a body.
type Shape int

// The shapes, and what their sizes are.
const (
	Plane     Shape = iota // half its width along x and y; 0 has no end
	Ellipsoid              // radii
	Capsule                // radius, and half the length of its middle part, along z
	Cylinder               // radius, and half its length, along z
	Box                    // half its edges
)

// Turn is a rotation, row by row.
type Turn [9]float64

// Upright is no rotation.
var Upright = Turn{1, 0, 0, 0, 1, 0, 0, 0, 1}

// to returns a direction of the body's own in space.
func (m *Turn) to(v Vec) Vec {
	return Vec{
		m[0]*v[0] + m[1]*v[1] + m[2]*v[2], m[3]*v[0] + m[4]*v[1] + m[5]*v[2], m[6]*v[0] + m[7]*v[1] + m[8]*v[2],
	}
}

// from returns a direction in space as the body's own.
func (m *Turn) from(v Vec) Vec {
	return Vec{
		m[0]*v[0] + m[3]*v[1] + m[6]*v[2], m[1]*v[0] + m[4]*v[1] + m[7]*v[2], m[2]*v[0] + m[5]*v[1] + m[8]*v[2],
	}
}

// Body is something in space.
type Body struct {
	Shape  Shape
	Size   Vec // see Shape
	At     Vec // its middle
	Turn   Turn
	Colour Vec
}

// extent returns the radius of a ball around the body, which is no plane.
func (b *Body) extent() float64 {
	switch b.Shape {
	case Ellipsoid:
		return max(b.Size[0], b.Size[1], b.Size[2])
	case Capsule:
		return b.Size[0] + b.Size[1]
	case Cylinder:
		return math.Hypot(b.Size[0], b.Size[1])
	}
	return math.Sqrt(b.Size.dot(b.Size))
}

// none is the way to what a ray does not meet.
var none = math.Inf(1)

// hit returns how far along a ray of unit length a body is met from outside, and its
// normal there.
func (b *Body) hit(from, ray Vec) (far float64, normal Vec) {
	o, d := b.Turn.from(from.sub(b.At)), b.Turn.from(ray)
	switch b.Shape {
	case Plane:
		far, normal = flat(o, d, b.Size)
	case Ellipsoid:
		far, normal = ellipsoid(o, d, b.Size)
	case Capsule, Cylinder:
		far, normal = rod(o, d, b.Size[0], b.Size[1], b.Shape == Capsule)
	case Box:
		far, normal = box(o, d, b.Size)
	}
	if far == none {
		return none, Vec{}
	}
	return far, b.Turn.to(normal)
}

// entry returns the smaller x with a*x*x + 2*b*x + c = 0, where it is ahead.
func entry(a, b, c float64) float64 {
	root := b*b - a*c
	if root < 0 || a <= 0 {
		return none
	}
	return ahead((-b - math.Sqrt(root)) / a)
}

func ahead(x float64) float64 {
	if x <= 0 {
		return none
	}
	return x
}

func flat(o, d, size Vec) (float64, Vec) {
	if d[2] >= 0 { // from below it is not seen
		return none, Vec{}
	}
	far := ahead(-o[2] / d[2])
	for i, half := range size[:2] {
		if half > 0 && math.Abs(o[i]+far*d[i]) > half {
			return none, Vec{}
		}
	}
	return far, Vec{2: 1}
}

func ellipsoid(o, d, size Vec) (float64, Vec) {
	var p, q Vec
	for i, r := range size {
		p[i], q[i] = o[i]/r, d[i]/r
	}
	far := entry(q.dot(q), p.dot(q), p.dot(p)-1)
	if far == none {
		return none, Vec{}
	}
	n := p.add(q.times(far))
	for i, r := range size {
		n[i] /= r
	}
	return far, n.unit()
}

// rod returns a cylinder with flat or round ends.
func rod(o, d Vec, radius, half float64, round bool) (far float64, normal Vec) {
	a, b, c := d[0]*d[0]+d[1]*d[1], o[0]*d[0]+o[1]*d[1], o[0]*o[0]+o[1]*o[1]-radius*radius
	if b*b < a*c {
		return none, Vec{} // the ends are no thicker
	}
	far = entry(a, b, c)
	if p := o.add(d.times(far)); far < none && math.Abs(p[2]) <= half {
		return far, Vec{p[0] / radius, p[1] / radius}
	}
	far = none
	for _, z := range []float64{-half, half} {
		x, n := end(o.sub(Vec{2: z}), d, radius, round, math.Copysign(1, z))
		if x < far {
			far, normal = x, n
		}
	}
	return far, normal
}

// end returns a rod's end whose middle is the origin.
func end(o, d Vec, radius float64, round bool, side float64) (float64, Vec) {
	if round {
		return ellipsoid(o, d, Vec{radius, radius, radius})
	}
	far := ahead(-o[2] / d[2])
	if p := o.add(d.times(far)); far == none || math.Hypot(p[0], p[1]) > radius {
		return none, Vec{}
	}
	return far, Vec{2: side}
}

func box(o, d, size Vec) (float64, Vec) {
	enter, leave, face := 0., none, -1
	for i, half := range size {
		if d[i] == 0 {
			if math.Abs(o[i]) > half {
				return none, Vec{}
			}
			continue
		}
		near, far := (-half-o[i])/d[i], (half-o[i])/d[i]
		if near > far {
			near, far = far, near
		}
		if near > enter {
			enter, face = near, i
		}
		leave = min(leave, far)
	}
	if face < 0 || enter > leave {
		return none, Vec{}
	}
	var n Vec
	n[face] = -math.Copysign(1, d[face])
	return enter, n
}

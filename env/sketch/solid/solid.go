// Package solid draws bodies in space: shaded balls, rods and boxes on a chequered
// floor, seen by a camera. It casts a ray for each quarter of a pixel, in plain Go,
// and gives pictures in few colours, as a GIF needs them.
package solid

import (
	"image"
	"image/color"
	"math"
)

// Camera looks at a place from a distance. An azimuth of 0 looks along x, one of 90
// along y; an elevation of -90 looks straight down. Both are in degrees.
type Camera struct {
	At                 Vec
	Distance           float64
	Azimuth, Elevation float64
}

// Painter draws pictures of one size and palette.
type Painter struct {
	width, height int
	palette       color.Palette
	near          []int16 // entry of the palette by colour, -1 where nobody has asked
	seen          []seen  // by pixel
}

// seen is what a ray meets.
type seen struct {
	colour Vec
	part   int // the same where the picture is smooth; 0 is the sky
}

// New is a painter for bodies of some colours.
func New(width, height int, colours []Vec) *Painter {
	p := &Painter{width: width, height: height, seen: make([]seen, width*height)}
	p.mix(colours)
	return p
}

// view is a camera at work.
type view struct {
	eye, right, up, ahead Vec // ahead is as long as the picture is far away, in pixels
	sun                   Vec // where light comes from
	tile                  float64
	haze                  float64 // how far one sees
	bodies                []target
	middle                Vec // of a ball around all that throws a shadow
	radius                float64
}

// target is a body and the ball around it.
type target struct {
	*Body
	away   Vec // from the eye
	radius float64
	miss   float64 // the least square of what a ray that meets the ball has in common with away
}

func (p *Painter) view(c Camera, bodies []Body) *view {
	az, el := c.Azimuth*math.Pi/180, c.Elevation*math.Pi/180
	v := &view{tile: math.Exp2(math.Floor(math.Log2(c.Distance / 4))), haze: 5 * c.Distance}
	v.ahead = Vec{math.Cos(el) * math.Cos(az), math.Cos(el) * math.Sin(az), math.Sin(el)}
	v.right = Vec{math.Sin(az), -math.Cos(az)}
	v.up = v.right.cross(v.ahead)
	v.eye = c.At.sub(v.ahead.times(c.Distance))
	v.sun = Vec{2: 1}.add(v.right.times(-.45)).add(v.up.times(.15)).sub(v.ahead.times(.3)).unit()
	v.ahead = v.ahead.times(float64(p.height) / 2 / math.Tan(math.Pi/8))
	for i := range bodies {
		b := &bodies[i]
		away, r := b.At.sub(v.eye), b.radius()
		v.bodies = append(v.bodies, target{b, away, r, away.dot(away) - r*r})
	}
	v.surround()
	return v
}

// surround finds the ball around all bodies but planes.
func (v *view) surround() {
	n := 0.
	for _, b := range v.bodies {
		if b.Shape != Plane {
			v.middle, n = v.middle.add(b.At), n+1
		}
	}
	v.middle = v.middle.times(1 / max(1, n))
	for _, b := range v.bodies {
		if b.Shape != Plane {
			away := b.At.sub(v.middle)
			v.radius = max(v.radius, math.Sqrt(away.dot(away))+b.radius)
		}
	}
}

// Draw is a picture. The same camera and bodies give the same one.
func (p *Painter) Draw(c Camera, bodies []Body) *image.Paletted {
	v := p.view(c, bodies)
	for i := range p.seen {
		p.seen[i] = v.trace(p.ray(v, i, .5, .5))
	}
	out := image.NewPaletted(image.Rect(0, 0, p.width, p.height), p.palette)
	for i, s := range p.seen {
		if p.edge(i) {
			s.colour = Vec{}
			for _, at := range [][2]float64{{.25, .25}, {.75, .25}, {.25, .75}, {.75, .75}} {
				s.colour = s.colour.add(v.trace(p.ray(v, i, at[0], at[1])).colour.times(.25))
			}
		}
		out.Pix[i] = p.nearest(s.colour)
	}
	return out
}

// ray is the direction of a place in pixel i.
func (p *Painter) ray(v *view, i int, dx, dy float64) Vec {
	x, y := float64(i%p.width)+dx-float64(p.width)/2, float64(p.height)/2-float64(i/p.width)-dy
	return v.ahead.add(v.right.times(x)).add(v.up.times(y)).unit()
}

// edge reports whether a pixel shows something else than one beside it.
func (p *Painter) edge(i int) bool {
	part, x := p.seen[i].part, i%p.width
	return x > 0 && p.seen[i-1].part != part || x < p.width-1 && p.seen[i+1].part != part ||
		i >= p.width && p.seen[i-p.width].part != part || i+p.width < len(p.seen) && p.seen[i+p.width].part != part
}

// trace is what a ray from the eye meets first.
func (v *view) trace(ray Vec) seen {
	far, at, normal := none, -1, Vec{}
	for i := range v.bodies {
		b := &v.bodies[i]
		if along := b.away.dot(ray); along*along < b.miss {
			continue
		}
		if x, n := b.hit(v.eye, ray); x < far {
			far, at, normal = x, i, n
		}
	}
	if at < 0 {
		return seen{colour: sky(ray)}
	}
	b := v.bodies[at].Body
	if b.Shape != Plane {
		return seen{v.surface(b, normal, ray), 4 * (at + 1)}
	}
	colour, look := v.floor(b, v.eye.add(ray.times(far)), far)
	return seen{colour, 4*(at+1) + look}
}

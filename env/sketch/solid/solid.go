// Package solid draws bodies in space: shaded balls, rods and boxes on a chequered
// floor, seen by a camera. It casts a ray for each quarter of a pixel, in plain Go,
// and gives pictures in few colours, as a GIF needs them.
package solid

import (
	"image"
	"image/color"
	"math"
	"runtime"
	"sync"
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
	near          []uint8 // entry of the palette by colour, in five bits each of red, green and blue
	seen          []seen  // colour and part that each pixel shows
}

// seen is the first point that a ray meets.
type seen struct {
	colour Vec
	part   int // the same where the picture is smooth; 0 is the sky
}

// New returns a painter for bodies of some colours.
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
	floors, bodies        []target
	all                   ball // around all bodies
}

// target is a body and the ball around it.
type target struct {
	*Body
	ball
}

// ball surrounds a body. Rays are tried on it first, and most miss it.
type ball struct {
	middle, away Vec // away is from the eye
	radius       float64
	least        float64 // square of how far along a ray comes by that touches it
}

func (v *view) ball(middle Vec, radius float64) ball {
	away := middle.sub(v.eye)
	return ball{middle, away, radius, away.dot(away) - radius*radius}
}

// seen reports whether a ray from the eye meets it.
func (b *ball) seen(ray Vec) bool {
	along := b.away.dot(ray)
	return along*along >= b.least
}

// shades reports whether it is between a place and the sun.
func (b *ball) shades(at, sun Vec) bool {
	away := b.middle.sub(at)
	along := away.dot(sun)
	return along > -b.radius && away.dot(away)-along*along <= b.radius*b.radius
}

func (p *Painter) view(c Camera, bodies []Body) *view {
	az, el := c.Azimuth*math.Pi/180, c.Elevation*math.Pi/180
	v := &view{tile: math.Exp2(math.Floor(math.Log2(c.Distance / 4))), haze: 3 * c.Distance}
	v.ahead = Vec{math.Cos(el) * math.Cos(az), math.Cos(el) * math.Sin(az), math.Sin(el)}
	v.right = Vec{math.Sin(az), -math.Cos(az)}
	v.up = v.right.cross(v.ahead)
	v.eye = c.At.sub(v.ahead.times(c.Distance))
	v.sun = Vec{2: 1}.add(v.right.times(-.45)).add(v.up.times(.15)).sub(v.ahead.times(.3)).unit()
	v.ahead = v.ahead.times(float64(p.height) / 2 / math.Tan(math.Pi/8))
	for i := range bodies {
		b := &bodies[i]
		if b.Shape == Plane {
			v.floors = append(v.floors, target{Body: b})
		} else {
			v.bodies = append(v.bodies, target{b, v.ball(b.At, b.extent())})
		}
	}
	v.surround()
	return v
}

// surround finds the ball around all bodies.
func (v *view) surround() {
	var middle Vec
	for _, b := range v.bodies {
		middle = middle.add(b.At.times(1 / float64(len(v.bodies))))
	}
	radius := 0.
	for _, b := range v.bodies {
		away := b.At.sub(middle)
		radius = max(radius, math.Sqrt(away.dot(away))+b.radius)
	}
	v.all = v.ball(middle, radius)
}

// Draw returns a picture. The same camera and bodies give the same one.
func (p *Painter) Draw(c Camera, bodies []Body) *image.Paletted {
	v := p.view(c, bodies)
	each(len(p.seen), func(i int) { p.seen[i] = v.trace(p.ray(v, i, .5, .5)) })
	out := image.NewPaletted(image.Rect(0, 0, p.width, p.height), p.palette)
	each(len(p.seen), func(i int) {
		colour := p.seen[i].colour
		if p.edge(i) {
			colour = Vec{}
			for _, at := range [...][2]float64{{.25, .25}, {.75, .25}, {.25, .75}, {.75, .75}} {
				colour = colour.add(v.trace(p.ray(v, i, at[0], at[1])).colour.times(.25))
			}
		}
		out.Pix[i] = p.near[cell(colour)]
	})
	return out
}

// each does something for all of n pixels, on all processors.
func each(n int, do func(i int)) {
	var all sync.WaitGroup
	parts := runtime.GOMAXPROCS(0)
	for k := range parts {
		all.Go(func() {
			for i := n * k / parts; i < n*(k+1)/parts; i++ {
				do(i)
			}
		})
	}
	all.Wait()
}

// ray returns the direction of a place in pixel i.
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

// trace returns what a ray from the eye meets first.
func (v *view) trace(ray Vec) seen {
	far, at, normal := none, -1, Vec{}
	if v.all.seen(ray) {
		for i := range v.bodies {
			b := &v.bodies[i]
			if !b.seen(ray) {
				continue
			}
			if x, n := b.hit(v.eye, ray); x < far {
				far, at, normal = x, i, n
			}
		}
	}
	floor := -1
	for i := range v.floors {
		if x, _ := v.floors[i].hit(v.eye, ray); x < far {
			far, floor = x, i
		}
	}
	switch {
	case floor >= 0:
		colour, look := v.floor(v.floors[floor].Body, v.eye.add(ray.times(far)), far)
		return seen{colour, -1 - 4*floor - look}
	case at >= 0:
		return seen{v.surface(v.bodies[at].Body, normal, ray), 1 + at}
	}
	return seen{colour: sky(ray)}
}

package solid

import (
	"image/color"
	"math"
	"slices"
)

// The sky, and how much light there is where none falls.
var (
	horizon = Vec{.93, .95, .97}
	zenith  = Vec{.55, .70, .88}
)

const (
	ambient = .45
	dark    = .80 // of every other tile
	shadow  = .62
)

func sky(ray Vec) Vec { return horizon.mix(zenith, min(1, max(0, 1.6*ray[2]))) }

// surface is the colour of a body where its normal is given.
func (v *view) surface(b *Body, normal, ray Vec) Vec {
	lit := normal.dot(v.sun)
	c := b.Colour.times(ambient + (1.1-ambient)*max(0, lit))
	if mirrored := v.sun.sub(normal.times(2 * lit)).dot(ray); lit > 0 && mirrored > 0 {
		c = c.mix(Vec{1, 1, 1}, .25*math.Pow(mirrored, 24))
	}
	return c
}

// floor is the colour of a plane at a place: tiles, shadows, and haze. look tells
// apart what has an edge between.
func (v *view) floor(b *Body, at Vec, far float64) (c Vec, look int) {
	p := b.Turn.from(at.sub(b.At))
	c = b.Colour
	if int(math.Floor(p[0]/v.tile)+math.Floor(p[1]/v.tile))%2 != 0 {
		c, look = c.times(dark), 1
	}
	if v.shaded(at) {
		c, look = c.times(shadow), look+2
	}
	far *= far / (v.haze * v.haze)
	return c.mix(horizon, far/(1+far)), look
}

// shaded reports whether something is between a place and the sun.
func (v *view) shaded(at Vec) bool {
	if !v.near(at, v.middle, v.radius) {
		return false
	}
	for i := range v.bodies {
		b := &v.bodies[i]
		if b.Shape == Plane || !v.near(at, b.At, b.radius) {
			continue
		}
		if far, _ := b.hit(at, v.sun); far < none {
			return true
		}
	}
	return false
}

// near reports whether the way from a place to the sun passes through a ball.
func (v *view) near(at, middle Vec, radius float64) bool {
	away := middle.sub(at)
	along := away.dot(v.sun)
	return along > -radius && away.dot(away)-along*along <= radius*radius
}

// The palette's limits: GIF's, and what a colour needs to look smooth.
const (
	most  = 256
	steps = 32
)

// mix makes the palette: for each colour its way from shadow to light and into the
// haze, and the sky.
func (p *Painter) mix(colours []Vec) {
	var all []Vec
	for _, c := range colours {
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	p.ramp(horizon, zenith, steps/2)
	each := max(2, min(2*steps, (most-len(p.palette))/max(1, len(all))))
	for _, c := range all {
		if len(p.palette)+each > most {
			break // more colours than a palette has room for are drawn by those nearest to them
		}
		p.ramp(c.times(ambient*dark), c.times(1.1), each-each/4)
		p.ramp(c.times(dark), horizon, each/4)
	}
	p.near = slices.Repeat([]int16{-1}, 1<<15)
}

// ramp adds colours between two.
func (p *Painter) ramp(a, b Vec, n int) {
	for i := range n {
		r, g, b := rgb(a.mix(b, float64(i)/float64(max(1, n-1))))
		p.palette = append(p.palette, color.RGBA{r, g, b, 255})
	}
}

func rgb(c Vec) (r, g, b uint8) {
	part := func(x float64) uint8 { return uint8(math.Round(255 * min(1, max(0, x)))) }
	return part(c[0]), part(c[1]), part(c[2])
}

// nearest is the palette's entry for a colour. To look for it takes long, and most
// colours are asked for again.
func (p *Painter) nearest(c Vec) uint8 {
	r, g, b := rgb(c)
	cell := &p.near[int(r>>3)<<10|int(g>>3)<<5|int(b>>3)]
	if *cell < 0 {
		*cell = int16(p.palette.Index(color.RGBA{r&^7 | 4, g&^7 | 4, b&^7 | 4, 255}))
	}
	return uint8(*cell)
}

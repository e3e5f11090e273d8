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
	dark    = .80 // brightness of every other tile
	shadow  = .62
)

func sky(ray Vec) Vec { return horizon.mix(zenith, min(1, max(0, 1.6*ray[2]))) }

// surface returns the colour of a body where its normal is given.
func (v *view) surface(b *Body, normal, ray Vec) Vec {
	lit := normal.dot(v.sun)
	c := b.Colour.times(ambient + (1.1-ambient)*max(0, lit))
	if mirrored := v.sun.sub(normal.times(2 * lit)).dot(ray); lit > 0 && mirrored > 0 {
		c = c.mix(Vec{1, 1, 1}, .25*math.Pow(mirrored, 24))
	}
	return c
}

// blurred is how thick the haze is behind which tiles are no longer seen.
const blurred = 6

// floor returns the colour of a plane at a place: tiles, shadows, and haze. look tells
// apart what has an edge between.
func (v *view) floor(b *Body, at Vec, far float64) (c Vec, look int) {
	p, haze := b.Turn.from(at.sub(b.At)), far*far/(v.haze*v.haze)
	c = b.Colour
	switch {
	case haze > blurred:
		c = c.times((1 + dark) / 2)
	case int(math.Floor(p[0]/v.tile)+math.Floor(p[1]/v.tile))%2 != 0:
		c, look = c.times(dark), 1
	}
	if v.shaded(at) {
		c, look = c.times(shadow), look+2
	}
	return c.mix(horizon, haze/(1+haze)), look
}

// shaded reports whether something is between a place and the sun.
func (v *view) shaded(at Vec) bool {
	if !v.all.shades(at, v.sun) {
		return false
	}
	for i := range v.bodies {
		b := &v.bodies[i]
		if !b.shades(at, v.sun) {
			continue
		}
		if far, _ := b.hit(at, v.sun); far < none {
			return true
		}
	}
	return false
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
	p.index()
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

// cell returns a colour in five bits each.
func cell(c Vec) int {
	r, g, b := rgb(c)
	return int(r>>3)<<10 | int(g>>3)<<5 | int(b>>3)
}

// index finds the palette's entry for every cell: to look for it pixel by pixel
// takes longer than to draw them.
func (p *Painter) index() {
	p.near = make([]uint8, 1<<15)
	for i := range p.near {
		r, g, b := i>>10<<3|4, i>>5&31<<3|4, i&31<<3|4
		least := math.MaxInt
		for j, x := range p.palette {
			c := x.(color.RGBA)
			dr, dg, db := int(c.R)-r, int(c.G)-g, int(c.B)-b
			if d := dr*dr + dg*dg + db*db; d < least {
				least, p.near[i] = d, uint8(j)
			}
		}
	}
}

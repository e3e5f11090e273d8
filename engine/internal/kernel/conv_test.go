package kernel

import (
	"fmt"
	"testing"
)

var convCases = []struct {
	Conv2D
	out int
}{
	{Conv2D{H: 20, W: 20, C: 4, KH: 8, KW: 8, OH: 4, OW: 4, SH: 4, SW: 4}, 32},
	{Conv2D{H: 9, W: 9, C: 8, KH: 3, KW: 3, OH: 7, OW: 7}, 5},
	{Conv2D{H: 6, W: 7, C: 3, KH: 3, KW: 3, OH: 6, OW: 7, Top: 1, Left: 1}, 17},
	{Conv2D{H: 11, W: 11, C: 2, KH: 3, KW: 2, OH: 4, OW: 6, SH: 2, SW: 2, DH: 2, DW: 2, Left: 1}, 3},
	{Conv2D{H: 40, W: 40, C: 8, KH: 5, KW: 5, OH: 36, OW: 36}, 2},
}

// at reads a padded image.
func (c *Conv2D) pixel(x []float32, p, a, b, ch int) (v float32, at int) {
	i := p/c.OW*max(c.SH, 1) - c.Top + a*max(c.DH, 1)
	j := p%c.OW*max(c.SW, 1) - c.Left + b*max(c.DW, 1)
	if i < 0 || i >= c.H || j < 0 || j >= c.W {
		return 0, -1
	}
	at = (i*c.W+j)*c.C + ch
	return x[at], at
}

// each calls f with every product of the convolution, in the order of the chains.
func (c *Conv2D) each(out int, f func(p, k, o, a, b, ch int)) {
	for p := range c.Pixels() {
		k := 0
		for a := range c.KH {
			for b := range c.KW {
				for ch := range c.C {
					for o := range out {
						f(p, k, o, a, b, ch)
					}
					k++
				}
			}
		}
	}
}

func TestConv(t *testing.T) {
	for _, tc := range convCases {
		c, out := tc.Conv2D, tc.out
		r := rng(20)
		alloc := func(n int) []float32 {
			x := guarded[float32](t, n, false)
			normals(r, x)
			return x
		}
		x, w, dy, bias := alloc(c.image()), alloc(c.Patch()*out), alloc(c.Pixels()*out), alloc(out)
		y, dw, dx := make([]float32, c.Pixels()*out), make([]float32, c.Patch()*out), make([]float32, c.image())
		cols := make([]float32, c.Pixels()*c.Patch())
		c.each(out, func(p, k, o, a, b, ch int) {
			v, _ := c.pixel(x, p, a, b, ch)
			y[p*out+o] = fma32(v, w[k*out+o], y[p*out+o])
			dw[k*out+o] = fma32(v, dy[p*out+o], dw[k*out+o])
			cols[p*c.Patch()+k] = fma32(dy[p*out+o], w[k*out+o], cols[p*c.Patch()+k])
		})
		c.each(1, func(p, k, _, a, b, ch int) {
			if _, at := c.pixel(x, p, a, b, ch); at >= 0 {
				dx[at] += cols[p*c.Patch()+k]
			}
		})
		Row32(Add, y, y, bias, c.Pixels(), out, nil)
		Unary32(Relu, y, y)
		scratch := guarded[float32](t, c.Scratch(out), false)
		levels(t, func(l Level) {
			gy, gw, gx := alloc(len(y)), alloc(len(dw)), alloc(len(dx))
			err := c.Forward(gy, x, w, bias, Relu, out, scratch)
			if err == nil {
				err = c.FilterGrad(gw, x, dy, out, 0, 3, false, scratch)
			}
			if err == nil {
				err = c.FilterGrad(gw, x, dy, out, 3, c.Patch(), false, scratch)
			}
			if err == nil {
				err = c.InputGrad(gx, dy, w, out, scratch)
			}
			for _, e := range []error{err, diff(y, gy), diff(dw, gw), diff(dx, gx)} {
				if e != nil {
					t.Fatalf("%v %+v: %v", l, tc, e)
				}
			}
		})
	}
}

func TestConvCheck(t *testing.T) {
	c := Conv2D{H: 3, W: 3, C: 1, KH: 2, KW: 2, OH: 2, OW: 2}
	x := make([]float32, 1<<17)
	for name, err := range map[string]error{
		"short image":   c.Forward(x, x[:8], x, nil, Identity, 1, x),
		"short output":  c.Forward(x[:3], x, x, nil, Identity, 1, x),
		"short filters": c.Forward(x, x, x[:3], nil, Identity, 1, x),
		"short scratch": c.InputGrad(x, x, x, 1, nil),
		"no outputs":    c.FilterGrad(x, x, x, 0, 0, 4, false, x),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// BenchmarkConv has the three layers of the Nature CNN, one image.
func BenchmarkConv(b *testing.B) {
	for _, l := range []struct {
		Conv2D
		out int
	}{
		{Conv2D{H: 84, W: 84, C: 4, KH: 8, KW: 8, OH: 20, OW: 20, SH: 4, SW: 4}, 32},
		{Conv2D{H: 20, W: 20, C: 32, KH: 4, KW: 4, OH: 9, OW: 9, SH: 2, SW: 2}, 64},
		{Conv2D{H: 9, W: 9, C: 64, KH: 3, KW: 3, OH: 7, OW: 7}, 64},
	} {
		c, out := l.Conv2D, l.out
		x, y, w := make([]float32, c.image()), make([]float32, c.Pixels()*out), make([]float32, c.Patch()*out)
		scratch := make([]float32, c.Scratch(out))
		normals(rng(1), x)
		normals(rng(2), w)
		for name, f := range map[string]func() error{
			"forward": func() error { return c.Forward(y, x, w, nil, Relu, out, scratch) },
			"filters": func() error { return c.FilterGrad(w, x, y, out, 0, c.Patch(), false, scratch) },
			"input":   func() error { return c.InputGrad(x, y, w, out, scratch) },
		} {
			b.Run(fmt.Sprintf("%dx%dx%d/%s", c.KH, c.KW, c.C, name), func(b *testing.B) {
				used := cpuSeconds()
				for b.Loop() {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
				used = cpuSeconds() - used
				b.ReportMetric(2*float64(c.Pixels()*c.Patch()*out)*float64(b.N)/used*1e-9, "GFLOP/cpu-s")
				b.ReportAllocs()
			})
		}
	}
}

package kernel

import "fmt"

// Conv2D is the geometry of a convolution over images stored height x width x channels, with filters stored
// KH x KW x C x out. Strides and dilations of zero mean one. Rows and columns of zeros are added around the image as
// Top and Left say; OH and OW say how much is needed at the other ends.
//
// An output is one chain over (filter row, filter column, channel), zeros of the padding included; a filter gradient
// is one chain over (image, output row, output column); an input gradient sums the products that reach it in the
// order of (output row, output column, filter row, filter column).
type Conv2D struct {
	H, W, C   int
	KH, KW    int
	OH, OW    int
	SH, SW    int
	DH, DW    int
	Top, Left int
}

// Patch is how many values one output pixel sees: KH*KW*C.
func (c *Conv2D) Patch() int { return c.KH * c.KW * c.C }

// Pixels is how many output pixels an image has.
func (c *Conv2D) Pixels() int { return c.OH * c.OW }

func (c *Conv2D) image() int { return c.H * c.W * c.C }

// convBlock is how many values of patches are made before they are multiplied: they stay in the second cache.
const convBlock = 1 << 15

// block is how many pixels are done at a time.
func (c *Conv2D) block() int { return max(16, convBlock/max(c.Patch(), 1)) }

// Scratch is how many values of scratch the convolutions need, for out output channels.
func (c *Conv2D) Scratch(out int) int {
	g := Gemm32{M: c.block(), N: max(out, c.Patch()), K: max(c.Patch(), c.block(), out)}
	return min(c.block(), max(c.Pixels(), 1))*c.Patch() + g.Scratch()
}

func (c *Conv2D) check(x, y, w, scratch, out int) error {
	for _, v := range []int{c.H, c.W, c.C, c.KH, c.KW, c.OH, c.OW, out} {
		if v <= 0 {
			return fmt.Errorf("convolution %+v with %d outputs has an empty side", *c, out)
		}
	}
	switch {
	case x < c.image():
		return fmt.Errorf("image of %dx%dx%d has only %d values", c.H, c.W, c.C, x)
	case y < c.Pixels()*out:
		return fmt.Errorf("output of %dx%dx%d has only %d values", c.OH, c.OW, out, y)
	case w < c.Patch()*out:
		return fmt.Errorf("filters of %dx%dx%dx%d have only %d values", c.KH, c.KW, c.C, out, w)
	case scratch < c.Scratch(out):
		return fmt.Errorf("scratch has %d values, needs %d", scratch, c.Scratch(out))
	}
	return nil
}

// Forward writes act(conv(x, w) + bias) of one image to y, OH x OW x out; bias may be nil.
func (c *Conv2D) Forward(y, x, w, bias []float32, act UnaryOp, out int, scratch []float32) error {
	if err := c.check(len(x), len(y), len(w), len(scratch), out); err != nil {
		return err
	}
	k, n := c.Patch(), min(c.block(), c.Pixels())
	cols, rest := scratch[:n*k], scratch[n*k:]
	for p := 0; p < c.Pixels(); p += n {
		m := min(n, c.Pixels()-p)
		c.Im2col(cols, x, p, p+m)
		g := Gemm32{M: m, N: out, K: k, A: cols, LDA: k, B: w, LDB: out, C: y[p*out:], LDC: out, Bias: bias, Act: act}
		if err := g.Run(rest); err != nil {
			return err
		}
	}
	return nil
}

// FilterGrad writes to dw the gradient of the filters by one image x and the gradient dy of its output; with acc the
// chains go on from what dw holds, which is how a batch is summed in order. Rows [r0,r1) of dw, as a Patch x out
// matrix, are computed, so that callers can share them out.
func (c *Conv2D) FilterGrad(dw, x, dy []float32, out, r0, r1 int, acc bool, scratch []float32) error {
	if err := c.check(len(x), len(dy), len(dw), len(scratch), out); err != nil {
		return err
	}
	k, n := c.Patch(), min(c.block(), c.Pixels())
	cols, rest := scratch[:n*k], scratch[n*k:]
	for p := 0; p < c.Pixels(); p += n {
		m := min(n, c.Pixels()-p)
		c.Im2col(cols, x, p, p+m)
		g := Gemm32{M: k, N: out, K: m, A: cols, LDA: k, TransA: true, B: dy[p*out:], LDB: out, C: dw, LDC: out, Acc: acc || p > 0}
		if err := g.RunRange(r0, r1, 0, out, rest); err != nil {
			return err
		}
	}
	return nil
}

// InputGrad writes to dx the gradient of one image by the gradient dy of its output.
func (c *Conv2D) InputGrad(dx, dy, w []float32, out int, scratch []float32) error {
	if err := c.check(len(dx), len(dy), len(w), len(scratch), out); err != nil {
		return err
	}
	k, n := c.Patch(), min(c.block(), c.Pixels())
	cols, rest := scratch[:n*k], scratch[n*k:]
	clear(dx[:c.image()])
	for p := 0; p < c.Pixels(); p += n {
		m := min(n, c.Pixels()-p)
		g := Gemm32{M: m, N: k, K: out, A: dy[p*out:], LDA: out, B: w, LDB: out, TransB: true, C: cols, LDC: k}
		if err := g.Run(rest); err != nil {
			return err
		}
		c.Col2im(dx, cols, p, p+m)
	}
	return nil
}

// Im2col writes the patches of output pixels [p0,p1) to dst, one row of Patch values each.
func (c *Conv2D) Im2col(dst, x []float32, p0, p1 int) {
	k := c.Patch()
	if p0 < 0 || p1 > c.Pixels() || len(x) < c.image() || len(dst) < (p1-p0)*k {
		return
	}
	for p := p0; p < p1; p++ {
		patch := dst[(p-p0)*k : (p-p0+1)*k]
		if at, ok := c.inside(p); ok {
			cur.copyRows(patch, c.KW*c.C, x[at:], c.W*c.C, c.KH, c.KW*c.C)
			continue
		}
		c.edge(p, func(i, at int) {
			if d := patch[i : i+c.C]; at < 0 {
				clear(d)
			} else {
				copy(d, x[at:])
			}
		})
	}
}

// Col2im adds the patches of output pixels [p0,p1) to the image dst, in order.
func (c *Conv2D) Col2im(dst, cols []float32, p0, p1 int) {
	k := c.Patch()
	if p0 < 0 || p1 > c.Pixels() || len(dst) < c.image() || len(cols) < (p1-p0)*k {
		return
	}
	for p := p0; p < p1; p++ {
		patch := cols[(p-p0)*k : (p-p0+1)*k]
		if at, ok := c.inside(p); ok {
			cur.addRows(dst[at:], c.W*c.C, patch, c.KW*c.C, c.KH, c.KW*c.C)
			continue
		}
		c.edge(p, func(i, at int) {
			if at >= 0 {
				cur.addRows(dst[at:], c.C, patch[i:], c.C, 1, c.C)
			}
		})
	}
}

// corner is where in the image the patch of a pixel begins; it may lie in the padding.
func (c *Conv2D) corner(p int) (i, j int) {
	return p/c.OW*max(c.SH, 1) - c.Top, p%c.OW*max(c.SW, 1) - c.Left
}

// inside says whether a patch lies in the image without gaps, and where it begins.
func (c *Conv2D) inside(p int) (at int, ok bool) {
	i, j := c.corner(p)
	ok = i >= 0 && j >= 0 && i+c.KH <= c.H && j+c.KW <= c.W && c.DH <= 1 && c.DW <= 1
	return (i*c.W + j) * c.C, ok
}

// edge walks any patch filter place by filter place: i is the place in the patch, at that in the image or -1 in the
// padding.
func (c *Conv2D) edge(p int, f func(i, at int)) {
	i0, j0 := c.corner(p)
	n := 0
	for a := range c.KH {
		for b := range c.KW {
			i, j, at := i0+a*max(c.DH, 1), j0+b*max(c.DW, 1), -1
			if i >= 0 && i < c.H && j >= 0 && j < c.W {
				at = (i*c.W + j) * c.C
			}
			f(n, at)
			n += c.C
		}
	}
}

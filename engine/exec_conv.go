package engine

import (
	"fmt"
	"unsafe"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/kernel"
	"github.com/weft-rl/weft/engine/internal/loops"
	"github.com/weft-rl/weft/engine/ir"
)

// conv is a convolution of [batch, spatial..., channels] with [spatial..., channels, features], as
// products of patch matrices: each output position is a row of the patch under the window, written
// out, times the kernel.
//
// Groups of channels and of the batch are separate convolutions whose features lie side by side.
type conv struct {
	attr            ir.Conv
	in, window, out []int // spatial sizes
	channels        int   // channels of the input
	perGroup        int   // channels a patch reads
	features        int   // channels of the output
	batch           int   // images of the output
	groups          int
	patch           int // length of a row of patches
	positions       int // spatial positions of the output
	inStride        []int
	size            int  // bytes of an element
	planes          bool // the last two spatial axes can be copied as matrices where the window is inside the image
}

func convOf(n *ir.Node) *conv {
	a := n.Attr.(ir.Conv)
	in, k, out := n.Inputs[0].Shape.Dimensions, n.Inputs[1].Shape.Dimensions, n.Outputs[0].Shape.Dimensions
	s := len(in) - 2
	c := &conv{attr: a, in: in[1 : 1+s], window: k[:s], out: out[1 : 1+s], channels: in[1+s], perGroup: k[s],
		features: out[1+s], batch: out[0], groups: a.ChannelGroups * a.BatchGroups, size: n.Inputs[0].DType().Size()}
	c.patch, c.positions = product(c.window)*c.perGroup, product(c.out)
	c.inStride = rowMajor(in)
	c.planes = s >= 2 && c.size == 4 && c.perGroup == c.channels && n.Inputs[0].Size() > 0
	for i := max(0, s-2); i < s; i++ {
		c.planes = c.planes && a.InputDilations[i] == 1 && a.KernelDilations[i] == 1
	}
	return c
}

// patchRows returns how many rows of patches are made at a time: about the size of the second-level
// cache, all told.
func (c *conv) patchRows() int {
	return min(max(16, (1<<17)/max(c.patch*c.size, 1)&^15), max(1, c.batch*c.positions))
}

func convGeneral(l *lowering, n *ir.Node) (func(fr *frame), error) {
	c := convOf(n)
	work, err := c.rows(l, n, 0)
	if err != nil {
		return nil, err
	}
	total, grain := c.batch*c.positions, c.patchRows()
	return func(fr *frame) { fr.workers.run(fr, work, total, grain) }, nil
}

// rows returns the job that computes output positions lo to hi, with what lies beyond the first
// used bytes of the worker's scratch.
func (c *conv) rows(l *lowering, n *ir.Node, used int) (job, error) {
	t, ok := loops.Of(n.Inputs[0].DType())
	if !ok {
		return nil, notImplemented(n)
	}
	rows := c.patchRows()
	patches := (rows*c.patch*c.size + alignment - 1) &^ (alignment - 1)
	in, k, out := l.at(n.Inputs[0]), l.at(n.Inputs[1]), l.at(n.Outputs[0])
	perGroup := c.features / c.groups
	multiply := func(_, p, b, cc unsafe.Pointer, m int) {
		t.Product(m, perGroup, c.patch, p, c.patch, 1, b, c.features, 1, cc, c.features)
	}
	need := patches
	if n.Inputs[0].DType() == dtypes.Float32 {
		multiply, need = c.product32(rows, patches)
	}
	l.prog.scratch = max(l.prog.scratch, used+need)
	return func(fr *frame, lo, hi, worker int) {
		buf := unsafe.Add(fr.scratch[worker], used)
		rest := unsafe.Add(buf, patches)
		for g := range c.groups {
			for r := lo; r < hi; r += rows {
				m := min(rows, hi-r)
				for i := range m {
					c.row(unsafe.Add(buf, i*c.patch*c.size), fr.at(in), g, r+i)
				}
				multiply(rest, buf, unsafe.Add(fr.at(k), g*perGroup*c.size),
					unsafe.Add(fr.at(out), (r*c.features+g*perGroup)*c.size), m)
			}
		}
	}, nil
}

// product32 returns the function that multiplies rows of patches with the kernel, and how much
// scratch it and the patches before it take.
func (c *conv) product32(rows, patches int) (func(rest, p, b, cc unsafe.Pointer, m int), int) {
	n := c.features / c.groups
	shape := kernel.Gemm32{M: rows, N: n, K: c.patch, LDA: c.patch, LDB: c.features, LDC: c.features}
	need := shape.Scratch()
	return func(rest, p, b, cc unsafe.Pointer, m int) {
		g := kernel.Gemm32{M: m, N: n, K: c.patch, LDA: c.patch, LDB: c.features, LDC: c.features,
			A: unsafe.Slice((*float32)(p), m*c.patch),
			B: unsafe.Slice((*float32)(b), max(0, (c.patch-1)*c.features+n)),
			C: unsafe.Slice((*float32)(cc), max(0, (m-1)*c.features+n))}
		if err := g.Run(unsafe.Slice((*float32)(rest), need)); err != nil {
			panic(fmt.Sprintf("engine: a planned convolution does not fit: %v", err))
		}
	}, patches + need*4
}

// row writes out the patch of output position r (batch, then spatial) for group g.
func (c *conv) row(dst, in unsafe.Pointer, g, r int) {
	image, pos := r/c.positions, r%c.positions
	channel := 0
	if c.attr.BatchGroups > 1 {
		image += g * c.batch
	} else {
		channel = g * c.perGroup
	}
	c.axis(0, dst, in, pos, c.positions, image*c.inStride[0]+channel, c.patch)
}

// axis writes the part of a patch under the window along spatial axis i and those after it: length
// elements at dst. pos counts positions within the axes left, which have count.
func (c *conv) axis(i int, dst, in unsafe.Pointer, pos, count, off, length int) {
	if i == len(c.window) {
		copy(unsafe.Slice((*byte)(dst), c.perGroup*c.size), unsafe.Slice((*byte)(unsafe.Add(in, off*c.size)), c.perGroup*c.size))
		return
	}
	count /= c.out[i]
	at := pos/count*c.attr.Strides[i] - c.attr.Paddings[i][0]
	if c.planes && i == len(c.window)-2 && c.plane(i, dst, in, at, pos%count, off, length) {
		return
	}
	part := length / c.window[i]
	dil := c.attr.InputDilations[i]
	if i == len(c.window)-1 && dil == 1 && c.attr.KernelDilations[i] == 1 && c.perGroup == c.channels {
		c.run(i, dst, in, at, off, length)
		return
	}
	for w := range c.window[i] {
		x := at + w*c.attr.KernelDilations[i]
		p := unsafe.Add(dst, w*part*c.size)
		if x < 0 || x%dil != 0 || x/dil >= c.in[i] {
			clear(unsafe.Slice((*byte)(p), part*c.size))
			continue
		}
		c.axis(i+1, p, in, pos%count, count, off+x/dil*c.inStride[1+i], part)
	}
}

// plane copies what lies under the window along the last two spatial axes, unless it sticks out of
// the image.
func (c *conv) plane(i int, dst, in unsafe.Pointer, at, col, off, length int) bool {
	left := col*c.attr.Strides[i+1] - c.attr.Paddings[i+1][0]
	if at < 0 || at+c.window[i] > c.in[i] || left < 0 || left+c.window[i+1] > c.in[i+1] {
		return false
	}
	m, n, row := c.window[i], c.window[i+1]*c.channels, c.in[i+1]*c.channels
	src := unsafe.Add(in, (off+at*row+left*c.channels)*4)
	kernel.CopyRows32(unsafe.Slice((*float32)(dst), length), n, unsafe.Slice((*float32)(src), (m-1)*row+n), row, m, n)
	return true
}

// run copies a stretch of whole pixels along the last spatial axis in one go.
func (c *conv) run(i int, dst, in unsafe.Pointer, at, off, length int) {
	lo, hi := min(max(0, -at), c.window[i]), min(c.window[i], max(0, c.in[i]-at))
	pixel := c.channels * c.size
	out := unsafe.Slice((*byte)(dst), length*c.size)
	if lo >= hi {
		clear(out)
		return
	}
	clear(out[:lo*pixel])
	copy(out[lo*pixel:hi*pixel], unsafe.Slice((*byte)(unsafe.Add(in, (off+(at+lo)*c.channels)*c.size)), (hi-lo)*pixel))
	clear(out[hi*pixel:])
}

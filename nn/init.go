package nn

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/rl"
)

// Init is the initial value of a weight of the given dimensions, in row-major
// order. The key is the weight's own.
type Init func(k rl.Key, dims []int) []float64

// Param returns the weight called name in sc, made on first use. Its initial value
// depends on the seed and its path alone.
func Param(c *rl.Ctx, sc *model.Scope, name string, init Init, dims ...int) *Node {
	key := c.InitKey(model.JoinPath(sc.Scope(), name))
	// The work is left to the initialiser, which GoMLX calls once, and not done
	// whenever a graph is traced.
	initialiser := func(g *Graph, shape shapes.Shape) *Node {
		return ConstTensor(g, tensors.FromFlatDataAndDimensions(float32s(init(key, dims)), dims...))
	}
	v := sc.WithInitializer(initialiser).VariableWithShape(name, shapes.Make(dtypes.Float32, dims...))
	return v.NodeValue(c.Graph())
}

func float32s(x []float64) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}

// Fill returns x everywhere.
func Fill(x float64) Init {
	return func(_ rl.Key, dims []int) []float64 {
		out := make([]float64, size(dims))
		for i := range out {
			out[i] = x
		}
		return out
	}
}

// Orthogonal returns gain times a matrix drawn uniformly from those with orthonormal
// columns, or orthonormal rows where there are more columns than rows (Saxe et
// al., 2014). All axes but the last are taken together as rows, so that a
// convolution's kernel has one column for each of its output channels.
func Orthogonal(gain float64) Init {
	return func(k rl.Key, dims []int) []float64 {
		cols := dims[len(dims)-1]
		return orthogonal(k, size(dims)/max(1, cols), cols, gain)
	}
}

// orthogonalBlocks returns n matrices, each orthogonal by itself, side by side: the
// kernels of a recurrent cell's gates.
func orthogonalBlocks(n int) Init {
	return func(k rl.Key, dims []int) []float64 {
		rows, cols := dims[0], dims[1]/n
		out := make([]float64, rows*dims[1])
		for b := range n {
			q := orthogonal(k.Fold(uint64(b)), rows, cols, 1)
			for i := range rows {
				copy(out[i*dims[1]+b*cols:], q[i*cols:(i+1)*cols])
			}
		}
		return out
	}
}

// orthogonal returns a matrix, row-major. Gram-Schmidt gives the factor R of the normal matrix
// a positive diagonal, which is what makes Q uniformly distributed: a
// factorisation with other signs would have to be corrected (Mezzadri, 2007).
func orthogonal(k rl.Key, rows, cols int, gain float64) []float64 {
	vectors := make([][]float64, min(rows, cols))
	for i := range vectors {
		v := normals(k, i, max(rows, cols))
		for _, q := range vectors[:i] {
			subtract(v, q, dot(q, v))
		}
		scale(v, 1/math.Sqrt(dot(v, v)))
		vectors[i] = v
	}
	out := make([]float64, rows*cols)
	for i := range rows {
		for j := range cols {
			if rows < cols {
				out[i*cols+j] = gain * vectors[i][j]
			} else {
				out[i*cols+j] = gain * vectors[j][i]
			}
		}
	}
	return out
}

// normals returns n standard normal numbers of row i of k, by the Box-Muller
// transform of the words of a block, two by two.
func normals(k rl.Key, i, n int) []float64 {
	out := make([]float64, (n+3)/4*4)
	for j := 0; j < n; j += 4 {
		w := k.Bits(i, j/4)
		for l := 0; l < 4; l += 2 {
			r := math.Sqrt(-2 * math.Log(fraction(w[l])))
			sin, cos := math.Sincos(2 * math.Pi * fraction(w[l+1]))
			out[j+l], out[j+l+1] = r*cos, r*sin
		}
	}
	return out[:n]
}

// fraction returns the middle of one of 2^32 equal parts of (0,1).
func fraction(w uint32) float64 { return (float64(w) + .5) / (1 << 32) }

// dot adds up in four strands, because one would wait for every addition.
func dot(a, b []float64) float64 {
	var s [4]float64
	i := 0
	for ; i+4 <= len(a); i += 4 {
		x, y := a[i:i+4:i+4], b[i:i+4:i+4]
		s[0] += x[0] * y[0]
		s[1] += x[1] * y[1]
		s[2] += x[2] * y[2]
		s[3] += x[3] * y[3]
	}
	for ; i < len(a); i++ {
		s[0] += a[i] * b[i]
	}
	return s[0] + s[1] + s[2] + s[3]
}

func subtract(v, q []float64, x float64) {
	for i := range v {
		v[i] -= x * q[i]
	}
}

func scale(v []float64, x float64) {
	for i := range v {
		v[i] *= x
	}
}

func size(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

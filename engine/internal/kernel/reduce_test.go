package kernel

import (
	"math"
	"testing"
)

// byTheBook reduces as the package comment says, lane by lane and block by block.
func byTheBook(op ReduceOp, x []float32) float32 {
	if len(x) <= ReduceBlock {
		return reduceGo(op, x)
	}
	half := 1
	blocks := Blocks(len(x))
	for half*2 < blocks {
		half *= 2
	}
	return op.join(byTheBook(op, x[:half*ReduceBlock]), byTheBook(op, x[half*ReduceBlock:]))
}

func TestReduceEdges(t *testing.T) {
	r := rng(12)
	long := append([]int{ReduceBlock - 1, ReduceBlock, ReduceBlock + 1, 3*ReduceBlock + 5, 7 * ReduceBlock}, edges...)
	for _, n := range long {
		for _, front := range []bool{false, true} {
			x := guarded[float32](t, n, front)
			for _, special := range []bool{false, true} {
				normals(r, x)
				if special && n > 0 {
					x[r.IntN(n)] = hard[r.IntN(len(hard))]
					x[r.IntN(n)] = float32(math.Copysign(0, -1))
				}
				for op := range numReduce {
					want := byTheBook(op, x)
					levels(t, func(l Level) {
						if got := Reduce32(op, x); !sameBits(want, got) {
							t.Fatalf("%v op %d of %d: want %v, got %v", l, op, n, want, got)
						}
						p := make([]float32, Blocks(n))
						for b := range p {
							ReduceBlocks32(op, p, x, b, b+1)
						}
						if got := Tree32(op, p); !sameBits(want, got) {
							t.Fatalf("%v op %d of %d by blocks: want %v, got %v", l, op, n, want, got)
						}
					})
				}
			}
		}
	}
}

func TestReduceZeros(t *testing.T) {
	neg := float32(math.Copysign(0, -1))
	for _, n := range []int{1, 2, 9, 16, 17} {
		x := make([]float32, n)
		fill(x, neg)
		y := append([]float32{0}, x...)
		levels(t, func(l Level) {
			if got := Reduce32(ReduceMax, y); !sameBits(got, 0) {
				t.Errorf("%v: max of zeros is %v", l, got)
			}
			if got := Reduce32(ReduceMin, y); !sameBits(got, neg) {
				t.Errorf("%v: min of zeros is %v", l, got)
			}
			if got := Reduce32(ReduceSum, x); !sameBits(got, 0) {
				t.Errorf("%v: sum of -0 from +0 is %v", l, got)
			}
		})
	}
}

func TestReduceRows(t *testing.T) {
	r := rng(13)
	for _, n := range []int{0, 1, 2, 3, 5, 6, 7, 8, 9, 16, 17, 64, 100, 256, 5000} {
		for _, m := range []int{0, 1, 3, 8, 20, 33} {
			x := guarded[float32](t, m*n, m%2 == 0)
			mixed(r, x)
			dst := guarded[float32](t, m, false)
			for op := range numReduce {
				levels(t, func(l Level) {
					ReduceRows32(op, dst, x, m, n)
					for i := range m {
						if want := byTheBook(op, x[i*n:(i+1)*n]); !sameBits(want, dst[i]) {
							t.Fatalf("%v op %d row %d of %dx%d: want %v, got %v", l, op, i, m, n, want, dst[i])
						}
					}
				})
			}
		}
	}
}

func TestReduceCols(t *testing.T) {
	r := rng(14)
	for _, n := range []int{1, 2, 6, 7, 8, 9, 16, 17, 31, 33, 63, 64, 65, 129} {
		for _, m := range []int{0, 1, 2, 63, 64, 65, 130, 500} {
			x := guarded[float32](t, m*n, n%2 == 0)
			mixed(r, x)
			dst, want := guarded[float32](t, n, false), make([]float32, n)
			scratch := guarded[float32](t, ColumnScratch(m, n), false)
			for op := range numReduce {
				for j := range want {
					var p []float32
					for b := 0; b < m; b += ColumnBlock {
						s := op.Identity()
						for i := b; i < min(b+ColumnBlock, m); i++ {
							s = op.join(s, x[i*n+j])
						}
						p = append(p, s)
					}
					want[j] = Tree32(op, p)
				}
				levels(t, func(l Level) {
					ReduceCols32(op, dst, x, m, n, scratch)
					if err := diff(want, dst); err != nil {
						t.Fatalf("%v op %d of %dx%d: %v", l, op, m, n, err)
					}
				})
			}
		}
	}
}

func TestArgRows(t *testing.T) {
	nan := float32(math.NaN())
	neg := float32(math.Copysign(0, -1))
	for _, c := range []struct {
		x           []float32
		most, least int32
	}{
		{[]float32{1}, 0, 0}, {[]float32{1, 3, 3, 0, 0}, 1, 3}, {[]float32{1, nan, 9, nan}, 1, 1},
		{[]float32{neg, 0}, 0, 0}, {[]float32{0, neg}, 0, 0}, {nil, 0, 0},
	} {
		levels(t, func(l Level) {
			dst := []int32{9, 9}
			two := append(append([]float32(nil), c.x...), c.x...)
			for _, least := range []bool{false, true} {
				want := c.most
				if least {
					want = c.least
				}
				if ArgRows32(dst, two, 2, len(c.x), least); dst[0] != want || dst[1] != want {
					t.Errorf("%v %v least=%v: got %v, want %d", l, c.x, least, dst, want)
				}
			}
		})
	}
}

func TestArgRowsEdges(t *testing.T) {
	r := rng(17)
	for n := 1; n <= 18; n++ {
		for _, m := range []int{1, 7, 8, 9, 15, 16, 17, 40} {
			x := guarded[float32](t, m*n, m%2 == 0)
			for i := range x {
				x[i] = float32(r.IntN(5))
				if r.IntN(20) == 0 {
					x[i] = hard[r.IntN(len(hard))]
				}
			}
			dst := guarded[int32](t, m, false)
			levels(t, func(l Level) {
				for _, least := range []bool{false, true} {
					ArgRows32(dst, x, m, n, least)
					for i, got := range dst {
						if want := argBestGo(x[i*n:(i+1)*n], least); int(got) != want {
							t.Fatalf("%v row %v least=%v: got %d, want %d", l, x[i*n:(i+1)*n], least, got, want)
						}
					}
				}
			})
		}
	}
}

package kernel

import (
	"slices"
	"testing"
)

func TestTranspose(t *testing.T) {
	r := rng(16)
	for _, m := range []int{1, 2, 7, 8, 9, 15, 16, 17, 33, 64} {
		for _, n := range []int{1, 3, 8, 9, 15, 16, 17, 31, 40} {
			for _, pad := range []int{0, 3} {
				ldx, ldd := n+pad, m+pad
				x := guarded[float32](t, (m-1)*ldx+n, pad == 0)
				dst := guarded[float32](t, (n-1)*ldd+m, pad == 0)
				normals(r, x)
				want := make([]float32, len(dst))
				fill(want, 77)
				for i := range m {
					for j := range n {
						want[j*ldd+i] = x[i*ldx+j]
					}
				}
				levels(t, func(l Level) {
					fill(dst, 77)
					Transpose32(dst, ldd, x, ldx, m, n)
					if err := diff(want, dst); err != nil {
						t.Fatalf("%v %dx%d: %v", l, m, n, err)
					}
				})
			}
		}
	}
}

func TestRows(t *testing.T) {
	r := rng(18)
	for _, n := range []int{1, 3, 7, 8, 9, 15, 16, 17, 32, 33} {
		for _, m := range []int{0, 1, 2, 5} {
			for _, pad := range []int{0, 5} {
				lds, ldd := n+pad, n+2*pad
				src, dst := guarded[float32](t, max(0, (m-1)*lds+n), pad == 0), guarded[float32](t, max(0, (m-1)*ldd+n), pad == 0)
				mixed(r, src)
				start := make([]float32, len(dst))
				mixed(r, start)
				copied := slices.Clone(start)
				for i := range m {
					for j := range n {
						copied[i*ldd+j] = src[i*lds+j]
					}
				}
				levels(t, func(l Level) {
					copy(dst, start)
					CopyRows32(dst, ldd, src, lds, m, n)
					if err := diff(copied, dst); err != nil {
						t.Fatalf("%v copy %dx%d: %v", l, m, n, err)
					}
				})
			}
		}
	}
}

func TestGather(t *testing.T) {
	x := []int64{0, 1, 10, 11, 20, 21}
	got := make([]int64, 8)
	GatherRows(got, x, []int32{2, 0, -5, 9}, 2)
	if want := []int64{20, 21, 0, 1, 0, 1, 20, 21}; !slices.Equal(got, want) {
		t.Errorf("gather: %v, want %v", got, want)
	}
}

// TestPhilox checks the published vectors of Philox4x32-10 and that pieces of a stream join up.
func TestPhilox(t *testing.T) {
	ff := uint32(0xffffffff)
	for _, c := range []struct {
		ctr  [4]uint32
		key  [2]uint32
		want [4]uint32
	}{
		{want: [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{ff, ff, ff, ff}, [2]uint32{ff, ff}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		levels(t, func(l Level) {
			var got [4]uint32
			if Philox32(got[:], c.ctr, c.key); got != c.want {
				t.Errorf("%v %08x %08x: got %08x, want %08x", l, c.ctr, c.key, got, c.want)
			}
		})
	}
	ctr, key := [4]uint32{ff - 20, ff, ff, 7}, [2]uint32{1, 2}
	use(t, Go)
	whole := make([]uint32, 1003)
	Philox32(whole, ctr, key)
	levels(t, func(l Level) {
		for _, n := range []int{0, 1, 3, 4, 5, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1003} {
			got := guarded[uint32](t, n, false)
			if Philox32(got, ctr, key); !slices.Equal(got, whole[:n]) {
				t.Fatalf("%v: fill of %d differs", l, n)
			}
			if Philox32(got, AddCounter(ctr, 25), key); !slices.Equal(got[:max(0, n-100)], whole[100:max(100, n)]) {
				t.Fatalf("%v: piece of %d differs", l, n)
			}
		}
	})
}

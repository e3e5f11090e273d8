package loops

import "unsafe"

// halfChunk is how many elements are widened at a time, on the stack.
const halfChunk = 128

// half makes a loop of 16-bit floats of one of float32. toBool says that it gives bools.
func half[H ~uint16](fn Fn, toBool bool, widen func(H) float32, narrow func(float32) H) Fn {
	return func(dst, a, b, c unsafe.Pointer, n int) {
		var bufs [3][halfChunk]float32
		for i := 0; i < n; i += halfChunk {
			m := min(halfChunk, n-i)
			ptrs := [3]unsafe.Pointer{a, b, c}
			for j, p := range ptrs {
				if p == nil {
					continue
				}
				src := of[H](unsafe.Add(p, 2*i), m)
				for k, h := range src {
					bufs[j][k] = widen(h)
				}
				ptrs[j] = unsafe.Pointer(&bufs[j])
			}
			if toBool {
				fn(unsafe.Add(dst, i), ptrs[0], ptrs[1], ptrs[2], m)
				continue
			}
			fn(unsafe.Pointer(&bufs[0]), ptrs[0], ptrs[1], ptrs[2], m)
			out := of[H](unsafe.Add(dst, 2*i), m)
			for k := range out {
				out[k] = narrow(bufs[0][k])
			}
		}
	}
}

package loops

import (
	"math"

	"github.com/gomlx/compute/dtypes/bfloat16"
	"github.com/gomlx/compute/dtypes/float16"
)

// toFloat16 rounds to nearest even, denormals included, which upstream's conversion gets wrong.
func toFloat16(x float32) float16.Float16 {
	bits := math.Float32bits(x)
	sign, abs := uint16(bits>>16&0x8000), bits&0x7fffffff
	switch {
	case abs > 0x7f800000:
		return float16.Float16(sign | 0x7e00)
	case abs >= 0x47800000: // 2**16 and more
		return float16.Float16(sign | 0x7c00)
	case abs < 0x38800000: // below 2**-14: one half has the last place of float16's denormals
		return float16.Float16(sign | uint16(math.Float32bits(math.Float32frombits(abs)+0.5)-0x3f000000))
	}
	abs += 0xfff + abs>>13&1 - 112<<23
	return float16.Float16(sign | uint16(abs>>13))
}

// toBFloat16 rounds to nearest even.
func toBFloat16(x float32) bfloat16.BFloat16 {
	bits := math.Float32bits(x)
	if bits&0x7fffffff > 0x7f800000 {
		return bfloat16.BFloat16(bits>>16 | 0x40)
	}
	return bfloat16.BFloat16((bits + 0x7fff + bits>>16&1) >> 16)
}

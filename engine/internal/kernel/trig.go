package kernel

import (
	"math"
	"math/bits"
)

// trigLimit bounds the arguments the vector kernels reduce by pi/2 in float64; beyond it, and for
// NaN and infinities, one lane at a time.
const trigLimit = 1 << 30

// trigChunk is how many elements share one check of trigLimit.
const trigChunk = 256

func trig(op UnaryOp, dst, x []float32) {
	for len(x) > 0 {
		n := min(len(x), trigChunk)
		if trigSmall(x[:n]) {
			cur.unary[op](dst[:n], x[:n])
		} else {
			trigSlow(op, dst[:n], x[:n])
		}
		dst, x = dst[n:], x[n:]
	}
}

// trigSmall compares magnitudes as integers, which order like the floats and put NaN and infinity
// on top.
func trigSmall(x []float32) bool {
	var most uint32
	for _, v := range x {
		most = max(most, math.Float32bits(v)&^(1<<31))
	}
	return most <= trigBits
}

var trigBits = math.Float32bits(trigLimit)

func trigSlow(op UnaryOp, dst, x []float32) {
	for i, v := range x {
		switch {
		case math.Float32bits(v)&^(1<<31) > trigBits:
			dst[i] = trigHuge(op, v)
		case op == Sin:
			dst[i] = sinCoreLane(v)
		default:
			dst[i] = cosCoreLane(v)
		}
	}
}

// twoOverPi is 2/pi in words of 64 bits, most significant first: enough for the largest float32
// exponent.
var twoOverPi = [...]uint64{0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561}

// trigHuge reduces by Payne and Hanek: x = m * 2**e with a 24-bit m, and only the bits of
// m*2**e*(2/pi) from the units (modulo 4) down matter.
func trigHuge(op UnaryOp, x float32) float32 {
	b := math.Float32bits(x)
	if b&infBits == infBits {
		return float32(math.NaN())
	}
	m := uint64(b&0x7fffff | 0x800000)
	e := int(b>>23&0xff) - 150 // 7 <= e <= 104, since |x| > 2**30
	// Bits of 2/pi with weights 2**(1-e) and below, so that the product is taken modulo 4.
	hi, lo := window(e-2), window(e+62)
	ph, _ := bits.Mul64(m, lo)
	frac := m*hi + ph // weight of the top bit is 2: quadrant in the top two bits
	q := frac >> 62
	r := int64(frac << 2) // fraction of a quadrant, in [-1/2, 1/2) after rounding
	if r < 0 {
		q++
	}
	if b>>31 != 0 {
		q, r = -q, -r
	}
	return quadrant(op, q, float64(r)*(math.Pi/2/(1<<64)))
}

// window returns the 64 bits of 2/pi that begin after the first skip bits.
func window(skip int) uint64 {
	w, s := skip/64, uint(skip%64)
	return twoOverPi[w]<<s | twoOverPi[w+1]>>(64-s)
}

const infBits = 0x7f800000

// quadrant evaluates in float64 by the same polynomials as the vector kernels.
func quadrant(op UnaryOp, q uint64, r float64) float32 {
	if op == Cos {
		q++
	}
	v := sinPoly(r)
	if q&1 != 0 {
		v = cosPoly(r)
	}
	if q&2 != 0 {
		v = -v
	}
	return float32(v)
}

func sinPoly(r float64) float64 {
	z := r * r
	p := -2.4761119549363524e-08
	for _, c := range [...]float64{2.7555350555534085e-06, -0.00019841263789862446, 0.008333333325212739, -0.16666666666631272} {
		p = math.FMA(p, z, c)
	}
	return math.FMA(float64(p*z), r, r)
}

func cosPoly(r float64) float64 {
	z := r * r
	p := -2.7179357363384155e-07
	for _, c := range [...]float64{2.4799030975729188e-05, -0.0013888881032332, 0.0416666665612477, -0.4999999999954057} {
		p = math.FMA(p, z, c)
	}
	return math.FMA(p, z, 1)
}

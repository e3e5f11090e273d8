package main

import "math"

// The elementary functions, each written once as primitives. Coefficients are minimax fits, rounded
// to the precision they are used in one by one, lowest power first, refitting the rest after each.

const (
	shifter = 0x4b400000 // 1.5 * 2**23: adding it rounds to an integer held in the low bits
	log2e   = 1.4426950408889634
	infBits = 0x7f800000
)

var (
	ln2hi = math.Float32frombits(0x3f317200) // 12 trailing zero bits, so n*ln2hi is exact
	ln2lo = float32(math.Ln2 - float64(ln2hi))
)

// reduce2 writes x = n*ln2 + r with |r| <= ln2/2, n as a float and as shifter bits.
func (b *body) reduce2(x *node) (r, n, bits *node) {
	t := b.FMA(x, b.F(log2e), b.FB(shifter))
	n = b.Sub(t, b.FB(shifter))
	r = b.FNMA(n, b.F(ln2hi), x)
	r = b.FNMA(n, b.F(ln2lo), r)
	return r, n, b.AsI(t)
}

// expTail returns e**r - 1 for |r| <= ln2/2.
func (b *body) expTail(r *node) *node {
	q := b.Poly(r, b.fcoefs(0x3efffffe, 0x3e2aaa46, 0x3d2aac5c, 0x3c091f2c, 0x3ab526ba)...)
	return b.FMA(q, b.Mul(r, r), r)
}

// exp scales in two steps, h = n/2 into the exponent's bits and n-h by a product, so that a result
// below the normal range rounds once. The shifter's own bits fall out at the top of the shifts.
func exp(b *body, x *node) *node {
	c := b.MaxX(b.MinX(x, b.F(89)), b.F(-104.5))
	r, _, n := b.reduce2(c)
	p := b.Add(b.expTail(r), b.F(1))
	h := b.Shr(n, 1)
	p = b.AsF(b.Add(b.AsI(p), b.Shl(h, 23)))
	y := b.Mul(p, b.AsF(b.Add(b.Shl(b.Sub(n, h), 23), b.I(0x3f800000))))
	return b.Sel(b.Cmp(opNE, x, x), x, y)
}

// expNormal returns exp for arguments in [-87, 87]: one scaling step is enough.
func (b *body) expNormal(x *node) *node {
	r, _, bits := b.reduce2(x)
	p := b.Add(b.expTail(r), b.F(1))
	return b.AsF(b.Add(b.AsI(p), b.Shl(bits, 23)))
}

func expm1(b *body, x *node) *node {
	c := b.MaxX(b.MinX(x, b.F(89)), b.F(-18))
	r, _, bits := b.reduce2(c)
	q := b.Poly(r, b.fcoefs(0x3f000000, 0x3e2aaaab, 0x3d2aaa79, 0x3c088802, 0x3ab6a149, 0x39512174)...)
	p := b.FMA(q, b.Mul(r, r), r)
	// Half of 2**n, so that n = 128 stays finite until the last doubling.
	half := b.AsF(b.Add(b.Shl(bits, 23), b.I(0x3f000000)))
	y := b.FMA(half, p, b.Sub(half, b.F(0.5)))
	y = b.Add(y, y)
	small := b.Cmp(opLT, b.Abs(x), b.FB(0x33000000)) // 2**-25
	y = b.Sel(small, x, y)
	return b.Sel(b.Cmp(opNE, x, x), x, y)
}

// split writes a positive x as 2**e * m with m in [sqrt(1/2), sqrt(2)); denormals are scaled first.
func (b *body) split(x *node) (e, m *node) {
	tiny := b.Cmp(opLT, x, b.FB(0x00800000))
	xs := b.Sel(tiny, b.Mul(x, b.F(1<<23)), x)
	bias := b.Sel(tiny, b.I(23), b.I(0))
	bits := b.Sub(b.AsI(xs), b.I(0x3f3504f3)) // sqrt(1/2)
	e = b.Sub(b.Sra(bits, 23), bias)
	m = b.AsF(b.Add(b.And(bits, b.I(0x007fffff)), b.I(0x3f3504f3)))
	return e, m
}

// logEnds puts right what log gives at zero, below, at infinity and for NaN.
func (b *body) logEnds(x, y, zero *node) *node {
	y = b.Sel(b.Cmp(opEQ, x, b.FB(infBits)), x, y)
	y = b.Sel(b.Cmp(opEQ, x, zero), b.FB(0xff800000), y)
	y = b.Sel(b.Cmp(opLT, x, zero), b.FB(0x7fc00000), y)
	return b.Sel(b.Cmp(opNE, x, x), x, y)
}

func logF(b *body, x *node) *node {
	e, m := b.split(x)
	n := b.Float(e)
	f := b.Sub(m, b.F(1))
	q := b.Poly(f, b.fcoefs(0x3eaaaaa3, 0xbe7ffff6, 0x3e4cd2ab, 0xbe2ab1b3, 0x3e119866, 0xbdfd965f, 0x3df330eb,
		0xbdf1c28a, 0x3d8de816)...)
	// log(1+f) = f - f*f/2 + f*f*f*q, summed from the small end; n*ln2lo goes in with the small
	// terms.
	z := b.Mul(f, f)
	t := b.FMA(n, b.F(ln2lo), b.Mul(b.Mul(z, f), q))
	t = b.FMA(z, b.F(-0.5), t)
	y := b.FMA(n, b.F(ln2hi), b.Add(f, t))
	return b.logEnds(x, y, b.F(0))
}

// logWide returns ln(m) or log2(m) in float64 for m in [sqrt(1/2), sqrt(2)), by the atanh series.
func (b *body) logWide(m *node, c ...float64) *node {
	one := b.D(1)
	s := b.Div(b.Sub(m, one), b.Add(m, one))
	return b.Mul(s, b.Poly(b.Mul(s, s), b.dcoefs(c...)...))
}

func log1p(b *body, x *node) *node {
	xw := b.Wide(x)
	// The exponent comes from the rounded sum; the mantissa keeps the exact one.
	c := b.MaxX(b.MinX(x, b.FB(0x7f7fffff)), b.F(-1))
	u := b.Narrow(b.Add(b.Wide(c), b.D(1)))
	bits := b.Sub(b.AsI(u), b.I(0x3f3504f3))
	e := b.Sra(bits, 23)
	m := b.Mul(b.Add(xw, b.D(1)), b.Pow2D(b.Sub(b.I(0), e)))
	l := b.logWide(m, 1.9999999999999458, 0.6666666667982988, 0.399999948177463, 0.2857217375831594,
		0.22173932486921483, 0.19612705326672447)
	y := b.Narrow(b.FMA(b.Wide(e), b.D(math.Ln2), l))
	y = b.Sel(b.Cmp(opLT, b.Abs(x), b.FB(0x32000000)), x, y) // 2**-27
	return b.logEnds(x, y, b.F(-1))
}

// tanhTable has, for each of sixteen intervals, where |x| is developed and the coefficients of
// tanh(x)/x there, lowest first. Intervals grow with |x|: they are the quarters of the binary
// orders of |x| + 3/4, by whose bits they are found. Each is developed near its middle, at a point
// where the quotient is very nearly a float32.
var tanhTable = [...][16]uint32{
	{0x3fc002f0, 0x3fffffb7, 0x401ffd03, 0x403ffe83, 0x406ffd37, 0x4097fc93, 0x40b800ce, 0x40d80448,
		0x4103f762, 0x4103f762, 0x3d7ffe1d, 0x3e4001cd, 0x3ec00197, 0x3f200646, 0x3f5ffd66, 0x3f900af3},
	{0x3f1a78e0, 0x3ef6cabf, 0x3eca1286, 0x3ea9d3e2, 0x3e886376, 0x3e5790cd, 0x3e32148f, 0x3e17b109,
		0x3df84e43, 0x3df84e43, 0x3f7faace, 0x3f7d0a98, 0x3f74a351, 0x3f63280a, 0x3f4df237, 0x3f3821eb},
	{0xbe904878, 0xbe529e7a, 0xbe16c5d5, 0xbddbb505, 0xbd9047c3, 0xbd35495c, 0xbcf7b3b4, 0xbcb3c313,
		0xbc70d79e, 0xbc70d79e, 0xbd2a2136, 0xbdf8f59d, 0xbe657d8a, 0xbe9fb4dc, 0xbeaf82d5, 0xbeaa5a69},
	{0x3da1747f, 0x3d8cdfe6, 0x3d46400a, 0x3d0511b8, 0x3c9514f4, 0x3c17a475, 0x3bac14a3, 0x3b54fb4a,
		0x3ae99967, 0x3ae99967, 0xbea912b4, 0xbe9cc3c0, 0xbe70ec95, 0xbdec3371, 0xbc6733c6, 0x3d4315d6},
	{0x3bc406f8, 0xbc5a91be, 0xbc4da455, 0xbc0e095c, 0xbb923178, 0xbaf9e5fd, 0xba6e2c1b, 0xb9fc1c6c,
		0xb96282bc, 0xb96282bc, 0x3d077500, 0x3dbecb7a, 0x3e1ac876, 0x3e1fcdb0, 0x3de07e34, 0x3d669367},
	{0xbca90a52, 0xbb1535b4, 0x3aebfc23, 0x3aeffff5, 0x3a826764, 0x39c77508, 0x3923385f, 0x3894d17f,
		0x37db9b86, 0x37db9b86, 0x3e05500a, 0x3dda8136, 0x3d392e8e, 0xbcee68d0, 0xbd647f10, 0xbd413475},
	{0x3c437764, 0x3b6b76f0, 0x39eb2f90, 0xb95075e2, 0xb944d991, 0xb897fe67, 0xb7dd9004, 0xb7306514,
		0xb65a4fa3, 0xb65a4fa3, 0xbca3e963, 0xbd57ab9c, 0xbd8f87cf, 0xbd29b5ef, 0xbb7127d0, 0x3c5d93cf},
	{0xbb4d5370, 0xbaf1fe2f, 0xb9f3a81b, 0xb87333dd, 0x37c8ef57, 0x374f44cd, 0x368f5f74, 0x35cc7565,
		0x34d306f6, 0x34d306f6, 0xbd4ed768, 0xbd1169ed, 0x3b3f63e2, 0x3ce62c93, 0x3c9c68ce, 0x3b937ab3},
}

// tanh returns x times a polynomial for tanh(x)/x. Beyond 9.02, where it rounds to 1, it stays what
// it is there. NaN passes by the order of the operands of MinX and MaxX.
func tanh(b *body, x *node) *node {
	x = b.MaxX(b.F(-9.02), b.MinX(b.F(9.02), x))
	a := b.Abs(x)
	i := b.Shr(b.AsI(b.Add(a, b.F(0.75))), 21)
	fourth := b.Fourth(i)
	f := b.Sub(a, b.Lookup(0, i, fourth))
	last := len(tanhTable) - 1
	q := b.Lookup(last, i, fourth)
	for j := last - 1; j > 0; j-- {
		q = b.FMA(q, f, b.Lookup(j, i, fourth))
	}
	return b.Mul(q, x)
}

// logistic returns 1/(1+exp(-x)) with both terms of the quotient scaled by 2**-64, so that nothing
// overflows and results below the normal range round once. The denominator is put together from
// 2**n and e**r-1, not from the rounded exponential.
func logistic(b *body, x *node) *node {
	c := b.MaxX(b.MinX(b.Xor(x, b.FB(0x80000000)), b.F(104.5)), b.F(-43))
	r, _, bits := b.reduce2(c)
	s := b.AsF(b.Shl(b.Sub(bits, b.I(shifter-127+64)), 23))
	// 1 + s + s*p: 1 + s first where that is exact, else s last.
	early := b.Sel(b.Cmp(opLT, s, b.F(0x1p-52)), s, b.F(0))
	den := b.FMA(s, b.expTail(r), b.Add(early, b.F(0x1p-64)))
	den = b.Add(den, b.Sub(s, early))
	return b.Sel(b.Cmp(opNE, x, x), x, b.Div(b.F(0x1p-64), den))
}

func erf(b *body, x *node) *node {
	a := b.Abs(x)
	z := b.Mul(a, a)
	small := b.Poly(z, b.fcoefs(0x3e0375d4, 0xbec093a0, 0x3de716a8, 0xbcdbff48, 0x3baa1708, 0xba528587,
		0x38a61a27)...)
	small = b.FMA(small, a, a)
	// 1 - exp(a*q(a)); beyond 3.92 erf rounds to 1.
	c := b.MinX(a, b.F(4))
	q := b.Poly(c, b.fcoefs(0xbf90712c, 0xbf22db26, 0xbdd50d11, 0x3cac9c76, 0xbad9119d, 0xba190e65, 0x39797f50,
		0xb81d7901, 0x361e7a24)...)
	big := b.Sub(b.F(1), b.expNormal(b.Mul(q, c)))
	y := b.Sign(b.Sel(b.Cmp(opLT, a, b.F(1)), small, big), x)
	return b.Sel(b.Cmp(opNE, x, x), x, y)
}

// sinCos reduces by pi/2 in float64, which is exact enough up to trigLimit; quadrant is 0 for sine,
// 1 for cosine.
func sinCos(b *body, x *node, quadrant int32) *node {
	w := b.Wide(x)
	const shift = 6755399441055744 // 1.5 * 2**52
	n := b.Sub(b.FMA(w, b.D(2/math.Pi), b.D(shift)), b.D(shift))
	r := b.FNMA(n, b.D(math.Pi/2), w)
	r = b.FNMA(n, b.D(6.123233995736766e-17), r)
	q := b.Int(n)
	if quadrant != 0 {
		q = b.Add(q, b.I(quadrant))
	}
	z := b.Mul(r, r)
	s := b.Poly(z, b.dcoefs(-0.16666666666631272, 0.008333333325212739, -0.00019841263789862446,
		2.7555350555534085e-06, -2.4761119549363524e-08)...)
	sin := b.Narrow(b.FMA(b.Mul(s, z), r, r))
	c := b.Poly(z, b.dcoefs(-0.4999999999954057, 0.0416666665612477, -0.0013888881032332, 2.4799030975729188e-05,
		-2.7179357363384155e-07)...)
	cos := b.Narrow(b.FMA(c, z, b.D(1)))
	odd := b.Cmp(opEQ, b.And(q, b.I(1)), b.I(1))
	y := b.Sel(odd, cos, sin)
	return b.Xor(y, b.AsF(b.Shl(b.And(q, b.I(2)), 30)))
}

func sine(b *body, x *node) *node {
	y := sinCos(b, x, 0)
	return b.Sel(b.Cmp(opEQ, x, b.F(0)), x, y)
}

func cosine(b *body, x *node) *node { return sinCos(b, x, 1) }

// pow returns 2**(y*log2|x|) in float64, and then the many ends of C's pow.
func pow(b *body, x, y *node) *node {
	zero, one, inf := b.F(0), b.F(1), b.FB(infBits)
	a := b.Abs(x)
	e, m := b.split(a)
	l := b.Add(b.Wide(e), b.logWide(b.Wide(m), 2.885390081777927, 0.9617966939242982, 0.577078017261882,
		0.4121983996301534, 0.32061655724804977, 0.2614388206814493, 0.24298119538613622))
	p := b.Mul(b.Wide(y), l)
	// Clamp through float32, where p is only compared, then split into integer and fraction.
	pn := b.Narrow(p)
	over, under := b.Cmp(opGE, pn, b.F(129)), b.Cmp(opLE, pn, b.F(-151))
	n := b.MaxX(b.MinX(b.Round(pn, 0), b.F(130)), b.F(-152))
	ni := b.Trunc(n)
	r := b.Sub(p, b.Wide(ni))
	ex := b.Poly(r, b.dcoefs(0.9999999999610724, 0.6931471807311811, 0.24022651204152165, 0.05550410347177195,
		0.009618026442378486, 0.0013333925552851135, 0.00015469553137730026, 1.5201704295856455e-05)...)
	v := b.Narrow(b.Mul(ex, b.Pow2D(ni)))
	v = b.Sel(over, inf, b.Sel(under, zero, v))
	// |x| at its ends: zero or infinity to a positive power is itself, to a negative one the other.
	yneg := b.Cmp(opLT, y, zero)
	v = b.Sel(b.Cmp(opEQ, a, zero), b.Sel(yneg, inf, zero), v)
	v = b.Sel(b.Cmp(opEQ, a, inf), b.Sel(yneg, zero, inf), v)
	// y infinite.
	grows := b.MOr(b.MAnd(b.Cmp(opGT, a, one), b.Cmp(opGT, y, zero)), b.MAnd(b.Cmp(opLT, a, one), yneg))
	v = b.Sel(b.Cmp(opEQ, b.Abs(y), inf), b.Sel(grows, inf, zero), v)
	v = b.Sel(b.Cmp(opEQ, a, one), one, v)
	// A negative base needs an integer power; an odd one keeps the sign.
	whole := b.Cmp(opEQ, b.Round(y, 3), y)
	hy := b.Mul(y, b.F(0.5))
	odd := b.MAnd(whole, b.Cmp(opNE, b.Round(hy, 3), hy))
	sign := b.And(x, b.FB(0x80000000))
	v = b.Sel(odd, b.Or(v, sign), v)
	bad := b.MAnd(b.MAnd(b.Cmp(opLT, x, zero), b.MNot(whole)), b.Cmp(opLT, a, inf))
	v = b.Sel(bad, b.FB(0x7fc00000), v)
	v = b.Sel(b.Cmp(opNE, x, x), x, v)
	v = b.Sel(b.Cmp(opNE, y, y), y, v)
	v = b.Sel(b.Cmp(opEQ, y, zero), one, v)
	return b.Sel(b.Cmp(opEQ, x, one), one, v)
}

package assembly

import "math"

// Functions of one float32, exact to a few units in the last place: the approximations that the
// hardware has are used where their error is as small as that, and kept away from where it is not.

// Rsqrt writes 1/sqrt(x).
func Rsqrt(w *Writer, x string) string { return w.F("rcp.rn", w.F("sqrt.rn", x)) }

// Rounded returns the function that rounds to a whole number: rmi down, rpi up, rni to the nearest,
// half to even.
func Rounded(how string) func(*Writer, string) string {
	return func(w *Writer, x string) string { return w.Op(F32, "cvt."+how+".f32.f32", x) }
}

// Sign writes -1, 0 or 1; what is not a number stays none.
func Sign(w *Writer, x string) string {
	plus := w.F("selp", Float(1), Float(0), w.Op(Pred, "setp.gt.f32", x, Float(0)))
	out := w.F("selp", Float(-1), plus, w.Op(Pred, "setp.lt.f32", x, Float(0)))
	return w.F("selp", x, out, w.Op(Pred, "setp.nan.f32", x, x))
}

// polynomial writes c[0] + x (c[1] + x (...)).
func (w *Writer) polynomial(x string, c ...float64) string {
	y := w.F("mov", Float(c[len(c)-1]))
	for i := len(c) - 2; i >= 0; i-- {
		y = w.F("fma.rn", y, x, Float(c[i]))
	}
	return y
}

// Exp writes e to the x. It takes whole powers of two out, exactly, so that the hardware's power of
// two sees only small numbers.
func Exp(w *Writer, x string) string {
	k := w.Op(F32, "cvt.rni.f32.f32", w.F("mul.rn", x, Float(math.Log2E)))
	r := w.F("fma.rn", k, Float(-0.693359375), x)
	r = w.F("fma.rn", k, Float(2.12194440e-4), r)
	y := w.F("ex2.approx.ftz", w.F("mul.rn", r, Float(math.Log2E)))
	// In two steps, since 2^k may be outside of what is a normal number where the product is not.
	half := w.Op(F32, "cvt.rmi.f32.f32", w.F("mul.rn", k, Float(0.5)))
	y = w.F("mul.rn", y, w.F("ex2.approx.ftz", half))
	y = w.F("mul.rn", y, w.F("ex2.approx.ftz", w.F("sub.rn", k, half)))
	// Far out the result is settled, and what was computed may be no number.
	y = w.F("selp", Float(math.Inf(1)), y, w.Op(Pred, "setp.gt.f32", x, Float(89)))
	return w.F("selp", Float(0), y, w.Op(Pred, "setp.lt.f32", x, Float(-104)))
}

// Log writes the natural logarithm. It splits x into m 2^e with m around 1, and has a polynomial in
// m-1.
func Log(w *Writer, x string) string {
	tiny := w.Op(Pred, "setp.lt.f32", x, Float(math.Ldexp(1, -126)))
	scaled := w.F("selp", w.F("mul.rn", x, Float(math.Ldexp(1, 23))), x, tiny)
	bits := w.Op(B32, "mov.b32", scaled)
	// The mantissa is taken from 2/3 up, so that numbers a little below 1 have exponent 0.
	off := w.Op(B32, "sub.s32", bits, "1059760811")
	e := w.Op(F32, "cvt.rn.f32.s32", w.Op(B32, "shr.s32", off, "23"))
	e = w.F("selp", w.F("add.rn", e, Float(-23)), e, tiny)
	m := w.Op(F32, "mov.b32", w.Op(B32, "sub.s32", bits, w.Op(B32, "and.b32", off, "-8388608")))
	t := w.F("add.rn", m, Float(-1))
	// log(1+t) = 2 atanh(s) with s = t/(2+t), a series in odd powers of s, at most 1/5.
	s := w.F("mul.rn", t, w.F("rcp.approx.ftz", w.F("add.rn", t, Float(2))))
	z := w.F("mul.rn", s, s)
	p := w.F("mul.rn", w.polynomial(z, 2.0/3, 2.0/5, 2.0/7, 2.0/9, 2.0/11), w.F("mul.rn", z, s))
	// 2s is t - s t; the difference keeps what t has beyond s.
	y := w.F("fma.rn", e, Float(math.Ln2), w.F("add.rn", w.F("fma.rn", w.F("neg", s), t, t), p))
	y = w.F("selp", x, y, w.Op(Pred, "setp.eq.f32", x, Float(math.Inf(1))))
	y = w.F("selp", Float(math.Inf(-1)), y, w.Op(Pred, "setp.eq.f32", x, Float(0)))
	none := w.Op(Pred, "setp.ltu.f32", x, Float(0)) // below zero, or no number
	return w.F("selp", Float(math.NaN()), y, none)
}

// Log1p writes log(1+x): log of the rounded sum, put right by what rounding lost.
func Log1p(w *Writer, x string) string {
	u := w.F("add.rn", x, Float(1))
	lost := w.F("sub.rn", x, w.F("add.rn", u, Float(-1)))
	y := w.F("add.rn", Log(w, u), w.F("div.rn", lost, u))
	small := w.Op(Pred, "setp.eq.f32", u, Float(1))
	y = w.F("selp", x, y, small)
	return w.F("selp", x, y, w.Op(Pred, "setp.eq.f32", x, Float(math.Inf(1))))
}

// Expm1 writes exp(x)-1, as a series near 0.
func Expm1(w *Writer, x string) string {
	p := w.F("fma.rn", w.F("mul.rn", x, x), w.polynomial(x, 1.0/2, 1.0/6, 1.0/24, 1.0/120, 1.0/720, 1.0/5040), x)
	near := w.Op(Pred, "setp.lt.f32", w.F("abs", x), Float(0.5))
	return w.F("selp", p, w.F("add.rn", Exp(w, x), Float(-1)), near)
}

// Tanh writes (1-e)/(1+e) with e = exp(-2|x|), and near 0, where that loses digits, a polynomial
// (Cephes' tanhf).
func Tanh(w *Writer, x string) string {
	size := w.F("abs", x)
	e := w.F("ex2.approx.ftz", w.F("mul.rn", size, Float(-2*math.Log2E)))
	far := w.F("mul.rn", w.F("sub.rn", Float(1), e), w.F("rcp.approx.ftz", w.F("add.rn", e, Float(1))))
	far = w.F("copysign", x, far)
	z := w.F("mul.rn", x, x)
	p := w.polynomial(z, -3.33332819422e-1, 1.33314422036e-1, -5.37397155531e-2, 2.06390887954e-2, -5.70498872745e-3)
	near := w.F("fma.rn", w.F("mul.rn", p, z), x, x)
	return w.F("selp", near, far, w.Op(Pred, "setp.lt.f32", size, Float(0.625)))
}

// Logistic writes 1/(1+exp(-x)).
func Logistic(w *Writer, x string) string {
	return w.F("rcp.approx.ftz", w.F("add.rn", Exp(w, w.F("neg", x)), Float(1)))
}

// Sine returns the function sin for shift 0 and cos for shift 1: quarters are taken off in double
// precision, and each half of a quarter has its polynomial. A program that wants one often wants
// the other, of the same number.
func Sine(shift int) func(*Writer, string) string {
	return func(w *Writer, x string) string {
		sin, cos, quarter := w.quarters(x)
		if shift != 0 {
			quarter = w.Op(B32, "add.s32", quarter, "1")
		}
		odd := w.Op(Pred, "setp.ne.u32", w.Op(B32, "and.b32", quarter, "1"), "0")
		y := w.F("selp", cos, sin, odd)
		minus := w.Op(Pred, "setp.ne.u32", w.Op(B32, "and.b32", quarter, "2"), "0")
		return w.F("selp", w.F("neg", y), y, minus)
	}
}

// turn has what sine and cosine of a number have in common.
type turn struct{ sin, cos, quarter string }

// quarters writes the number's turn, if it is not there yet: sine and cosine of what is beyond
// whole quarters, and how many those are.
func (w *Writer) quarters(x string) (sin, cos, quarter string) {
	for i := len(w.turns) - 1; i >= 0; i-- {
		if t, ok := w.turns[i][x]; ok {
			return t.sin, t.cos, t.quarter
		}
	}
	d := w.Op(F64, "cvt.f64.f32", x)
	q := w.Op(F64, "cvt.rni.f64.f64", w.Op(F64, "mul.rn.f64", d, Double(2/math.Pi)))
	r := w.Op(F32, "cvt.rn.f32.f64", w.Op(F64, "fma.rn.f64", q, Double(-math.Pi/2), d))
	quarter = w.Op(B32, "cvt.rni.s32.f64", q)
	// Of numbers beyond all digits something between -1 and 1 is left, of those beyond all numbers
	// nothing.
	inside := w.F("max", w.F("min", r, Float(math.Pi/4+1e-3)), Float(-math.Pi/4-1e-3))
	r = w.F("selp", inside, Float(math.NaN()), w.Op(Pred, "setp.lt.f32", w.F("abs", x), Float(math.Inf(1))))
	z := w.F("mul.rn", r, r)
	sin = w.F("fma.rn", w.F("mul.rn", w.polynomial(z, -1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4), z), r, r)
	cos = w.polynomial(z, 1, -0.5, 4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5)
	for len(w.turns) <= w.depth {
		w.turns = append(w.turns, map[string]turn{})
	}
	w.turns[w.depth][x] = turn{sin, cos, quarter}
	return sin, cos, quarter
}

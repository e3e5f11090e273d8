package ptx

import (
	"math"

	"github.com/gomlx/compute"
)

// functions of one float32, exact to a few units in the last place: the approximations that the hardware has are used
// where their error is as small as that, and kept away from where it is not.
var functions = map[compute.OpType]func(w *writer, args []string) string{}

func init() { // an initialiser would be a cycle
	one := func(fn func(w *writer, x string) string) func(*writer, []string) string {
		return func(w *writer, args []string) string { return fn(w, args[0]) }
	}
	for op, fn := range map[compute.OpType]func(*writer, string) string{
		compute.OpTypeExp: exp, compute.OpTypeLog: log, compute.OpTypeTanh: tanh, compute.OpTypeLogistic: logistic,
		compute.OpTypeSin: sine(0), compute.OpTypeCos: sine(1), compute.OpTypeLog1p: log1p, compute.OpTypeExpm1: expm1,
		compute.OpTypeRsqrt: func(w *writer, x string) string { return w.f("rcp.rn", w.f("sqrt.rn", x)) },
		compute.OpTypeFloor: rounded("rmi"), compute.OpTypeCeil: rounded("rpi"), compute.OpTypeRound: rounded("rni"),
		compute.OpTypeSign: sign,
	} {
		functions[op] = one(fn)
	}
}

func rounded(how string) func(*writer, string) string {
	return func(w *writer, x string) string { return w.op(f32, "cvt."+how+".f32.f32", x) }
}

// sign of what is no number is none.
func sign(w *writer, x string) string {
	plus := w.f("selp", float(1), float(0), w.op(pred, "setp.gt.f32", x, float(0)))
	out := w.f("selp", float(-1), plus, w.op(pred, "setp.lt.f32", x, float(0)))
	return w.f("selp", x, out, w.op(pred, "setp.nan.f32", x, x))
}

// polynomial is c[0] + x (c[1] + x (...)).
func (w *writer) polynomial(x string, c ...float64) string {
	y := w.f("mov", float(c[len(c)-1]))
	for i := len(c) - 2; i >= 0; i-- {
		y = w.f("fma.rn", y, x, float(c[i]))
	}
	return y
}

// exp takes whole powers of two out, exactly, so that the hardware's power of two sees only small numbers.
func exp(w *writer, x string) string {
	k := w.op(f32, "cvt.rni.f32.f32", w.f("mul.rn", x, float(math.Log2E)))
	r := w.f("fma.rn", k, float(-0.693359375), x)
	r = w.f("fma.rn", k, float(2.12194440e-4), r)
	y := w.f("ex2.approx.ftz", w.f("mul.rn", r, float(math.Log2E)))
	// In two steps, since 2^k may be outside of what is a normal number where the product is not.
	half := w.op(f32, "cvt.rmi.f32.f32", w.f("mul.rn", k, float(0.5)))
	y = w.f("mul.rn", y, w.f("ex2.approx.ftz", half))
	y = w.f("mul.rn", y, w.f("ex2.approx.ftz", w.f("sub.rn", k, half)))
	// Far out the result is settled, and what was computed may be no number.
	y = w.f("selp", float(math.Inf(1)), y, w.op(pred, "setp.gt.f32", x, float(89)))
	return w.f("selp", float(0), y, w.op(pred, "setp.lt.f32", x, float(-104)))
}

// log splits x into m 2^e with m around 1, and has a polynomial in m-1.
func log(w *writer, x string) string {
	tiny := w.op(pred, "setp.lt.f32", x, float(math.Ldexp(1, -126)))
	scaled := w.f("selp", w.f("mul.rn", x, float(math.Ldexp(1, 23))), x, tiny)
	bits := w.op(b32, "mov.b32", scaled)
	// The mantissa is taken from 2/3 up, so that numbers a little below 1 have exponent 0.
	off := w.op(b32, "sub.s32", bits, "1059760811")
	e := w.op(f32, "cvt.rn.f32.s32", w.op(b32, "shr.s32", off, "23"))
	e = w.f("selp", w.f("add.rn", e, float(-23)), e, tiny)
	m := w.op(f32, "mov.b32", w.op(b32, "sub.s32", bits, w.op(b32, "and.b32", off, "-8388608")))
	t := w.f("add.rn", m, float(-1))
	// log(1+t) = 2 atanh(s) with s = t/(2+t), a series in odd powers of s, at most 1/5.
	s := w.f("mul.rn", t, w.f("rcp.approx.ftz", w.f("add.rn", t, float(2))))
	z := w.f("mul.rn", s, s)
	p := w.f("mul.rn", w.polynomial(z, 2.0/3, 2.0/5, 2.0/7, 2.0/9, 2.0/11), w.f("mul.rn", z, s))
	// 2s is t - s t; the difference keeps what t has beyond s.
	y := w.f("fma.rn", e, float(math.Ln2), w.f("add.rn", w.f("fma.rn", w.f("neg", s), t, t), p))
	y = w.f("selp", x, y, w.op(pred, "setp.eq.f32", x, float(math.Inf(1))))
	y = w.f("selp", float(math.Inf(-1)), y, w.op(pred, "setp.eq.f32", x, float(0)))
	none := w.op(pred, "setp.ltu.f32", x, float(0)) // below zero, or no number
	return w.f("selp", float(math.NaN()), y, none)
}

// log1p is log of the rounded sum, put right by what rounding lost.
func log1p(w *writer, x string) string {
	u := w.f("add.rn", x, float(1))
	lost := w.f("sub.rn", x, w.f("add.rn", u, float(-1)))
	y := w.f("add.rn", log(w, u), w.f("div.rn", lost, u))
	small := w.op(pred, "setp.eq.f32", u, float(1))
	y = w.f("selp", x, y, small)
	return w.f("selp", x, y, w.op(pred, "setp.eq.f32", x, float(math.Inf(1))))
}

// expm1 is a series near 0.
func expm1(w *writer, x string) string {
	p := w.f("fma.rn", w.f("mul.rn", x, x), w.polynomial(x, 1.0/2, 1.0/6, 1.0/24, 1.0/120, 1.0/720, 1.0/5040), x)
	near := w.op(pred, "setp.lt.f32", w.f("abs", x), float(0.5))
	return w.f("selp", p, w.f("add.rn", exp(w, x), float(-1)), near)
}

// tanh is (1-e)/(1+e) with e = exp(-2|x|), and near 0, where that loses digits, a polynomial (Cephes' tanhf).
func tanh(w *writer, x string) string {
	size := w.f("abs", x)
	e := w.f("ex2.approx.ftz", w.f("mul.rn", size, float(-2*math.Log2E)))
	far := w.f("mul.rn", w.f("sub.rn", float(1), e), w.f("rcp.approx.ftz", w.f("add.rn", e, float(1))))
	far = w.f("copysign", x, far)
	z := w.f("mul.rn", x, x)
	p := w.polynomial(z, -3.33332819422e-1, 1.33314422036e-1, -5.37397155531e-2, 2.06390887954e-2, -5.70498872745e-3)
	near := w.f("fma.rn", w.f("mul.rn", p, z), x, x)
	return w.f("selp", near, far, w.op(pred, "setp.lt.f32", size, float(0.625)))
}

func logistic(w *writer, x string) string {
	return w.f("rcp.approx.ftz", w.f("add.rn", exp(w, w.f("neg", x)), float(1)))
}

// sine is sin for shift 0 and cos for shift 1: quarters are taken off in double precision, and each half of a quarter
// has its polynomial. Who wants one often wants the other, of the same number.
func sine(shift int) func(*writer, string) string {
	return func(w *writer, x string) string {
		sin, cos, quarter := w.quarters(x)
		if shift != 0 {
			quarter = w.op(b32, "add.s32", quarter, "1")
		}
		odd := w.op(pred, "setp.ne.u32", w.op(b32, "and.b32", quarter, "1"), "0")
		y := w.f("selp", cos, sin, odd)
		minus := w.op(pred, "setp.ne.u32", w.op(b32, "and.b32", quarter, "2"), "0")
		return w.f("selp", w.f("neg", y), y, minus)
	}
}

// turn is what sine and cosine of a number have in common.
type turn struct{ sin, cos, quarter string }

// quarters is the number's turn: sine and cosine of what is beyond whole quarters, and how many those are.
func (w *writer) quarters(x string) (sin, cos, quarter string) {
	for i := len(w.turns) - 1; i >= 0; i-- {
		if t, ok := w.turns[i][x]; ok {
			return t.sin, t.cos, t.quarter
		}
	}
	d := w.op(f64, "cvt.f64.f32", x)
	q := w.op(f64, "cvt.rni.f64.f64", w.op(f64, "mul.rn.f64", d, double(2/math.Pi)))
	r := w.op(f32, "cvt.rn.f32.f64", w.op(f64, "fma.rn.f64", q, double(-math.Pi/2), d))
	quarter = w.op(b32, "cvt.rni.s32.f64", q)
	// Of numbers beyond all digits something between -1 and 1 is left, of those beyond all numbers nothing.
	inside := w.f("max", w.f("min", r, float(math.Pi/4+1e-3)), float(-math.Pi/4-1e-3))
	r = w.f("selp", inside, float(math.NaN()), w.op(pred, "setp.lt.f32", w.f("abs", x), float(math.Inf(1))))
	z := w.f("mul.rn", r, r)
	sin = w.f("fma.rn", w.f("mul.rn", w.polynomial(z, -1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4), z), r, r)
	cos = w.polynomial(z, 1, -0.5, 4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5)
	if n := len(w.scopes); n > 0 {
		for len(w.turns) < n {
			w.turns = append(w.turns, map[string]turn{})
		}
		w.turns[n-1][x] = turn{sin, cos, quarter}
	}
	return sin, cos, quarter
}

package main

// one wraps a function of one lane value.
func one(f func(b *body, x *node) *node) func(*body, []*node) []*node {
	return func(b *body, in []*node) []*node { return []*node{f(b, in[0])} }
}

func two(f func(b *body, x, y *node) *node) func(*body, []*node) []*node {
	return func(b *body, in []*node) []*node { return []*node{f(b, in[0], in[1])} }
}

func unary(name, index string, f func(b *body, x *node) *node) *kern {
	return newKern(name, "unary["+index+"]", one(f), out("dst", "float32"), vec("x", "float32"))
}

// variants makes the vector-vector, vector-scalar and scalar-vector kernels of one operation.
func variants(name, table, index, typ, res string, f func(b *body, x, y *node) *node) []*kern {
	slot := func(v string) string { return table + v + "[" + index + "]" }
	return []*kern{
		newKern(name+"VV", slot("VV"), two(f), out("dst", res), vec("x", typ), vec("y", typ)),
		newKern(name+"VS", slot("VS"), two(f), out("dst", res), vec("x", typ), scl("y", typ)),
		newKern(name+"SV", slot("SV"), two(f), out("dst", res), scl("x", typ), vec("y", typ)),
	}
}

// maximum has NaN win, and +0 above -0.
func maximum(b *body, x, y *node) *node {
	r := b.MaxX(x, y)
	r = b.Sel(b.Cmp(opEQ, x, y), b.And(x, y), r)
	return b.Sel(b.Cmp(opNE, x, x), x, r)
}

func minimum(b *body, x, y *node) *node {
	r := b.MinX(x, y)
	r = b.Sel(b.Cmp(opEQ, x, y), b.Or(x, y), r)
	return b.Sel(b.Cmp(opNE, x, x), x, r)
}

func relu(b *body, x *node) *node { return maximum(b, x, b.F(0)) }

func sign(b *body, x *node) *node {
	s := b.Or(b.And(x, b.FB(0x80000000)), b.F(1))
	pass := b.MOr(b.Cmp(opEQ, x, b.F(0)), b.Cmp(opNE, x, x))
	return b.Sel(pass, x, s)
}

// toInt truncates, saturates and sends NaN to zero.
func toInt(b *body, x *node) *node {
	r := b.Trunc(b.MaxX(b.MinX(x, b.FB(0x4effffff)), b.F(-1<<31)))
	r = b.Sel(b.Cmp(opGE, x, b.F(1<<31)), b.I(0x7fffffff), r)
	return b.Sel(b.Cmp(opNE, x, x), b.I(0), r)
}

// fromUint adds the halves of an unsigned integer: the high half is exact, so the sum rounds once.
func fromUint(b *body, x *node) *node {
	hi := b.Float(b.Shr(x, 16))
	lo := b.Float(b.And(x, b.I(0xffff)))
	return b.Add(b.Mul(hi, b.F(65536)), lo)
}

func kernels() []*kern {
	ks := []*kern{
		unary("neg", "Neg", func(b *body, x *node) *node { return b.Xor(x, b.FB(0x80000000)) }),
		unary("abs", "Abs", func(b *body, x *node) *node { return b.Abs(x) }),
		unary("sign", "Sign", sign),
		unary("sqrt", "Sqrt", func(b *body, x *node) *node { return b.Sqrt(x) }),
		unary("rsqrt", "Rsqrt", func(b *body, x *node) *node { return b.Div(b.F(1), b.Sqrt(x)) }),
		unary("exp", "Exp", exp),
		unary("expm1", "Expm1", expm1),
		unary("log", "Log", logF),
		unary("log1p", "Log1p", log1p),
		unary("tanh", "Tanh", tanh),
		unary("logistic", "Logistic", logistic),
		unary("erf", "Erf", erf),
		unary("floor", "Floor", func(b *body, x *node) *node { return b.Round(x, 1) }),
		unary("ceil", "Ceil", func(b *body, x *node) *node { return b.Round(x, 2) }),
		unary("round", "Round", func(b *body, x *node) *node { return b.Round(x, 0) }),
		unary("relu", "Relu", relu),
		unary("sinCore", "Sin", sine),
		unary("cosCore", "Cos", cosine),
		newKern("intToFloat", "intToFloat", one(func(b *body, x *node) *node { return b.Float(x) }), out("dst", "float32"), vec("x", "int32")),
		newKern("uintToFloat", "uintToFloat", one(fromUint), out("dst", "float32"), vec("x", "uint32")),
		newKern("floatToInt", "floatToInt", one(toInt), out("dst", "int32"), vec("x", "float32")),
		newKern("boolToFloat", "boolToFloat", one(func(b *body, x *node) *node { return b.Sel(x, b.F(1), b.F(0)) }), out("dst", "float32"), vec("x", "bool")),
		newKern("tanhGrad", "tanhGrad", two(func(b *body, g, y *node) *node {
			return b.Mul(g, b.Sub(b.F(1), b.Mul(y, y)))
		}), out("dst", "float32"), vec("g", "float32"), vec("y", "float32")),
	}
	for _, o := range []struct {
		name, index string
		f           func(b *body, x *node) *node
	}{{"addTanh", "Tanh", tanh}, {"addRelu", "Relu", relu}, {"addLogistic", "Logistic", logistic}} {
		f := func(b *body, x, y *node) *node { return o.f(b, b.Add(x, y)) }
		ks = append(ks, newKern(o.name, "addAct["+o.index+"]", two(f), out("dst", "float32"), vec("x", "float32"), vec("y", "float32")))
	}
	ks = append(ks, selects()...)
	return append(ks, binaries()...)
}

func selects() []*kern {
	f := func(b *body, in []*node) []*node { return []*node{b.Sel(in[0], in[1], in[2])} }
	const t = "float32"
	cond := vec("cond", "bool")
	return []*kern{
		newKern("selectVV", "selectVV", f, out("dst", t), cond, vec("x", t), vec("y", t)),
		newKern("selectVS", "selectVS", f, out("dst", t), cond, vec("x", t), scl("y", t)),
		newKern("selectSV", "selectSV", f, out("dst", t), cond, scl("x", t), vec("y", t)),
	}
}

func binaries() []*kern {
	type fn = func(b *body, x, y *node) *node
	var ks []*kern
	for _, o := range []struct {
		name, index string
		f           fn
	}{
		{"add", "Add", (*body).Add}, {"sub", "Sub", (*body).Sub}, {"mul", "Mul", (*body).Mul},
		{"div", "Div", (*body).Div}, {"max", "Max", maximum}, {"min", "Min", minimum}, {"pow", "Pow", pow},
	} {
		ks = append(ks, variants(o.name, "binary", o.index, "float32", "float32", o.f)...)
	}
	for _, o := range []struct {
		name, index string
		f           fn
	}{
		{"bitAnd", "BitAnd", (*body).And}, {"bitOr", "BitOr", (*body).Or}, {"bitXor", "BitXor", (*body).Xor},
		{"shl", "Shl", (*body).ShlV}, {"shr", "Shr", (*body).ShrV}, {"sra", "Sra", (*body).SraV},
		{"addU", "AddU", (*body).Add}, {"subU", "SubU", (*body).Sub}, {"mulU", "MulU", (*body).Mul},
	} {
		ks = append(ks, variants(o.name, "bits", o.index, "uint32", "uint32", o.f)...)
	}
	for _, o := range []struct {
		name, index string
		op          op
	}{
		{"eq", "Equal", opEQ}, {"ne", "NotEqual", opNE}, {"lt", "Less", opLT}, {"le", "LessEqual", opLE},
		{"gt", "Greater", opGT}, {"ge", "GreaterEqual", opGE},
	} {
		f := func(b *body, x, y *node) *node { return b.Cmp(o.op, x, y) }
		ks = append(ks, variants(o.name, "compare", o.index, "float32", "bool", f)[:2]...)
	}
	return ks
}

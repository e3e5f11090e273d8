package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// goFunc writes a body as a scalar Go function: the twin.
func goFunc(name string, k *kern) string {
	var w strings.Builder
	b, ins, outs := k.build()
	live := liveNodes(b, outs)
	names := map[*node]string{}
	var params []string
	for i, n := range ins {
		names[n] = k.ins[i].name
		params = append(params, k.ins[i].name+" "+goScalar(n.kind))
	}
	var results, rets []string
	for _, o := range outs {
		results = append(results, goScalar(o.kind))
	}
	fmt.Fprintf(&w, "func %s(%s) (%s) {\n", name, strings.Join(params, ", "), strings.Join(results, ", "))
	for _, n := range b.nodes {
		if n.op == opInput || !live[n] {
			continue
		}
		if n.op == opConst {
			names[n] = goConst(n)
			continue
		}
		if n.op == opFourth {
			continue
		}
		names[n] = "v" + strconv.Itoa(n.id)
		fmt.Fprintf(&w, "\t%s := %s\n", names[n], goExpr(n, names))
	}
	for _, o := range outs {
		rets = append(rets, names[o])
	}
	fmt.Fprintf(&w, "\treturn %s\n}\n\n", strings.Join(rets, ", "))
	return w.String()
}

func liveNodes(b *body, outs []*node) map[*node]bool {
	live := map[*node]bool{}
	for _, o := range outs {
		live[o] = true
	}
	for i := len(b.nodes) - 1; i >= 0; i-- {
		if n := b.nodes[i]; live[n] {
			for _, a := range n.args {
				live[a] = true
			}
		}
	}
	return live
}

func goScalar(k kind) string { return [...]string{"float32", "int32", "float64", "bool"}[k] }

func goConst(n *node) string {
	switch n.kind {
	case i32:
		return fmt.Sprintf("int32(%d)", int32(uint32(n.imm)))
	case f64:
		return fmt.Sprintf("float64(%s)", strconv.FormatFloat(math.Float64frombits(n.imm), 'g', -1, 64))
	}
	v := math.Float32frombits(uint32(n.imm))
	if v != v || v > math.MaxFloat32 || v < -math.MaxFloat32 || n.imm == 0x80000000 || n.imm&0x7f800000 == 0 && n.imm != 0 {
		return fmt.Sprintf("math.Float32frombits(0x%08x)", n.imm)
	}
	return fmt.Sprintf("float32(%s)", strconv.FormatFloat(float64(v), 'g', -1, 32))
}

var goInfix = map[op]string{opAdd: "+", opSub: "-", opMul: "*", opDiv: "/", opAnd: "&", opOr: "|", opXor: "^",
	opEQ: "==", opNE: "!=", opLT: "<", opLE: "<=", opGT: ">", opGE: ">=", opMaskAnd: "&&", opMaskOr: "||"}

var goCall = map[op]string{opMinX: "minX", opMaxX: "maxX", opShlV: "shlV", opShrV: "shrV", opSraV: "sraV",
	opTrunc: "int32", opFloat: "float32", opWide: "float64", opNarrow: "float32", opInt: "int32", opPow2D: "pow2D", opSign: "withSign"}

// goExpr writes one primitive. Explicit conversions keep the compiler from fusing a product with a
// sum.
func goExpr(n *node, names map[*node]string) string {
	a := make([]string, len(n.args))
	for i, x := range n.args {
		a[i] = names[x]
	}
	switch n.op {
	case opAdd, opSub, opMul, opDiv:
		return fmt.Sprintf("%s(%s %s %s)", goScalar(n.kind), a[0], goInfix[n.op], a[1])
	case opAnd, opOr, opXor:
		if n.kind == f32 {
			return fmt.Sprintf("math.Float32frombits(math.Float32bits(%s) %s math.Float32bits(%s))", a[0], goInfix[n.op], a[1])
		}
		return fmt.Sprintf("%s %s %s", a[0], goInfix[n.op], a[1])
	case opEQ, opNE, opLT, opLE, opGT, opGE, opMaskAnd, opMaskOr:
		return fmt.Sprintf("%s %s %s", a[0], goInfix[n.op], a[1])
	case opMaskNot:
		return "!" + a[0]
	case opSqrt:
		return fmt.Sprintf("float32(math.Sqrt(float64(%s)))", a[0])
	case opFMA, opFNMA:
		return goFMA(n, a)
	case opRound:
		f := [...]string{"math.RoundToEven", "math.Floor", "math.Ceil", "math.Trunc"}[n.imm]
		return fmt.Sprintf("float32(%s(float64(%s)))", f, a[0])
	case opShl:
		return fmt.Sprintf("%s << %d", a[0], n.imm)
	case opShr:
		return fmt.Sprintf("int32(uint32(%s) >> %d)", a[0], n.imm)
	case opSra:
		return fmt.Sprintf("%s >> %d", a[0], n.imm)
	case opBits:
		if n.kind == i32 {
			return fmt.Sprintf("int32(math.Float32bits(%s))", a[0])
		}
		return fmt.Sprintf("math.Float32frombits(uint32(%s))", a[0])
	case opLookup:
		return fmt.Sprintf("math.Float32frombits(tanhTable[%d][%s&15])", n.imm, a[0])
	case opSel:
		return fmt.Sprintf("sel(%s, %s, %s)", a[0], a[1], a[2])
	}
	return fmt.Sprintf("%s(%s)", goCall[n.op], strings.Join(a, ", "))
}

func goFMA(n *node, a []string) string {
	f, x := "fma32", a[0]
	if n.kind == f64 {
		f = "math.FMA"
	}
	if n.op == opFNMA {
		x = "-" + x
	}
	return fmt.Sprintf("%s(%s, %s, %s)", f, x, a[1], a[2])
}

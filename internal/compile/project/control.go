package project

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
)

// inside lists the constructs that a statement of the program stands in.
type inside struct {
	loop   *line     // the innermost, nil at the top
	device bool      // that is the program's, or the iteration itself
	branch bool      // in a branch of the program, inside that loop
	stop   *variable // set when the loop is to end
}

// translate turns lines of Go into lines of the program.
func (d *device) translate(list []*line) []*line {
	d.survey(list)
	lines := d.lines(list, inside{device: true})
	for v, c := range d.numbers {
		if c != known {
			if !computable(v.typ) && !d.alone(v) {
				d.bad(v.pos(), fmt.Sprintf("%s is of type %s; numbers of a device program are of type int, int64, float64 or bool", v.name, v.typ))
			}
			v.typ = d.rlType("Tensor")
		}
	}
	for v := range d.index {
		v.typ = d.rlType("Int")
	}
	return d.tidy(lines)
}

func (d *device) lines(list []*line, at inside) (out []*line) {
	for i, n := range list {
		d.pos = n.pos
		rest := list[i+1:]
		switch {
		case n.word == "if":
			more, whole := d.branchLine(n, rest, at)
			out = append(out, more...)
			if whole {
				return out
			}
		case n.word != "":
			out = append(out, d.loopLine(n, at))
		case isJump(n):
			return append(out, d.jump(n, at)...)
		default:
			out = append(out, d.simple(n)...)
		}
	}
	return out
}

func isJump(n *line) bool { return n.tok == token.BREAK || n.tok == token.CONTINUE }

// jump translates a break or a continue.
func (d *device) jump(n *line, at inside) []*line {
	back := &line{pos: n.pos, tok: token.RETURN}
	switch {
	case !at.device && !at.branch:
		return []*line{n}
	case n.tok == token.CONTINUE:
		return []*line{back}
	case at.loop == nil:
		d.bad(n.pos, "the loop over run.Next ends by its budget; a break cannot be part of a device program")
		return nil
	case at.stop == nil:
		d.bad(n.pos, "a loop that is written out cannot end by what is known only when the device program runs; use its index in keys and for minibatches alone")
		return nil
	}
	return []*line{d.assign(n.pos, d.ref(at.stop), d.runCall("Number", ast.NewIdent("true"))), back}
}

// leaves reports whether lines leave a round of the loop that they stand in; breaks
// whether they end it.
func leaves(list []*line, toks ...token.Token) bool {
	return slices.ContainsFunc(list, func(n *line) bool {
		return slices.Contains(toks, n.tok) || n.word == "if" && slices.ContainsFunc(n.arms, func(a []*line) bool { return leaves(a, toks...) })
	})
}

// branchLine translates a branch; whole is true where the rest of the block went
// into one of its arms.
func (d *device) branchLine(n *line, rest []*line, at inside) (out []*line, whole bool) {
	if d.class(n.head[0]) == known {
		return d.goBranch(n, rest, at), false
	}
	if len(n.arms) < 2 {
		n.arms = append(n.arms, nil)
	}
	if whole = leaves([]*line{n}, token.BREAK, token.CONTINUE); whole && len(rest) > 0 {
		open := 0
		for i, a := range n.arms {
			if len(a) == 0 || !isJump(a[len(a)-1]) {
				n.arms[i] = append(slices.Clip(a), rest...)
				open++
			}
		}
		if open > 1 {
			d.bad(n.pos, "what follows would be done in two branches of the device program; leave the round in one of them")
			return nil, true
		}
	}
	return d.deviceBranch(n, at), whole
}

// goBranch translates a branch that Go decides while the program is built.
func (d *device) goBranch(n *line, rest []*line, at inside) []*line {
	if len(rest) > 0 && d.hides(n) {
		d.bad(n.pos, "a round is left by what is known only when the device program runs, inside a branch of the configuration: write the two conditions as one, or what follows as its else")
	}
	d.rewriteAll(n.head)
	for i, a := range n.arms {
		n.arms[i] = d.lines(a, at)
	}
	return []*line{n}
}

// hides reports whether there are jumps in branches of the program inside.
func (d *device) hides(n *line) bool {
	return slices.ContainsFunc(n.arms, func(a []*line) bool {
		return slices.ContainsFunc(a, func(x *line) bool {
			if x.word != "if" {
				return false
			}
			return d.class(x.head[0]) != known && leaves([]*line{x}, token.BREAK, token.CONTINUE) || d.class(x.head[0]) == known && d.hides(x)
		})
	})
}

// deviceBranch translates a branch that the program decides.
func (d *device) deviceBranch(n *line, at inside) []*line {
	d.pos = n.pos
	for _, a := range n.arms {
		d.steady(a, "a branch of the device program")
		d.applied(a)
	}
	cond := d.tensor(n.head[0])
	then, other := n.arms[0], n.arms[1]
	if s := at.stop; s != nil && len(then) == 1 && then[0].tok == token.BREAK && len(other) == 0 {
		return []*line{d.assignLine(n, d.ref(s), cond)}
	}
	lasting := d.lasting(slices.Concat(then, other))
	if at.stop != nil && (leaves(then, token.BREAK) || leaves(other, token.BREAK)) {
		lasting = append(lasting, at.stop)
	}
	out := &line{pos: n.pos, word: "If", head: append([]ast.Expr{cond}, d.carry(lasting)...), from: n.from}
	at.branch = true
	for _, a := range n.arms {
		out.arms = append(out.arms, trimmed(d.lines(a, at)))
	}
	return []*line{out}
}

// trimmed leaves a return at the end out.
func trimmed(list []*line) []*line {
	if n := len(list); n > 0 && list[n-1].tok == token.RETURN {
		return list[:n-1]
	}
	return list
}

// steady refuses what has to be done equally often in every iteration.
func (d *device) steady(list []*line, where string) {
	for _, id := range d.nodes(list) {
		x := d.g.Nodes[id]
		steady := slices.ContainsFunc(x.Writes, func(r int) bool { return d.g.Resources[r].Steady })
		if x.Kind == fdg.Step || steady {
			d.bad(d.src.Pos(id), fmt.Sprintf("%s stands in %s, so that how many steps an iteration has would not be known beforehand", x.Text, where))
		}
	}
}

// applied refuses gradients that are applied in a branch of the program and come
// from before it: applying uses them up, and both ways are built.
func (d *device) applied(list []*line) {
	inside := d.written(list)
	each(list, func(n *line) {
		if n.tok != token.ASSIGN || len(n.lhs) > 0 {
			return
		}
		call, ok := n.rhs[0].(*ast.CallExpr)
		if ok && d.src.Word(d.callee(call)).Kind == fdg.Apply && !slices.Contains(inside, d.root(call.Args[0])) {
			d.bad(n.pos, "a gradient is applied in a branch of the device program and computed before it; compute it in the branch, too")
		}
	})
}

// carry returns the arguments by which a loop or branch of the program is told
// what it changes.
func (d *device) carry(list []*variable) []ast.Expr {
	for _, v := range list {
		if !d.tensors(v.typ) && d.numbers[v]&traced == 0 {
			d.bad(d.pos, fmt.Sprintf("%s is changed in a loop or branch of the device program, and is neither tensors nor a number; use a variable of its own for each number", v.name))
		}
	}
	return d.carryAll(list)
}

// loopLine translates a loop.
func (d *device) loopLine(n *line, at inside) *line {
	if slices.ContainsFunc(n.head, func(e ast.Expr) bool { return d.class(e) != known }) {
		d.bad(n.pos, "how many rounds the loop has is not the configuration's, so that it cannot be part of a device program")
		return n
	}
	if !d.loops[n] {
		d.rewriteAll(n.head)
		n.arms[0] = d.lines(n.arms[0], inside{loop: n})
		return n
	}
	body := n.arms[0]
	out := &line{pos: n.pos, word: "For", ranged: true, key: n.key, from: n.from}
	in := inside{loop: n, device: true}
	out.head = append([]ast.Expr{d.rewrite(n.head[0])}, d.carry(d.lasting(body))...)
	if leaves(body, token.BREAK) {
		d.steady(body, "a loop that may end early")
		in.stop = d.variable("stop", nil)
		in.stop.typ = d.rlType("Tensor")
		out.stop = in.stop
	}
	lines := trimmed(d.lines(body, in))
	if out.stop != nil {
		lines = append(lines, &line{pos: n.pos, tok: token.RETURN, rhs: []ast.Expr{d.ref(out.stop)}})
	}
	out.arms = [][]*line{lines}
	return out
}

// simple translates an assignment or a call.
func (d *device) simple(n *line) []*line {
	if n.tok == token.RETURN {
		return []*line{n}
	}
	if len(n.lhs) == 1 && len(n.rhs) == 0 { // VAR, INC or DEC
		e := n.lhs[0]
		switch v := d.of(e); {
		case v == nil || d.numbers[v] == known:
			n.lhs[0] = d.rewrite(e)
			return []*line{n}
		case n.tok == token.VAR:
			return []*line{d.assignLine(n, e, d.runCall("Number", zeroOf(v.typ)))}
		}
		return []*line{d.assignLine(n, e, d.runCall("Calc", e, text(n.tok.String()[:1]), &ast.BasicLit{Kind: token.INT, Value: "1"}))}
	}
	return d.assigned(n)
}

func (d *device) assignLine(n *line, lhs, rhs ast.Expr) *line {
	return &line{pos: n.pos, tok: token.ASSIGN, lhs: []ast.Expr{lhs}, rhs: []ast.Expr{rhs}, pure: n.pure, from: n.from}
}

func (d *device) assigned(n *line) []*line {
	if len(n.lhs) != len(n.rhs) {
		d.rewriteAll(n.rhs)
		d.targets(n)
		return []*line{n}
	}
	var lhs, rhs []ast.Expr
	for i, e := range n.lhs {
		v := d.of(e)
		value := n.rhs[i]
		switch {
		case v == nil || d.numbers[v] == known:
			value, e = d.rewrite(value), d.rewrite(e)
		case d.alone(v):
			b := v.typ.Underlying().(*types.Basic)
			if b.Info()&types.IsFloat == 0 {
				continue // it stands for what it was given
			}
			n.pure = true
			value = d.runCall("HostFloat", d.closure(value, v.typ))
		case n.tok != token.ASSIGN && n.tok != token.DEFINE:
			op := strings.TrimSuffix(n.tok.String(), "=")
			value = d.runCall("Calc", d.ref(v), text(op), d.operand(value))
			n.tok = token.ASSIGN
		default:
			value = d.tensor(value)
		}
		lhs, rhs = append(lhs, e), append(rhs, value)
	}
	if len(lhs) == 0 {
		return nil
	}
	n.lhs, n.rhs = lhs, rhs
	return []*line{n}
}

// targets sees that a call's results go to what can hold them.
func (d *device) targets(n *line) {
	for i, e := range n.lhs {
		if v := d.of(e); v != nil && d.numbers[v] != known {
			d.bad(d.pos, fmt.Sprintf("%s is one of several results, and a number that is not known while the device program is built; return it alone", v.name))
		} else if v == nil {
			n.lhs[i] = d.rewrite(e)
		}
	}
}

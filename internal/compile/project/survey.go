package project

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"

	"github.com/weft-rl/weft/internal/compile/tree"
)

// survey finds out which loops become the program's, and who knows each number.
func (d *device) survey(list []*line) {
	d.given, d.total = map[*variable][]gift{}, d.mentioned(list)
	for _, v := range d.params {
		d.total[v]++
	}
	d.loops, d.index = map[*line]bool{}, map[*variable]bool{}
	each(list, d.counting)
	d.gives(list, nil)
	d.choose(list)
	for {
		clear(d.numbers)
		for d.learn() {
		}
		if !d.demote(list) {
			break
		}
	}
}

// counting turns for i := 0; i < n; i++ into a range over n.
func (d *device) counting(n *line) {
	if n.word != "for" || n.ranged || n.init == nil || n.post == nil || len(n.head) != 1 {
		return
	}
	cond, ok := n.head[0].(*ast.BinaryExpr)
	if !ok || cond.Op != token.LSS || n.post.tok != token.INC || n.init.tok != token.DEFINE || len(n.init.lhs) != 1 {
		return
	}
	zero, isZero := n.init.rhs[0].(*ast.BasicLit)
	i := n.init.lhs[0]
	if !isZero || zero.Value != "0" || !isName(i) || d.of(cond.X) != d.of(i) || d.of(n.post.lhs[0]) != d.of(i) {
		return
	}
	bound := false // by what the loop changes
	written := d.written(n.arms[0])
	d.mentions(cond.Y, func(v *variable) { bound = bound || slices.Contains(written, v) })
	if bound || slices.Contains(written, d.of(i)) {
		return
	}
	n.ranged, n.counts, n.key, n.head = true, true, d.of(i), []ast.Expr{cond.Y}
	n.init, n.post = nil, nil
}

// gift is a value that a variable is given.
type gift struct {
	value  ast.Expr // what it is, or is made of; nil if it is no expression
	around []*line  // loops and branches
}

// gives notes the values that lines assign to variables.
func (d *device) gives(list, around []*line) {
	for _, n := range list {
		for _, a := range n.arms {
			d.gives(a, append(slices.Clip(around), n))
		}
		for _, x := range []*line{n, n.init, n.post} {
			if x == nil {
				continue
			}
			read, write := x.exprs()
			for i, e := range write {
				var value ast.Expr
				if len(read) > 0 {
					value = d.copy(read[min(i, len(read)-1)])
				}
				d.given[d.root(e)] = append(d.given[d.root(e)], gift{value, around})
			}
		}
	}
}

// written returns the variables that lines give values, in order.
func (d *device) written(list []*line) []*variable {
	found := d.assigns(list)
	maps.DeleteFunc(found, func(v *variable, _ int) bool { return v.fixed })
	return sorted(found)
}

// lasting returns the variables that lines change and that others mention.
func (d *device) lasting(list []*line) (out []*variable) {
	inside := d.mentioned(list)
	for _, v := range d.written(list) {
		if d.total[v] > inside[v] {
			out = append(out, v)
		}
	}
	return out
}

// choose makes those loops the program's that count, do something and use their
// index for keys and minibatches alone; others are written out.
func (d *device) choose(list []*line) {
	each(list, func(n *line) {
		if n.word == "for" && n.ranged && n.counts && isInt(d.typeOf(n.head[0])) && len(d.nodes(n.arms[0])) > 0 && d.plain(n) && !d.grows(n) {
			d.loops[n] = true
			if n.key != nil {
				d.index[n.key] = true
			}
		}
	})
}

// plain reports whether a loop's index only names draws and minibatches.
func (d *device) plain(n *line) bool {
	if n.key == nil {
		return true
	}
	uses := 0
	each(n.arms[0], func(x *line) {
		read, write := x.exprs()
		for _, e := range append(read, write...) {
			for call := range tree.Nodes[*ast.CallExpr](e) {
				uses += d.places(call, n.key)
			}
		}
	})
	return uses == d.mentioned(n.arms[0])[n.key]
}

// places counts the arguments of a call that may be an index of the program's.
func (d *device) places(call *ast.CallExpr, v *variable) (n int) {
	w := d.src.Word(d.callee(call))
	if w.Device == "" || w.Index < 0 {
		return 0
	}
	for i, a := range call.Args {
		if (i == w.Index || i > w.Index && w.Indices) && d.of(a) == v {
			n++
		}
	}
	return n
}

// grows reports whether a loop makes a slice longer, round by round, or changes
// what is no tensor and no number.
func (d *device) grows(n *line) (yes bool) {
	for _, v := range d.lasting(n.arms[0]) {
		yes = yes || !isNumber(v.typ) && !d.tensors(v.typ)
	}
	each(n.arms[0], func(n *line) {
		read, _ := n.exprs()
		yes = yes || slices.ContainsFunc(read, func(e ast.Expr) bool {
			call, ok := e.(*ast.CallExpr)
			return ok && d.builtin(call) == "append"
		})
	})
	return yes
}

// learn goes through what numbers are given once, and reports whether it found more
// than was known.
func (d *device) learn() (changed bool) {
	for v, list := range d.given {
		if v == nil || !isNumber(v.typ) {
			continue
		}
		c := d.numbers[v]
		for _, g := range list {
			if g.value != nil {
				c |= d.class(g.value)
			}
			if slices.ContainsFunc(g.around, func(n *line) bool { return d.decides(n) && d.total[v] > d.mentioned([]*line{n})[v] }) {
				c |= traced // which way was taken decides
			}
		}
		if c&counted != 0 && len(list) > 1 {
			c |= traced
		}
		changed = changed || c != d.numbers[v]
		d.numbers[v] = c
	}
	return changed
}

// decides reports whether a line is a branch of the program, or one of its loops that
// may end early.
func (d *device) decides(n *line) bool {
	return n.word == "if" && d.class(n.head[0]) != known || d.loops[n] && leaves(n.arms[0], token.BREAK)
}

// demote writes those loops out that change a number of Go's, and reports whether
// there were any.
func (d *device) demote(list []*line) (changed bool) {
	each(list, func(n *line) {
		if !d.loops[n] {
			return
		}
		for _, v := range d.lasting(n.arms[0]) {
			if isNumber(v.typ) && d.numbers[v]&traced == 0 {
				delete(d.loops, n)
				delete(d.index, n.key)
				changed = true
				return
			}
		}
	})
	return changed
}

package project

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
)

// survey finds out which loops become the program's, and who knows each number.
func (d *device) survey(list []*line) {
	d.given, d.total = map[*variable][]ast.Expr{}, d.mentioned(list)
	for _, v := range d.params {
		d.total[v]++
	}
	d.loops, d.index = map[*line]bool{}, map[*variable]bool{}
	each(list, func(n *line) {
		d.counting(n)
		d.gives(n)
	})
	d.choose(list)
	for {
		clear(d.numbers)
		for d.learn(list, nil) {
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
	first, ok := n.init.stmt.(*ast.AssignStmt)
	cond, isLess := n.head[0].(*ast.BinaryExpr)
	post, isInc := n.post.stmt.(*ast.IncDecStmt)
	if !ok || !isLess || !isInc || cond.Op != token.LSS || post.Tok != token.INC || first.Tok != token.DEFINE || len(first.Lhs) != 1 {
		return
	}
	zero, isZero := first.Rhs[0].(*ast.BasicLit)
	i, isName := first.Lhs[0].(*ast.Ident)
	if !isZero || zero.Value != "0" || !isName || d.of(cond.X) != d.of(i) || d.of(post.X) != d.of(i) {
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

// gives notes the values that a line assigns to variables.
func (d *device) gives(n *line) {
	if n.zero != nil {
		d.given[n.zero] = append(d.given[n.zero], nil)
	}
	switch s := n.stmt.(type) {
	case *ast.AssignStmt:
		for i, e := range s.Lhs {
			v := d.root(e)
			if v == nil {
				continue
			}
			var rhs ast.Expr
			if len(s.Lhs) == len(s.Rhs) && isName(e) && (s.Tok == token.ASSIGN || s.Tok == token.DEFINE) {
				rhs = d.copy(s.Rhs[i])
			}
			d.given[v] = append(d.given[v], rhs)
		}
	case *ast.IncDecStmt:
		if v := d.root(s.X); v != nil {
			d.given[v] = append(d.given[v], nil)
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
			ast.Inspect(e, func(x ast.Node) bool {
				if call, ok := x.(*ast.CallExpr); ok {
					uses += d.places(call, n.key)
				}
				return true
			})
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
		yes = yes || !isNumber(v.typ) && !tensors(v.typ)
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

// learn goes through lines once and reports whether it found more than was known.
// around are the branches of the program that they stand in, and its loops that may
// end early.
func (d *device) learn(list []*line, around []*line) (changed bool) {
	for _, n := range list {
		inner := around
		if n.word == "if" && d.class(n.head[0]) != known {
			inner = append(around[:len(around):len(around)], n)
		}
		if d.loops[n] && leaves(n.arms[0], token.BREAK) { // how many rounds there are decides
			inner = append(around[:len(around):len(around)], n)
		}
		for _, a := range n.arms {
			changed = d.learn(a, inner) || changed
		}
		for _, x := range []*line{n, n.init, n.post} {
			if x != nil {
				changed = d.learnLine(x, around) || changed
			}
		}
	}
	return changed
}

func (d *device) learnLine(n *line, around []*line) (changed bool) {
	more := func(v *variable, c number) {
		if v == nil || !isNumber(v.typ) {
			return
		}
		for _, b := range around {
			if d.total[v] > d.mentioned([]*line{b})[v] {
				c |= traced // which way was taken decides
			}
		}
		c |= d.numbers[v]
		if c&counted != 0 && len(d.given[v]) > 1 {
			c |= traced
		}
		changed = changed || c != d.numbers[v]
		d.numbers[v] = c
	}
	if n.zero != nil {
		more(n.zero, known)
	}
	switch s := n.stmt.(type) {
	case *ast.AssignStmt:
		for i, e := range s.Lhs {
			rhs := s.Rhs[0]
			if len(s.Lhs) == len(s.Rhs) {
				rhs = s.Rhs[i]
			}
			more(d.of(e), d.class(rhs))
		}
	case *ast.IncDecStmt:
		more(d.of(s.X), known)
	}
	return changed
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

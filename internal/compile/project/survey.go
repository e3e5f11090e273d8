package project

import (
	"go/ast"
	"go/token"
	"go/types"
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

// mentioned counts how often lines mention variables.
func (m *emitter) mentioned(list []*line) map[*variable]int {
	out := map[*variable]int{}
	each(list, func(n *line) {
		read, write := n.exprs()
		for _, e := range append(read, write...) {
			m.mentions(e, func(v *variable) { out[v]++ })
		}
		if n.zero != nil {
			out[n.zero]++
		}
	})
	return out
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
	written := d.written(n.arms[0].body)
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
	found := map[*variable]bool{}
	note := func(e ast.Expr) {
		if v := d.root(e); v != nil && !v.fixed {
			found[v] = true
		}
	}
	each(list, func(n *line) {
		if n.zero != nil {
			found[n.zero] = true
		}
		switch s := n.stmt.(type) {
		case *ast.AssignStmt:
			for _, e := range s.Lhs {
				note(e)
			}
		case *ast.IncDecStmt:
			note(s.X)
		}
	})
	return slices.SortedFunc(maps.Keys(found), func(a, b *variable) int { return a.id - b.id })
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
		if n.word == "for" && n.ranged && n.counts && isInt(d.typeOf(n.head[0])) && d.works(n) && d.plain(n) && !d.grows(n) {
			d.loops[n] = true
			if n.key != nil {
				d.index[n.key] = true
			}
		}
	})
}

// works reports whether a loop has operations in it.
func (d *device) works(n *line) (yes bool) {
	each(n.arms[0].body, func(n *line) { yes = yes || len(n.nodes) > 0 })
	return yes
}

// plain reports whether a loop's index only names draws and minibatches.
func (d *device) plain(n *line) bool {
	if n.key == nil {
		return true
	}
	uses := 0
	each(n.arms[0].body, func(x *line) {
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
	return uses == d.mentioned(n.arms[0].body)[n.key]
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
func (d *device) grows(n *line) bool {
	body := n.arms[0].body
	for _, v := range d.lasting(body) {
		if !isNumber(v.typ) && !d.src.IsBatch(v.typ) {
			return true
		}
	}
	yes := d.mixes(body) != nil
	each(body, func(n *line) {
		s, ok := n.stmt.(*ast.AssignStmt)
		if !ok {
			return
		}
		for _, e := range s.Rhs {
			call, ok := e.(*ast.CallExpr)
			yes = yes || ok && d.builtin(call) == "append"
		}
	})
	return yes
}

// mixes returns a line that gives a number inside a struct or a slice a value,
// which lives on behind the lines; nil if there is none.
func (d *device) mixes(list []*line) (at *line) {
	lasting := d.lasting(list)
	each(list, func(n *line) {
		_, write := n.exprs()
		for _, e := range write {
			if v := d.root(e); slices.Contains(lasting, v) && !(isName(e) && isNumber(v.typ)) && d.numeric(d.typeOf(e)) {
				at = n
			}
		}
	})
	return at
}

// numeric reports whether there are numbers of Go's in values of a type.
func (d *device) numeric(t types.Type) bool {
	if t == nil || tensors(t) {
		return false
	}
	switch t.Underlying().(type) {
	case *types.Basic:
		return true
	case *types.Slice, *types.Array:
		return d.numeric(elementOf(t))
	case *types.Struct:
		return slices.ContainsFunc(d.open(t), func(f *types.Var) bool { return d.numeric(f.Type()) })
	}
	return false
}

// learn goes through lines once and reports whether it found more than was known.
// around are the branches of the program that they stand in, and its loops that may
// end early.
func (d *device) learn(list []*line, around []*line) (changed bool) {
	for _, n := range list {
		inner := around
		if (n.word == "if" || n.word == "switch") && d.decided(n) != known {
			inner = append(around[:len(around):len(around)], n)
		}
		if d.loops[n] && leaves(n.arms[0].body, token.BREAK) { // how many rounds there are decides
			inner = append(around[:len(around):len(around)], n)
		}
		for _, a := range n.arms {
			changed = d.learn(a.body, inner) || changed
		}
		for _, x := range []*line{n, n.init, n.post} {
			if x != nil {
				changed = d.learnLine(x, around) || changed
			}
		}
	}
	return changed
}

// decided returns who knows which way a branch takes.
func (d *device) decided(n *line) (c number) {
	for _, e := range n.head {
		c |= d.class(e)
	}
	for _, a := range n.arms {
		for _, e := range a.list {
			c |= d.class(e)
		}
	}
	return c
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
		for _, v := range d.lasting(n.arms[0].body) {
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

package project

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/tree"
)

// Parts of a group's program that are graph work alone can be one compiled graph.
// Which lines these are is seen in the program; the graph does the statements that
// they are made of, as a device program does them (device.go).

// fuser looks for such parts.
type fuser struct {
	*emitter
	prefix string // of names
	label  string
	total  map[*variable]int // mentions in the whole program
	writes map[*variable]int // and assignments
	funcs  bytes.Buffer
	made   int
	around []*line // loops
}

// spans adds graphs to a program, beside the statements that they can do, and
// returns their functions.
func (m *emitter) spans(name, label string, lines []*line) ([]*line, string) {
	u := &fuser{emitter: m, prefix: "graph" + strings.TrimPrefix(name, "train"), label: label, total: m.mentioned(lines), writes: m.assigns(lines)}
	lines = u.list(lines)
	return lines, u.funcs.String()
}

// list goes through statements in order and takes as many as it can for a graph.
func (u *fuser) list(list []*line) (out []*line) {
	for i := 0; i < len(list); {
		if n, s := u.longest(list[i:]); s != nil {
			out = append(out, u.choice(s, list[i:i+n])...)
			i += n
			continue
		}
		u.around = append(u.around, list[i])
		for k, a := range list[i].arms {
			list[i].arms[k] = u.list(a)
		}
		u.around = u.around[:len(u.around)-1]
		out = append(out, list[i])
		i++
	}
	return out
}

// longest returns the longest part, from the first line on, that a graph can do.
func (u *fuser) longest(list []*line) (int, *stretch) {
	n := 0
	for n < len(list) && u.eligible(list[n]) {
		n++
	}
	if n == 0 || len(u.nodes(list[:1])) == 0 {
		return 0, nil
	}
	for ; n > 0; n-- {
		if len(u.nodes(list[n-1:n])) == 0 || u.work(list[:n]) == 0 {
			continue
		}
		if s := u.try(list[:n]); s != nil {
			return n, s
		}
	}
	return 0, nil
}

// heavy are the kinds of operations that are graphs by themselves: two of them in
// one save a call.
var heavy = []fdg.Kind{fdg.Step, fdg.Call, fdg.Gradient, fdg.Apply, fdg.Blend, fdg.Update}

func (u *fuser) work(list []*line) (n int) {
	for _, id := range u.nodes(list) {
		if slices.Contains(heavy, u.g.Nodes[id].Kind) {
			n++
		}
	}
	return n
}

// eligible reports whether nothing in a line crosses to another group, needs the
// host, or goes on elsewhere. A branch is the host's, unless the configuration
// decides it.
func (u *fuser) eligible(n *line) bool {
	if n.word == "next" || leaves([]*line{n}, token.BREAK, token.CONTINUE) {
		return false
	}
	if n.word == "if" {
		if others := u.mentioned([]*line{{head: n.head}}); len(others) > 1 || len(others) == 1 && others[u.t] == 0 {
			return false
		}
	}
	ok := u.mentioned([]*line{n})[u.x] == 0
	each([]*line{n}, func(n *line) {
		ok = ok && n.tok != token.RETURN && n.word != "next"
	})
	return ok && !slices.ContainsFunc(u.nodes([]*line{n}), func(id int) bool { return !u.fits(u.g.Nodes[id]) })
}

// fits reports whether an operation's components can be part of a graph that is
// called now and then: a table would be copied each time.
func (u *fuser) fits(n fdg.Node) bool {
	return !slices.ContainsFunc(slices.Concat(n.Reads, n.Writes), func(r int) bool {
		return u.g.Resources[r].Large || n.Kind == fdg.Op && !resident(u.src.Component(r))
	})
}

// stretch is a part of a program that a graph can do.
type stretch struct {
	name    string
	in, out []*variable // of the program
}

// try makes a graph function for lines; nil if there cannot be one.
func (u *fuser) try(list []*line) *stretch {
	in, out, ok := u.boundary(list)
	if !ok || !u.begins(u.nodes(list)) {
		return nil
	}
	d := u.lowered(list)
	takes, gives := d.twins(in), d.twins(out)
	body, ok := d.part(takes, gives)
	if !ok || u.work(list) < 2 && !slices.ContainsFunc(body, func(n *line) bool { return n.word == "For" }) {
		return nil
	}
	s := &stretch{fmt.Sprint(u.prefix, u.made+1), in, out}
	var results []string
	for _, v := range gives {
		results = append(results, d.typeName(v.typ))
	}
	text := wrap(fmt.Sprintf("%s is %s as one graph.", s.name, u.where(list))) + d.function(s.name, takes, results, body)
	if d.out.any() {
		return nil
	}
	u.made++
	u.used[s.name] = true
	u.funcs.WriteString("\n" + text)
	return s
}

// where returns the range of the author's lines that lines come from.
func (u *fuser) where(list []*line) string {
	w := &writer{emitter: u.emitter}
	first := strings.TrimPrefix(w.comment(list[0]), " // ")
	last := strings.TrimPrefix(w.comment(list[len(list)-1]), " // ")
	if first == last {
		return first
	}
	return first + " to " + last
}

// choice returns lines that let the run choose between a graph and the statements
// that it stands for. Variables that both assign are declared before.
func (u *fuser) choice(s *stretch, list []*line) (out []*line) {
	var plain []*line
	for _, n := range list {
		if n.tok == token.VAR && slices.Contains(s.out, u.of(n.lhs[0])) {
			out = append(out, n)
		} else {
			plain = append(plain, n)
		}
	}
	var carried, members []*variable
	for _, v := range s.in {
		n := u.member(v)
		if n == nil {
			carried = append(carried, v)
			continue
		}
		if n.key == nil {
			n.key = u.variable("j", types.Typ[types.Int])
		}
		if !slices.Contains(members, n.key) {
			members = append(members, n.key)
		}
	}
	for _, v := range s.out {
		if !slices.Contains(carried, v) {
			carried = append(carried, v)
		}
	}
	call := &ast.CallExpr{Fun: ast.NewIdent(s.name), Args: u.refer(append([]*variable{u.t, u.run}, s.in...))}
	var body ast.Stmt = &ast.ExprStmt{X: call}
	if len(s.out) > 0 {
		body = &ast.AssignStmt{Lhs: u.refer(s.out), Tok: token.ASSIGN, Rhs: []ast.Expr{call}}
	}
	vars := ast.Expr(ast.NewIdent("nil"))
	if len(carried) > 0 {
		vars = &ast.CompositeLit{Type: &ast.ArrayType{Elt: u.rlName("Carried")}, Elts: u.carryAll(carried)}
	}
	build := &ast.FuncLit{Type: &ast.FuncType{Params: &ast.FieldList{}}, Body: &ast.BlockStmt{List: []ast.Stmt{body}}}
	name := text(fmt.Sprintf("%s %d", u.label, u.made))
	fused := u.runCall("Fused", append([]ast.Expr{name, vars, build}, u.refer(members)...)...)
	return append(out, &line{pos: list[0].pos, word: "if", head: []ast.Expr{not(fused)}, arms: [][]*line{plain}})
}

// member returns the loop over a family, among those around, that declares a
// variable; nil if none does. There is a graph for each of its members.
func (u *fuser) member(v *variable) *line {
	for _, n := range u.around {
		if n.word != "for" || !n.ranged || n.counts || n.key != v && n.value != v {
			continue
		}
		if of := u.mentioned([]*line{{head: n.head}}); len(of) == 1 && of[u.t] > 0 {
			return n
		}
	}
	return nil
}

// begins reports whether rollouts that nodes empty are filled by them: a graph
// begins with empty ones.
func (u *fuser) begins(nodes []int) bool {
	for _, id := range nodes {
		n := u.g.Nodes[id]
		if n.Kind != fdg.Drain {
			continue
		}
		for other, m := range u.g.Nodes {
			fills := m.Kind == fdg.Insert && slices.ContainsFunc(m.Writes, func(r int) bool { return slices.Contains(n.Writes, r) })
			if fills && !slices.Contains(nodes, other) {
				return false
			}
		}
	}
	return true
}

// boundary returns the variables that lines take from the lines around them, and
// those that they leave to them; ok is false if one holds more than tensors.
func (u *fuser) boundary(list []*line) (in, out []*variable, ok bool) {
	inside, writes := u.mentioned(list), u.assigns(list)
	for _, v := range sorted(inside) {
		if v.fixed || inside[v] == u.total[v] {
			continue
		}
		switch {
		case v.made || v.obj == nil || v.typ == nil:
			return nil, nil, false
		case u.member(v) != nil:
		case !u.tensors(v.typ):
			return nil, nil, false
		}
		if writes[v] > 0 {
			out = append(out, v)
		}
		if writes[v] == 0 || u.writes[v] > writes[v] && !u.first(list, v) {
			in = append(in, v)
		}
	}
	return in, out, true
}

// tensors reports whether values of a type are tensors and nothing else.
func (l *loop) tensors(t types.Type) bool {
	return !tree.Holds(t, func(t types.Type) tree.Verdict {
		of := l.src.Type(t)
		_, list := t.Underlying().(*types.Slice)
		_, fields := t.Underlying().(*types.Struct)
		switch {
		case of.Batch && !of.Gradient && l.open(t) == nil:
			return tree.No
		case list || fields:
			return tree.Deeper
		}
		return tree.Yes
	})
}

// first reports whether lines give a variable a value before they read it.
func (m *emitter) first(part []*line, v *variable) bool {
	for _, n := range part {
		if n.tok == token.VAR && m.of(n.lhs[0]) == v {
			return true
		}
		if m.mentioned([]*line{n})[v] == 0 {
			continue
		}
		read := m.mentioned([]*line{{head: n.rhs}})[v] > 0
		return n.sets() && !read && slices.ContainsFunc(n.lhs, func(e ast.Expr) bool { return m.of(e) == v })
	}
	return false
}

// lowered returns a device program of the statements that lines have.
func (u *fuser) lowered(list []*line) *device {
	d := newDevice(u.src, u.g, &findings{})
	d.imports, d.used, d.chosen = u.imports, u.used, map[tree.Stmt]bool{}
	each(list, func(n *line) {
		for _, s := range n.from {
			d.chosen[s] = true
		}
	})
	return d
}

// twins returns the variables that d has for those of another program.
func (d *device) twins(list []*variable) (out []*variable) {
	for _, v := range list {
		out = append(out, d.vars[v.obj])
	}
	return out
}

// part returns the program's lines, with a return of what it gives at the end; ok is
// false if it needs more than it takes.
func (d *device) part(takes, gives []*variable) (lines []*line, ok bool) {
	list := d.block(d.tree.Body)
	if len(gives) > 0 {
		list = append(list, &line{pos: list[len(list)-1].pos, tok: token.RETURN, rhs: d.refer(gives)})
	}
	list = d.tidy(list)
	writes := d.assigns(list)
	for v := range d.mentioned(list) {
		if !v.fixed && writes[v] == 0 && !slices.Contains(takes, v) {
			return nil, false
		}
	}
	d.params = takes
	lines = d.translate(list)
	return lines, !d.out.any()
}

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
)

// Parts of a group's program that are graph work alone can be one compiled graph.
// Which statements these are is seen in the program; what the graph does is cut out
// of the loop as a device program has it (device.go), by the nodes of both.

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
		if _, returns := n.stmt.(*ast.ReturnStmt); returns || n.word == "next" {
			ok = false
		}
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
		if n.zero != nil && slices.Contains(s.out, n.zero) {
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

package project

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/weft-rl/weft/internal/compile/tree"
)

// writer prints a program's lines. Variables are declared in the innermost block
// that holds all that mentions them, under names that mean nothing else there.
type writer struct {
	*emitter
	b      bytes.Buffer
	names  map[*variable]string
	scopes []map[string]bool
}

// function prints a function of the trainer, the run and more.
func (m *emitter) function(name string, more []*variable, results []string, lines []*line) string {
	w := &writer{emitter: m, names: map[*variable]string{}}
	w.open()
	var params []string
	for _, v := range append([]*variable{m.t, m.run}, more...) {
		t := ""
		switch v {
		case m.t:
			t = m.typeName(m.trainerType())
		case m.x:
			t = "*" + m.edgePackage() + ".X"
		default:
			t = m.typeName(v.typ)
		}
		params = append(params, w.declare(v)+" "+t)
	}
	fmt.Fprintf(&w.b, "func %s(%s) (%s) {\n", name, strings.Join(params, ", "), strings.Join(results, ", "))
	w.block(lines)
	w.b.WriteString("}\n")
	return w.b.String()
}

func (w *writer) open()  { w.scopes = append(w.scopes, map[string]bool{}) }
func (w *writer) close() { w.scopes = w.scopes[:len(w.scopes)-1] }

// declare gives a variable a name that is not in use.
func (w *writer) declare(v *variable) string {
	base := v.name
	if !token.IsIdentifier(base) {
		base = "v"
	}
	name := base
	for n := 2; w.taken(name); n++ {
		name = fmt.Sprint(base, n)
	}
	w.names[v] = name
	w.scopes[len(w.scopes)-1][name] = true
	return name
}

func (w *writer) taken(name string) bool {
	return w.used[name] || types.Universe.Lookup(name) != nil || w.src.Pkg.Scope().Lookup(name) != nil ||
		slices.ContainsFunc(w.scopes, func(s map[string]bool) bool { return s[name] })
}

// spread returns how often the lines of a block mention variables: 1 for one that a
// single inner block mentions, more for one that belongs to this block.
func (w *writer) spread(list []*line) map[*variable]int {
	out := map[*variable]int{}
	for _, n := range list {
		for v, k := range w.weight(n) {
			out[v] += k
		}
	}
	return out
}

// weight does for one line what spread does for a block; what the line mentions
// itself counts 2.
func (w *writer) weight(n *line) map[*variable]int {
	bare := *n
	bare.arms = nil
	out := w.mentioned([]*line{&bare})
	for v := range out {
		out[v] = 2
	}
	for _, a := range n.arms {
		for v := range w.mentioned(a) {
			out[v]++
		}
	}
	for _, v := range n.declared(w.emitter) { // its own, for what is inside
		delete(out, v)
	}
	return out
}

// declared returns the variables that a loop's head declares.
func (n *line) declared(m *emitter) (out []*variable) {
	if n.ranged {
		for _, v := range []*variable{n.key, n.value} {
			if v != nil {
				out = append(out, v)
			}
		}
	}
	if n.stop != nil {
		out = append(out, n.stop)
	}
	if n.init != nil && n.init.tok == token.DEFINE {
		for _, e := range n.init.lhs {
			if v := m.of(e); v != nil {
				out = append(out, v)
			}
		}
	}
	return out
}

func (w *writer) block(list []*line) {
	w.open()
	defer w.close()
	here := w.spread(list)
	for _, n := range list {
		w.needs(n, here)
		w.line(n)
	}
}

// needs declares what a line is the first to mention, unless it does so itself.
func (w *writer) needs(n *line, here map[*variable]int) {
	var news []*variable
	for _, v := range sorted(w.weight(n)) {
		if _, known := w.names[v]; !known && here[v] > 1 && !v.fixed {
			news = append(news, v)
		}
	}
	if n.sets() {
		w.define(n, news)
		return
	}
	for _, v := range news {
		if n.tok == token.VAR {
			w.declare(v)
		} else {
			w.variableLine(v)
		}
	}
}

func (w *writer) variableLine(v *variable) {
	fmt.Fprintf(&w.b, "var %s %s\n", w.declare(v), w.typeOfVariable(v))
}

// typeOfVariable returns a variable's type as the program writes it.
func (w *writer) typeOfVariable(v *variable) string {
	if o := private(v.typ, w.src.Pkg); o != nil {
		w.bad(v.pos(), fmt.Sprintf("%s is of type %s, which package %s does not export, so that a program of this package cannot declare it; export it, or let one group own the whole function", v.name, o.Name(), o.Pkg().Path()))
	}
	return w.typeName(v.typ)
}

// define turns an assignment into a definition where it is the first to mention
// all the variables on its left, and nothing else.
func (w *writer) define(n *line, news []*variable) {
	n.tok = token.ASSIGN
	fresh := len(news) > 0 && !slices.ContainsFunc(n.lhs, func(e ast.Expr) bool {
		v := w.of(e)
		return !isName(e) || v != nil && !slices.Contains(news, v)
	})
	used := w.mentioned([]*line{{head: n.rhs}})
	if fresh && w.typed(n) && !slices.ContainsFunc(news, func(v *variable) bool { return used[v] > 0 }) {
		n.tok = token.DEFINE
	}
	for _, v := range news {
		if n.tok == token.DEFINE {
			w.declare(v)
		} else {
			w.variableLine(v)
		}
	}
}

// typed reports whether the values of an assignment have the types of what they
// are assigned to by themselves.
func (w *writer) typed(n *line) bool {
	for i, e := range n.lhs {
		v := w.of(e)
		if v == nil {
			continue
		}
		rhs := n.rhs[min(i, len(n.rhs)-1)]
		t := w.natural(rhs)
		if tuple, ok := t.(*types.Tuple); ok && i < tuple.Len() {
			t = tuple.At(i).Type()
		}
		_, made := rhs.(*ast.CallExpr) // of the projector's
		if !(t == nil && made) && (t == nil || !types.Identical(t, v.typ)) {
			return false
		}
	}
	return true
}

func (w *writer) line(n *line) {
	switch {
	case n.tok == token.VAR:
		v := w.of(n.lhs[0])
		fmt.Fprintf(&w.b, "var %s %s%s\n", w.names[v], w.typeOfVariable(v), w.comment(n))
	case n.word == "":
		w.simple(n)
	case n.word == "if":
		w.branch(n, "")
	case n.word == "If":
		w.deviceBranch(n)
	case n.word == "For":
		w.deviceLoop(n)
	default:
		w.loop(n)
	}
}

// simple prints a simple statement. The comment of a long one stands above it,
// so that it does not push those of its neighbours away.
func (w *writer) simple(n *line) {
	text, comment := w.text(n.statement()), w.comment(n)
	if len(text) > 100 && comment != "" {
		fmt.Fprintf(&w.b, "%s\n%s\n", strings.TrimSpace(comment), text)
		return
	}
	fmt.Fprintf(&w.b, "%s%s\n", text, comment)
}

// statement returns a simple line as Go has it.
func (n *line) statement() ast.Stmt {
	switch {
	case isJump(n):
		return &ast.BranchStmt{Tok: n.tok}
	case n.tok == token.RETURN:
		return &ast.ReturnStmt{Results: n.rhs}
	case len(n.rhs) == 0:
		return &ast.IncDecStmt{X: n.lhs[0], Tok: n.tok}
	case len(n.lhs) == 0:
		return &ast.ExprStmt{X: n.rhs[0]}
	}
	return &ast.AssignStmt{Lhs: n.lhs, Tok: n.tok, Rhs: n.rhs}
}

// comment returns a comment that says where a line comes from.
func (w *writer) comment(n *line) string {
	if isJump(n) || n.tok == token.RETURN {
		return ""
	}
	at := w.src.Fset.Position(n.pos)
	return fmt.Sprintf(" // %s:%d", filepath.Base(at.Filename), at.Line)
}

// branch prints an if, behind an else if it is one's.
func (w *writer) branch(n *line, behind string) {
	then, other := n.arms[0], []*line(nil)
	if len(n.arms) > 1 {
		other = n.arms[1]
	}
	cond := n.head[0]
	if len(then) == 0 { // what is left is the else
		then, other, cond = other, nil, not(cond)
	}
	head, comment := w.text(cond), w.comment(n)
	if len(head) > 100 && behind == "" {
		behind, comment = strings.TrimSpace(comment)+"\n", ""
	}
	fmt.Fprintf(&w.b, "%sif %s {%s\n", behind, head, comment)
	w.block(then)
	if len(other) == 1 && other[0].word == "if" && len(other[0].arms[0]) > 0 {
		w.branch(other[0], "} else ")
		return
	}
	if len(other) > 0 {
		w.b.WriteString("} else {\n")
		w.block(other)
	}
	w.b.WriteString("}\n")
}

func not(e ast.Expr) ast.Expr {
	switch x := e.(type) {
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			return x.X
		}
	case *ast.BinaryExpr:
		e = &ast.ParenExpr{X: e}
	}
	return &ast.UnaryExpr{Op: token.NOT, X: e}
}

func (w *writer) loop(n *line) {
	w.open()
	defer w.close()
	for _, v := range n.declared(w.emitter) {
		if _, known := w.names[v]; !known {
			w.declare(v)
		}
	}
	fmt.Fprintf(&w.b, "%s{%s\n", strings.TrimSuffix(w.text(w.head(n)), "{\n}"), w.comment(n))
	w.block(n.arms[0])
	w.b.WriteString("}\n")
}

// head returns a loop without its body.
func (w *writer) head(n *line) ast.Stmt {
	if !n.ranged {
		out := &ast.ForStmt{Body: &ast.BlockStmt{}}
		if n.init != nil {
			out.Init = n.init.statement()
		}
		if len(n.head) > 0 {
			out.Cond = n.head[0]
		}
		if n.post != nil {
			out.Post = n.post.statement()
		}
		return out
	}
	out := &ast.RangeStmt{X: n.head[0], Body: &ast.BlockStmt{}}
	if n.key != nil {
		out.Tok, out.Key = token.DEFINE, w.ref(n.key)
	}
	if n.value != nil {
		out.Tok, out.Value = token.DEFINE, w.ref(n.value)
		if n.key == nil {
			out.Key = ast.NewIdent("_")
		}
	}
	return out
}

// text prints an expression or a simple statement.
func (w *writer) text(n ast.Node) string {
	for id := range tree.Nodes[*ast.Ident](n) {
		if p, hidden := w.hidden[id]; hidden {
			w.out.add(p.Pos, p.Message)
		}
		if name, ok := w.names[w.of(id)]; ok {
			id.Name = name
		}
	}
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), n); err != nil {
		w.bad(w.src.Train.Pos(), "cannot print: "+err.Error())
	}
	return oneLine.ReplaceAllString(b.String(), "{ $1 }")
}

// oneLine matches functions of one statement, which the printer spreads over lines if
// they have no positions.
var oneLine = regexp.MustCompile(`\{\n\s*([^\n]*)\n\s*\}`)

// deviceBranch prints a branch of a device program.
func (w *writer) deviceBranch(n *line) {
	fmt.Fprintf(&w.b, "%s.If(%s, %s, %s", w.edgePackage(), w.names[w.run], w.text(n.head[0]), w.carried(n))
	comment := w.comment(n)
	for _, a := range n.arms {
		if len(a) == 0 {
			w.b.WriteString(", nil")
			continue
		}
		fmt.Fprintf(&w.b, ", func() {%s\n", comment)
		w.block(a)
		w.b.WriteString("}")
		comment = ""
	}
	w.b.WriteString(")\n")
}

// deviceLoop prints a loop of a device program.
func (w *writer) deviceLoop(n *line) {
	w.open()
	defer w.close()
	for _, v := range n.declared(w.emitter) {
		w.declare(v)
	}
	word, index, result := "For", "_", ""
	if n.key != nil {
		index = w.names[n.key]
	}
	if n.stop != nil {
		word, result = "Until", fmt.Sprintf("(%s %s.Tensor) ", w.names[n.stop], w.rlPackage())
	}
	fmt.Fprintf(&w.b, "%s.%s(%s, %s, %s, func(%s %s.Int) %s{%s\n", w.edgePackage(), word, w.names[w.run], w.text(n.head[0]), w.carried(n), index, w.rlPackage(), result, w.comment(n))
	w.block(n.arms[0])
	w.b.WriteString("})\n")
}

// carried returns the list of what a loop or branch of a device program changes.
func (w *writer) carried(n *line) string {
	if len(n.head) < 2 {
		return "nil"
	}
	var list []string
	for _, e := range n.head[1:] {
		list = append(list, w.text(e))
	}
	return fmt.Sprintf("[]%s.Carried{%s}", w.rlPackage(), strings.Join(list, ", "))
}

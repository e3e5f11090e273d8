package tree

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"go/types"
	"strings"
)

// Print shows a tree as Go: a function with all its variables first, functions
// that were read through as blocks, and what is known of statements in comments.
// It means what the author's function means.
func (p *Program) Print() string {
	w := &writer{p: p, names: map[*types.Var]string{}, taken: map[string]bool{}}
	for _, v := range p.Vars {
		w.name(v)
	}
	w.head()
	w.block(p.Body, 1)
	w.b.WriteString("}\n")
	return w.b.String()
}

type writer struct {
	p     *Program
	b     bytes.Buffer
	names map[*types.Var]string
	taken map[string]bool
}

// name gives a variable a name that no other has.
func (w *writer) name(v *types.Var) {
	name := v.Name()
	for n := 2; w.taken[name] || types.Universe.Lookup(name) != nil; n++ {
		name = fmt.Sprint(v.Name(), n)
	}
	w.taken[name], w.names[v] = true, name
}

// head writes the function's parameters, results and variables.
func (w *writer) head() {
	p := w.p
	param := func(v *types.Var, t types.Type) string {
		if v == nil {
			return "_ " + w.typ(t)
		}
		return w.names[v] + " " + w.typ(v.Type())
	}
	w.b.WriteString("func ")
	sig := p.Fn.Signature()
	if r := sig.Recv(); r != nil {
		fmt.Fprintf(&w.b, "(%s) ", param(p.Recv, r.Type()))
	}
	var list, results []string
	params := map[*types.Var]bool{p.Recv: true}
	for i, v := range p.Args {
		list = append(list, param(v, sig.Params().At(i).Type()))
		params[v] = true
	}
	for v := range sig.Results().Variables() {
		results = append(results, w.typ(v.Type()))
	}
	fmt.Fprintf(&w.b, "%s(%s) (%s) {\n", p.Fn.Name(), strings.Join(list, ", "), strings.Join(results, ", "))
	for _, v := range p.Vars {
		if !params[v] {
			fmt.Fprintf(&w.b, "\tvar %s %s\n", w.names[v], w.typ(v.Type()))
		}
	}
}

// typ writes a type as the program's package would.
func (w *writer) typ(t types.Type) string {
	return types.TypeString(t, func(q *types.Package) string {
		if q == w.p.Pkg {
			return ""
		}
		return q.Name()
	})
}

func (w *writer) line(depth int, format string, args ...any) {
	w.b.WriteString(strings.Repeat("\t", depth))
	fmt.Fprintf(&w.b, format, args...)
	w.b.WriteByte('\n')
}

func (w *writer) block(list Block, depth int) {
	for _, s := range list {
		w.stmt(s, depth)
	}
}

func (w *writer) stmt(s Stmt, depth int) {
	switch s := s.(type) {
	case *Assign:
		w.line(depth, "%s%s", w.assign(s), w.facts(s))
	case *Branch:
		w.branch(s, depth)
	case *Loop:
		w.line(depth, "for %s {", w.loopHead(s))
		w.block(s.Body, depth+1)
		w.line(depth, "}")
	case *Jump:
		w.line(depth, "%s", s.Tok)
	case *Return:
		w.line(depth, "return %s", w.list(s.Results))
	case *Call:
		w.line(depth, "{ // %s", w.text(s.Expr))
		w.block(s.Body, depth+1)
		w.line(depth, "}")
	}
}

func (w *writer) assign(a *Assign) string {
	switch {
	case a.Tok == token.VAR:
		return fmt.Sprintf("%s = *new(%s)", w.text(a.Lhs[0]), w.typ(w.p.Info.TypeOf(a.Lhs[0])))
	case a.Tok == token.INC || a.Tok == token.DEC:
		return w.text(a.Lhs[0]) + a.Tok.String()
	case len(a.Lhs) == 0:
		return w.list(a.Rhs)
	}
	return fmt.Sprintf("%s %s %s", w.list(a.Lhs), a.Tok, w.list(a.Rhs))
}

// facts returns what is known of an assignment beyond what it says.
func (w *writer) facts(a *Assign) string {
	var out []string
	if a.Op != nil {
		out = append(out, "operation")
	}
	if len(a.Fills) > 0 {
		out = append(out, "fills "+w.list(a.Fills))
	}
	var names []string
	for _, v := range a.Shares {
		names = append(names, w.names[v])
	}
	if len(names) > 0 {
		out = append(out, "changes "+strings.Join(names, ", "))
	}
	if len(out) == 0 {
		return ""
	}
	return " // " + strings.Join(out, "; ")
}

func (w *writer) branch(s *Branch, depth int) {
	if s.Cond == nil {
		w.line(depth, "if maybe {")
	} else {
		w.line(depth, "if %s {", w.text(s.Cond))
	}
	for i, a := range s.Arms {
		if i > 0 {
			w.line(depth, "} else {")
		}
		w.block(a.Body, depth+1)
	}
	w.line(depth, "}")
}

func (w *writer) loopHead(s *Loop) string {
	if s.Range {
		switch {
		case s.Key == nil && s.Value == nil:
			return "range " + w.text(s.Over)
		case s.Value == nil:
			return fmt.Sprintf("%s = range %s", w.names[s.Key], w.text(s.Over))
		case s.Key == nil:
			return fmt.Sprintf("_, %s = range %s", w.names[s.Value], w.text(s.Over))
		}
		return fmt.Sprintf("%s, %s = range %s", w.names[s.Key], w.names[s.Value], w.text(s.Over))
	}
	if s.Init == nil && s.Post == nil {
		return w.text(s.Cond)
	}
	one := func(a *Assign) string {
		if a == nil {
			return ""
		}
		return w.assign(a)
	}
	return fmt.Sprintf("%s; %s; %s", one(s.Init), w.text(s.Cond), one(s.Post))
}

func (w *writer) list(list []ast.Expr) string {
	var out []string
	for _, e := range list {
		out = append(out, w.text(e))
	}
	return strings.Join(out, ", ")
}

// text writes an expression, with the names that variables have here.
func (w *writer) text(e ast.Expr) string {
	if e == nil {
		return ""
	}
	c := w.p.Copy(e)
	for id := range Nodes[*ast.Ident](c) {
		if tv := w.p.Info.Types[id]; tv.IsType() {
			id.Name = w.typ(tv.Type)
			if strings.HasPrefix(id.Name, "*") || strings.HasPrefix(id.Name, "func") {
				id.Name = "(" + id.Name + ")"
			}
		} else if v := w.p.Var(id); v != nil {
			id.Name = w.names[v]
		}
	}
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), c); err != nil {
		return err.Error()
	}
	return OneLine(b.String())
}

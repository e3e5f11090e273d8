package tree

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// block reads statements in order, into a block of their own.
func (b *builder) block(list []ast.Stmt) Block {
	return b.inside(func() { b.stmts(list) })
}

func (b *builder) stmts(list []ast.Stmt) {
	for _, s := range list {
		b.stmt(s)
	}
}

func (b *builder) stmt(s ast.Stmt) {
	if s == nil {
		return
	}
	outer := b.pos
	b.pos = s.Pos()
	b.pinned(s, func() { b.bare(s) })
	b.pos = outer
}

// bare reads a statement, its directives being in force.
func (b *builder) bare(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		b.assignment(s)
	case *ast.IncDecStmt:
		b.emit(&Assign{Site: b.site(s.Pos()), Lhs: []ast.Expr{b.place(s.X)}, Tok: s.Tok, Text: types.ExprString(s.X) + s.Tok.String()})
	case *ast.ExprStmt:
		b.effect(s.X)
	case *ast.DeclStmt:
		b.declaration(s)
	case *ast.IfStmt:
		b.stmt(s.Init)
		b.branch(s, s.Cond)
	case *ast.SwitchStmt:
		b.switches(s, "")
	case *ast.ForStmt:
		b.forLoop(s, "")
	case *ast.RangeStmt:
		b.rangeLoop(s, "")
	case *ast.BlockStmt:
		b.stmts(s.List)
	case *ast.BranchStmt:
		b.jump(s)
	case *ast.ReturnStmt:
		b.returns(s)
	case *ast.LabeledStmt:
		b.labelled(s)
	case *ast.EmptyStmt:
	default:
		b.refuse(s)
	}
}

// refuse reports the statements that no loop may hold. A constructor or a graph
// function may: what they call is read.
func (b *builder) refuse(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.GoStmt:
		b.report(s.Pos(), "goroutine", "a goroutine hides who computes what, and when", "call the function in the loop: a policy decides what runs beside what")
		b.expr(s.Call)
	case *ast.DeferStmt:
		b.report(s.Pos(), "defer", "a deferred call runs at a point that the loop does not show", "write the call where it is to happen")
		b.expr(s.Call)
	case *ast.SendStmt:
		b.report(s.Pos(), "channel", "a channel hides where a value goes", "pass the value as an argument or a result")
	case *ast.SelectStmt:
		b.report(s.Pos(), "channel", "select depends on which channel is ready first", "write the order in which things happen")
	case *ast.TypeSwitchStmt:
		b.report(s.Pos(), "interface", "a type switch depends on a dynamic type that the source does not fix", "decide in the constructor")
		b.typeSwitch(s)
	default:
		b.report(s.Pos(), "statement", fmt.Sprintf("a statement of this kind (%T) cannot be taken apart", s), "write it with assignments, if, for and calls")
	}
}

// typeSwitch reads the arms of a type switch, any of which may be taken.
func (b *builder) typeSwitch(s *ast.TypeSwitchStmt) {
	b.stmt(s.Init)
	var x ast.Expr
	switch a := s.Assign.(type) {
	case *ast.ExprStmt:
		x = a.X
	case *ast.AssignStmt:
		x = a.Rhs[0]
	}
	if assert, ok := ast.Unparen(x).(*ast.TypeAssertExpr); ok {
		x = assert.X
	}
	value := b.expr(x)
	n := &Branch{Site: b.site(s.Pos()), Text: "switch " + types.ExprString(x)}
	for _, c := range s.Body.List {
		c := c.(*ast.CaseClause)
		n.Arms = append(n.Arms, Arm{Label: "case", Body: b.inside(func() {
			if o := b.fr.Info.Implicits[c]; o != nil {
				b.emit(&Assign{Site: b.site(c.Pos()), Lhs: []ast.Expr{b.p.Ref(b.local(o))}, Tok: token.ASSIGN, Rhs: []ast.Expr{b.p.Copy(value)}, Define: true})
			}
			b.stmts(c.Body)
		})})
	}
	b.emit(n)
}

// declaration reads var. Constants are written out where they are used.
func (b *builder) declaration(s *ast.DeclStmt) {
	d, ok := s.Decl.(*ast.GenDecl)
	if !ok || d.Tok == token.CONST {
		return
	}
	if d.Tok == token.TYPE {
		b.report(s.Pos(), "type", "a type that is declared inside a function cannot be named by the programs that are made of it", "declare it in the package")
		return
	}
	for _, spec := range d.Specs {
		spec := spec.(*ast.ValueSpec)
		if len(spec.Values) == 0 {
			for _, name := range spec.Names {
				if name.Name != "_" {
					b.declare(name.Pos(), b.local(b.fr.Info.Defs[name]))
				}
			}
			continue
		}
		lhs := make([]ast.Expr, len(spec.Names))
		for i, name := range spec.Names {
			lhs[i] = name
		}
		b.assignment(&ast.AssignStmt{Lhs: lhs, TokPos: s.Pos(), Tok: token.DEFINE, Rhs: spec.Values})
	}
}

// branch reads an if. An operation to the right of && is a branch inside the
// branch where there is no else.
func (b *builder) branch(s *ast.IfStmt, cond ast.Expr) {
	cond = ast.Unparen(cond)
	if and, ok := cond.(*ast.BinaryExpr); ok && and.Op == token.LAND && s.Else == nil && b.complex(and.Y) {
		n := b.newBranch(b.expr(and.X), and.X)
		n.Arms = []Arm{{Label: "then", Body: b.inside(func() { b.branch(s, and.Y) })}}
		b.emit(n)
		return
	}
	n := b.newBranch(b.expr(cond), cond)
	n.Arms = []Arm{{Label: "then", Body: b.block(s.Body.List)}}
	if s.Else != nil {
		n.Arms = append(n.Arms, Arm{Label: "else", Body: b.block([]ast.Stmt{s.Else})})
	}
	b.emit(n)
}

// newBranch returns an if, at its condition.
func (b *builder) newBranch(cond, source ast.Expr) *Branch {
	return &Branch{Site: b.site(source.Pos()), Cond: cond, Text: "if " + OneLine(types.ExprString(source))}
}

// switches reads a switch as a chain of ifs.
func (b *builder) switches(s *ast.SwitchStmt, label string) {
	b.stmt(s.Init)
	var tag ast.Expr
	if s.Tag != nil {
		if tag = b.expr(s.Tag); b.p.Var(tag) == nil {
			tag = b.held(tag, "tag", nil)
		}
	}
	var cases []*ast.CaseClause
	var other []ast.Stmt
	for _, c := range s.Body.List {
		if c := c.(*ast.CaseClause); c.List != nil {
			cases = append(cases, c)
		} else {
			other = c.Body
		}
	}
	to := &jumpTarget{label: label, out: &exit{}}
	b.jumps = append(b.jumps, to)
	chain := b.inside(func() { b.cases(s, tag, cases, other) })
	b.jumps = b.jumps[:len(b.jumps)-1]
	b.out = append(b.out, b.eliminate(chain, to.out)...)
}

// cases reads the arms of a switch from one case on. Its conditions are computed
// behind those of the cases before it.
func (b *builder) cases(s *ast.SwitchStmt, tag ast.Expr, list []*ast.CaseClause, other []ast.Stmt) {
	if len(list) == 0 {
		b.stmts(other)
		return
	}
	n := &Branch{Site: b.site(list[0].Pos())}
	var texts []string
	for i, e := range list[0].List {
		if i > 0 && b.complex(e) {
			b.report(e.Pos(), "condition", "an operation in a list of cases runs or not depending on those before it", "write a case of its own")
		}
		cond, text := b.expr(e), OneLine(types.ExprString(e))
		if tag != nil {
			cond, text = b.binary(b.p.Copy(tag), token.EQL, cond), OneLine(types.ExprString(s.Tag))+" == "+text
		}
		if i > 0 {
			cond = b.binary(n.Cond, token.LOR, cond)
		}
		n.Cond, texts = cond, append(texts, text)
	}
	n.Text = "if " + strings.Join(texts, " || ")
	n.Arms = []Arm{{Label: "then", Body: b.block(list[0].Body)}}
	if len(list) > 1 || len(other) > 0 {
		n.Arms = append(n.Arms, Arm{Label: "else", Body: b.inside(func() { b.cases(s, tag, list[1:], other) })})
	}
	b.emit(n)
}

// labelled reads a statement with a label.
func (b *builder) labelled(s *ast.LabeledStmt) {
	switch x := s.Stmt.(type) {
	case *ast.ForStmt:
		b.forLoop(x, s.Label.Name)
	case *ast.RangeStmt:
		b.rangeLoop(x, s.Label.Name)
	case *ast.SwitchStmt:
		b.switches(x, s.Label.Name)
	default:
		b.report(s.Pos(), "label", "a label makes control flow that cannot be taken apart", "use break or continue of a loop, or a function that returns")
		b.stmt(s.Stmt)
	}
}

// jumpTarget is a loop or a switch around the statement that is being read.
type jumpTarget struct {
	label string
	loop  bool
	out   *exit // of a break
	next  *exit // of a continue
}

// jump reads a break or a continue: a Jump where it means the innermost loop and
// nothing stands between, else it leaves what it names.
func (b *builder) jump(s *ast.BranchStmt) {
	if s.Tok == token.GOTO || s.Tok == token.FALLTHROUGH {
		b.report(s.Pos(), "label", s.Tok.String()+" makes control flow that cannot be taken apart", "use break or continue of a loop, or if and else")
		return
	}
	innermost := true
	for _, to := range slices.Backward(b.jumps) {
		if s.Label != nil && to.label != s.Label.Name || s.Label == nil && !to.loop && s.Tok == token.CONTINUE {
			innermost = innermost && !to.loop
			continue
		}
		switch {
		case to.loop && innermost:
			b.emit(&Jump{b.site(s.Pos()), s.Tok})
		case s.Tok == token.CONTINUE:
			b.emit(&leave{b.site(s.Pos()), to.next})
		default:
			b.emit(&leave{b.site(s.Pos()), to.out})
		}
		return
	}
}

// forLoop reads a for. What its head does beyond counting is done before it, or
// at the top of its rounds.
func (b *builder) forLoop(s *ast.ForStmt, label string) {
	n := &Loop{Site: b.site(s.Pos()), Text: "for", Name: "for"}
	if s.Cond != nil {
		n.Name = OneLine(types.ExprString(s.Cond))
		n.Text += " " + n.Name
	}
	first := b.head(s.Init, &n.Init)
	b.out = append(b.out, first...)
	var before, post Block
	b.within(n, func() { post = b.head(s.Post, &n.Post) })
	switch call, _ := s.Cond.(*ast.CallExpr); {
	case call != nil && b.isNext(call):
		n.Next = true
		n.Cond = b.bareCall(called{source: call})
	case s.Cond != nil:
		before = b.within(n, func() { n.Cond = b.expr(s.Cond) })
	}
	before = b.rounds(n, before, post)
	b.loop(n, label, func() {
		b.out = append(b.out, before...)
		b.stmts(s.Body.List)
	})
}

// rounds returns what stands at the top of a loop's rounds: what followed the round
// before, if that is more than a simple statement, and what the condition needs.
func (b *builder) rounds(n *Loop, cond, post Block) (out Block) {
	if len(post) > 0 {
		again := b.temp("again", types.Typ[types.Bool])
		b.declare(n.Pos, again)
		out = b.within(n, func() {
			b.emit(&Branch{Site: b.site(n.Pos), Cond: b.p.Ref(again), Text: "if again", Arms: []Arm{{Label: "then", Body: post}}})
			b.emit((&eliminator{b, &exit{flag: again}}).set(b.site(n.Pos)))
		})
	}
	if n.Cond != nil && !n.Next && (len(cond) > 0 || len(post) > 0) {
		out = append(out, cond...)
		out = append(out, b.within(n, func() {
			end := Block{&Jump{b.site(n.Pos), token.BREAK}}
			b.emit(&Branch{Site: b.site(n.Pos), Cond: b.not(n.Cond), Text: "if !(" + n.Name + ")", Arms: []Arm{{Label: "then", Body: end}}})
		})...)
		n.Cond = nil
	}
	return out
}

// head reads the first or last clause of a for: into one simple statement, or
// else as a block.
func (b *builder) head(s ast.Stmt, simple **Assign) Block {
	if s == nil {
		return nil
	}
	list := b.block([]ast.Stmt{s})
	if len(list) == 1 {
		if a, ok := list[0].(*Assign); ok && a.Op == nil && len(a.Fills) == 0 {
			*simple = a
			return nil
		}
	}
	return list
}

// loop reads a loop's body, with what leaves it.
func (b *builder) loop(n *Loop, label string, body func()) {
	to := &jumpTarget{label: label, loop: true, out: &exit{}, next: &exit{}}
	b.jumps = append(b.jumps, to)
	n.Body = b.within(n, func() { b.out = b.eliminate(b.inside(body), to.next) })
	b.jumps = b.jumps[:len(b.jumps)-1]
	b.out = append(b.out, b.eliminate(Block{n}, to.out)...)
}

// isNext reports whether a call is run.Next.
func (b *builder) isNext(call *ast.CallExpr) bool {
	fn := Callee(b.fr.Info, call)
	return fn != nil && b.Next(fn)
}

// rangeLoop reads a range. Variables that it assigns to, and does not declare, are
// given their values at the top of the body.
func (b *builder) rangeLoop(s *ast.RangeStmt, label string) {
	text := OneLine(types.ExprString(s.X))
	n := &Loop{Site: b.site(s.Pos()), Range: true, Text: "for range " + text, Name: text, Over: b.expr(s.X)}
	var first Block
	take := func(e ast.Expr, hint string) *types.Var {
		id, ok := e.(*ast.Ident)
		if e == nil || ok && id.Name == "_" {
			return nil
		}
		if o := b.fr.Info.Defs[id]; ok && o != nil {
			return b.local(o)
		}
		v := b.temp(hint, b.typeOf(e))
		first = append(first, b.inside(func() {
			b.emit(&Assign{Site: b.site(s.Pos()), Lhs: []ast.Expr{b.place(e)}, Tok: token.ASSIGN, Rhs: []ast.Expr{b.p.Ref(v)}, Text: types.ExprString(e) + " = range " + text})
		})...)
		return v
	}
	b.loop(n, label, func() {
		n.Key, n.Value = take(s.Key, "i"), take(s.Value, "x")
		b.out = append(b.out, first...)
		b.stmts(s.Body.List)
	})
}

// returns reads a return: of the program, or of a function that is read through.
func (b *builder) returns(s *ast.ReturnStmt) {
	results := s.Results
	if len(results) == 0 {
		for _, name := range named(b.fr.returns) {
			if name != nil {
				results = append(results, name)
			}
		}
	}
	if b.fr.exit == nil { // the program's own
		n := &Return{Site: b.site(s.Pos())}
		n.Results = b.operands(results)
		b.emit(n)
		return
	}
	b.returned(s.Pos(), b.fr.results, results)
	b.emit(&leave{b.site(s.Pos()), b.fr.exit})
}

// named returns the names of parameters or results, nil for one without.
func named(list *ast.FieldList) (out []*ast.Ident) {
	if list == nil {
		return nil
	}
	for _, f := range list.List {
		if out = append(out, f.Names...); len(f.Names) == 0 {
			out = append(out, nil)
		}
	}
	return out
}

// OneLine returns source text without line breaks.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

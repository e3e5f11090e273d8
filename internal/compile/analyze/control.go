package analyze

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/weft-rl/weft/fdg"
)

// branch reads an if. An operation to the right of && becomes a branch inside
// the branch, which is the same as long as there is no else.
func (x *interp) branch(cond ast.Expr, then, other []ast.Stmt) {
	cond = ast.Unparen(cond)
	if b, ok := cond.(*ast.BinaryExpr); ok && b.Op == token.LAND && x.phase == training && len(other) == 0 && x.hasOps(b.Y) {
		x.arms(b.X, "if "+types.ExprString(b.X), []arm{{"then", func() { x.branch(b.Y, then, nil) }}, {"else", nil}})
		return
	}
	arms := []arm{{"then", func() { x.block(then) }}, {"else", nil}}
	if len(other) > 0 {
		arms[1].read = func() { x.block(other) }
	}
	x.arms(cond, "if "+types.ExprString(cond), arms)
}

// arm is one way through a branch; without read it does nothing.
type arm struct {
	label string
	read  func()
}

// arms reads each arm from the same state and joins what they leave.
func (x *interp) arms(cond ast.Expr, text string, arms []arm) {
	v := x.eval(cond)
	x.ways(v, cond.Pos(), text, arms)
}

func (x *interp) ways(cond *value, pos token.Pos, text string, arms []arm) {
	before := x.st
	if x.phase != training {
		for _, a := range arms {
			if a.read != nil {
				a.read()
			}
		}
		return
	}
	if !slices.ContainsFunc(arms, func(a arm) bool { return a.read != nil }) {
		return // a switch without cases decides nothing
	}
	id := x.node(x.key(pos, "?"), pos, fdg.Node{Kind: fdg.Branch, Text: oneLine(text)})
	x.consume(id, fdg.OfControl, "", cond)
	region := x.region
	var after *state
	for i, a := range arms {
		x.st = before.clone()
		if a.read != nil {
			x.region = x.b.open(id, i, a.label)
			x.when(cond, a.read)
		}
		after = merge(after, x.st)
	}
	x.region = region
	x.st = after
}

func (x *interp) switches(s *ast.SwitchStmt) {
	x.init(s.Init)
	cond := &value{}
	text := "switch"
	if s.Tag != nil {
		cond = x.eval(s.Tag)
		text += " " + types.ExprString(s.Tag)
	}
	var arms []arm
	hasDefault := false
	for _, c := range s.Body.List {
		c := c.(*ast.CaseClause)
		label := "default"
		for i, e := range c.List {
			if x.phase == training && x.hasOps(e) {
				x.bad(e.Pos(), "condition", "an operation in a case runs or not depending on the cases before it", "compute it before the switch")
			}
			cond = join(cond, x.eval(e))
			if label = types.ExprString(e); i > 0 {
				label += ", ..."
			}
		}
		hasDefault = hasDefault || c.List == nil
		arms = append(arms, arm{label, func() { x.inSwitch(c.Body) }})
	}
	if !hasDefault {
		arms = append(arms, arm{"none", nil})
	}
	x.ways(cond, s.Pos(), text, arms)
}

func (x *interp) inSwitch(body []ast.Stmt) {
	x.loops = append(x.loops, &loop{isSwitch: true, frame: x.f})
	x.f.loops++ // a return out of a switch is not one out of a loop
	x.block(body)
	x.f.loops--
	x.loops = x.loops[:len(x.loops)-1]
}

func (x *interp) forLoop(s *ast.ForStmt) {
	x.init(s.Init)
	if x.isNext(s) {
		x.nextLoop(s)
		return
	}
	text, name := "for", "for"
	if s.Cond != nil {
		name = types.ExprString(s.Cond)
		text += " " + name
		if x.phase == training && x.hasOps(s.Cond) {
			x.bad(s.Cond.Pos(), "condition", "an operation in a loop's condition runs once more than its body", "call it in the body, and leave the loop with break")
		}
	}
	x.rounds(s.Pos(), fdg.Node{Kind: fdg.Loop, Text: oneLine(text), Name: oneLine(name)}, func(id int) *value {
		if s.Cond == nil {
			return nil
		}
		return x.consumeBound(id, x.eval(s.Cond))
	}, func() { x.block(s.Body.List) }, func() {
		if s.Post != nil {
			x.stmt(s.Post)
		}
	})
}

func (x *interp) consumeBound(id int, v *value) *value {
	x.consume(id, fdg.OfControl, "", v)
	return v
}

// isNext recognises the loop over iterations.
func (x *interp) isNext(s *ast.ForStmt) bool {
	call, ok := s.Cond.(*ast.CallExpr)
	if !ok {
		return false
	}
	fn := x.callee(call)
	if fn == nil {
		return false
	}
	name, _ := wordOf(fn)
	return name == "rl.Run.Next"
}

func (x *interp) nextLoop(s *ast.ForStmt) {
	if len(x.loops) > 0 {
		x.bad(s.Pos(), "next", "run.Next is the only point at which a run can be saved, so its loop cannot stand inside another", "make it the outermost loop")
	}
	if s.Init != nil || s.Post != nil {
		x.bad(s.Pos(), "survives", "a variable of the loop over run.Next would survive an iteration without being saved", "use run.Iter")
	}
	x.nexts++
	n := fdg.Node{Kind: fdg.Next, Text: oneLine("for " + types.ExprString(s.Cond)), Name: "iteration"}
	outer := x.next
	x.rounds(s.Pos(), n, func(id int) *value {
		x.next = id
		return nil
	}, func() { x.block(s.Body.List) }, func() {})
	x.next = outer
}

func (x *interp) rangeLoop(s *ast.RangeStmt) {
	over := x.eval(s.X)
	t := x.typeOf(s.X)
	switch u := t.Underlying().(type) {
	case *types.Map:
		x.bad(s.X.Pos(), "map", "a map is gone through in another order every time", "range over a sorted slice of its keys, made in the constructor")
	case *types.Chan:
		x.bad(s.X.Pos(), "channel", "a channel hides where its values come from", "pass values as arguments and results")
	case *types.Signature:
		x.bad(s.X.Pos(), "function", "an iterator is a function value, which cannot be read through", "range over a number or a slice")
	case *types.Basic:
		if u.Info()&types.IsInteger == 0 {
			break
		}
	}
	name := types.ExprString(s.X)
	x.rounds(s.Pos(), fdg.Node{Kind: fdg.Loop, Text: oneLine("for range " + name), Name: oneLine(name)}, func(id int) *value {
		x.b.extra[id].family = slices.ContainsFunc(objectsOf(over), func(o *object) bool { return o.many })
		if b, ok := t.Underlying().(*types.Basic); ok && b.Info()&types.IsInteger != 0 {
			return x.consumeBound(id, over)
		}
		return nil
	}, func() {
		x.bind(s.Key, nil)
		x.bind(s.Value, over.element())
		x.block(s.Body.List)
	}, func() {})
}

// element is one element of a slice.
func (v *value) element() *value {
	if v == nil {
		return nil
	}
	out := *v
	out.sites = nil
	return &out
}

func (x *interp) bind(e ast.Expr, v *value) {
	if id, ok := e.(*ast.Ident); ok && id.Name != "_" {
		x.assignIdent(id, v)
	}
}

// rounds goes round a loop until its head knows all that can reach it.
func (x *interp) rounds(pos token.Pos, n fdg.Node, bound func(id int) *value, body, post func()) {
	if x.phase != training {
		x.depth++
		for range 2 {
			body()
			post()
		}
		x.depth--
		return
	}
	id := x.node(x.key(pos, "@"), pos, n)
	l := &loop{node: id, frame: x.f}
	region := x.region
	entry := x.st
	head := entry
	var exit *state
	for found := len(x.out.list); ; x.out.retract(found) {
		l.breaks, l.continues = nil, nil
		x.st = head.clone()
		x.loops = append(x.loops, l)
		cond := bound(id)
		x.region = x.b.open(id, 0, "")
		declared := len(x.f.vars)
		x.when(cond, body)
		x.st = merge(l.continues, x.st)
		for _, k := range x.f.vars[declared:] { // a round's variables end with it
			delete(x.st.vars, k)
		}
		if !x.st.dead {
			post()
		}
		x.loops = x.loops[:len(x.loops)-1]
		x.region = region
		back := x.st.every(func(d def) def { return x.carry(d, id) })
		now := merge(entry, back)
		exit = merge(head, l.breaks)
		if now.equal(head) {
			break
		}
		head = now
	}
	x.st = exit.every(func(d def) def {
		if d.carried == id {
			d.carried = -1
		}
		return d
	})
}

// carry marks what a loop's round made as seen by the next one. What an outer
// loop carries stays its own.
func (x *interp) carry(d def, loop int) def {
	if !slices.Contains(x.b.extra[d.node].loops, loop) && d.node != loop {
		return d
	}
	if d.carried >= 0 && slices.Contains(x.b.extra[loop].loops, d.carried) {
		return d
	}
	d.carried = loop
	return d
}

package project

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/analyze"
	"github.com/weft-rl/weft/internal/compile/tree"
	"github.com/weft-rl/weft/internal/compile/vocabulary"
	"github.com/weft-rl/weft/plan"
)

// Lowered is the name of the grouping that has no groups: the whole loop as one
// device program.
const Lowered = "lowered"

// deviceFunc is one iteration of the loop, as generated code has it.
const deviceFunc = "trainLowered"

// lowered generates one iteration of the loop for a device program: the lines of
// a group that has everything, in which calls stay calls unless control or numbers
// inside them are not the configuration's. Then every Go loop, branch and number
// is either left to Go, which runs it while the program is built, or becomes the
// program's (numbers.go, control.go).
func lowered(src *analyze.Source, g *fdg.Graph) ([]byte, []Problem, error) {
	out := &findings{}
	d := newDevice(src, g, out)
	d.residents()
	body := d.iteration()
	if out.any() {
		return nil, out.list, nil
	}
	d.used[d.rlPackage()], d.used[d.edgePackage()] = true, true
	name := d.unused(deviceFunc)
	lines := d.translate(d.tidy(d.block(body)))
	if out.any() {
		return nil, out.list, nil
	}
	if err := d.lacks(body, lines); err != nil {
		return nil, nil, err
	}
	text := wrap(fmt.Sprintf("%s is one iteration of %s (%s) as a device program has it: the loops and branches of package edge are the program's, those of Go are gone through while it is built.", name, g.Train, g.Pos)) +
		d.function(name, nil, nil, lines)
	if out.any() {
		return nil, out.list, nil
	}
	file, err := assemble(src.Pkg.Name(), []byte(text), d.imports)
	return file, nil, err
}

// newDevice makes a loop ready to be a device program: one group has everything.
func newDevice(src *analyze.Source, g *fdg.Graph, out *findings) *device {
	all := plan.Group{Name: Lowered, Over: fdg.None}
	for _, f := range g.Fragments {
		all.Fragments = append(all.Fragments, f.Name)
	}
	l := newLoop(src, g, plan.Grouping{Name: Lowered, Groups: []plan.Group{all}}, out)
	d := &device{emitter: newEmitter(newFlow(l), 0, nil), numbers: map[*variable]number{}}
	d.entire, d.rolls = true, d.folded
	return d
}

// executesAll reports whether the program has all of a call.
func (d *device) executesAll(c *tree.Call) bool {
	return !slices.ContainsFunc(d.inside(c), func(a *action) bool { return !d.executes(a.Assign) })
}

// residents refuses components that cannot live inside a program.
func (l *loop) residents() {
	said := map[int]bool{}
	for id, n := range l.g.Nodes {
		for _, r := range slices.Concat(n.Reads, n.Writes) {
			if t := l.src.Component(r); (n.Kind == fdg.Op || l.g.Resources[r].Large) && !resident(t) && !said[r] {
				said[r] = true
				l.bad(l.src.Pos(id), fmt.Sprintf("%s works on the host, so that the loop cannot be one device program: a component whose state lives on a device implements rl.Resident", l.g.Resources[r].Name))
			}
		}
	}
}

// resident reports whether a component's type has the method of rl.Resident.
func resident(t types.Type) bool {
	if t == nil {
		return false
	}
	o, _, _ := types.LookupFieldOrMethod(t, true, nil, "Resident")
	_, ok := o.(*types.Func)
	return ok
}

// iteration returns the body of the loop over run.Next. It refuses what stands
// beside it.
func (d *device) iteration() tree.Block {
	var next *tree.Loop
	for _, s := range d.tree.Body {
		switch s := s.(type) {
		case *tree.Loop:
			if next != nil || !s.Next {
				d.bad(s.Pos, "a loop with phases, or with loops beside that over run.Next, cannot be one device program")
				return nil
			}
			next = s
		case *tree.Return:
			d.returned(s)
		default:
			if next == nil {
				d.bad(s.At().Pos, "what stands before the loop over run.Next cannot be part of a device program; do it in the constructor")
			} else {
				d.bad(s.At().Pos, "what stands behind the loop over run.Next cannot be part of a device program")
			}
		}
	}
	if next == nil {
		d.bad(d.src.Train.Pos(), "there is no loop over run.Next at the function's own level")
		return nil
	}
	if call, ok := next.Cond.(*ast.CallExpr); ok {
		if sel, ok := call.Fun.(*ast.SelectorExpr); !ok || d.of(sel.X) != d.run {
			d.bad(next.Pos, "a phase cannot be one device program")
		}
	}
	for s := range tree.Each[*tree.Return](next.Body) {
		d.bad(s.Pos, "a return inside the loop over run.Next ends the run, which a device program cannot do; let the budget end it (--steps), or choose a policy that runs the loop on the host")
	}
	return next.Body
}

// returned refuses what a run could not be told: results besides run.Err() and nil.
func (d *device) returned(s *tree.Return) {
	for _, e := range s.Results {
		call, ok := ast.Unparen(e).(*ast.CallExpr)
		if !d.tree.Info.Types[e].IsNil() && !(ok && d.src.Word(d.callee(call)).Use == vocabulary.Pure) {
			d.bad(s.Pos, "what is returned behind the loop over run.Next cannot be part of a device program; return run.Err()")
		}
	}
}

// folded reports whether a call has nothing inside that a device program must see,
// loops, counters or values, and is not handed numbers that are the loop's own: an
// index, say.
func (d *device) folded(c *tree.Call) bool {
	ok := d.executesAll(c)
	for _, e := range c.Expr.Args {
		if isNumber(d.typeOf(e)) {
			d.mentions(e, func(v *variable) {
				_, pointer := v.typ.Underlying().(*types.Pointer)
				ok = ok && pointer
			})
		}
	}
	for range tree.Each[*tree.Loop](c.Body) {
		return false
	}
	for call := range tree.ExprNodes[*ast.CallExpr](c.Body) {
		ok = ok && !d.src.Word(d.callee(call)).Counter && !d.computes(call)
	}
	return ok
}

// computes reports whether a call is an operation that returns a number, which only
// the device knows.
func (d *device) computes(call *ast.CallExpr) bool {
	w := d.src.Word(d.callee(call))
	return w.Use == vocabulary.Operation && !w.Host && isNumber(d.typeOf(call))
}

// isNumber reports whether values of a type are Go's own: numbers and bools.
func isNumber(t types.Type) bool { return tree.IsBasic(t, types.IsNumeric|types.IsBoolean) }

func isInteger(t types.Type) bool { return tree.IsBasic(t, types.IsInteger) }

// isInt reports whether values of a type are ints, as edge.For counts.
func isInt(t types.Type) bool {
	return t != nil && types.Identical(types.Default(t), types.Typ[types.Int])
}

// rlType returns a type of package rl.
func (d *device) rlType(name string) types.Type {
	pkg := d.run.typ.(*types.Pointer).Elem().(*types.Named).Obj().Pkg()
	return pkg.Scope().Lookup(name).Type()
}

func text(s string) ast.Expr { return &ast.BasicLit{Kind: token.STRING, Value: fmt.Sprintf("%q", s)} }

// short returns an expression as a message shows it: as the author wrote it.
func (d *device) short(e ast.Expr) string {
	s := (&writer{emitter: d.emitter}).text(d.spelled(d.copy(e)))
	if i := strings.IndexByte(s, '\n'); i > 0 {
		s = s[:i] + "..."
	}
	return s
}

// spelled puts what temporaries hold back into an expression.
func (d *device) spelled(e ast.Expr) ast.Expr {
	if v := d.of(e); v != nil && v.temp && len(d.given[v]) == 1 && d.given[v][0].value != nil {
		return d.spelled(d.copy(d.given[v][0].value))
	}
	for _, x := range tree.Parts(e) {
		*x = d.spelled(*x)
	}
	return e
}

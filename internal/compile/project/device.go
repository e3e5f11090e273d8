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
	"github.com/weft-rl/weft/internal/compile/analyze"
	"github.com/weft-rl/weft/plan"
)

// Lowered is the name of the grouping that has no groups: the whole loop as one
// device program.
const Lowered = "lowered"

// deviceFunc is one iteration of the loop, as generated code has it.
const deviceFunc = "trainLowered"

// lowered generates one iteration of the loop for a device program. The loop is
// read into the same tree as for programs, with one group that has everything, and
// calls are read through where control or numbers inside them are not the
// configuration's. Then every Go loop, branch and number is either left to Go,
// which runs it while the program is built, or becomes the program's (numbers.go,
// control.go).
func lowered(src *analyze.Source, g *fdg.Graph) ([]byte, []Problem, error) {
	out := &findings{}
	l := deviceLowerer(src, g, out)
	l.residents()
	d, tree := l.whole()
	body := d.iteration(tree)
	if out.any() {
		return nil, out.list, nil
	}
	d.used[l.rlPackage()] = true
	name := l.unused(deviceFunc)
	lines := d.translate(d.tidy(d.block(body)))
	if out.any() {
		return nil, out.list, nil
	}
	text := d.function(name, lines)
	if out.any() {
		return nil, out.list, nil
	}
	file, err := assemble(src.Pkg.Name(), []byte(text), l.imports)
	return file, nil, err
}

// deviceLowerer reads the loop for one group that has everything.
func deviceLowerer(src *analyze.Source, g *fdg.Graph, out *findings) *lowerer {
	all := plan.Group{Name: Lowered, Over: fdg.None}
	for _, f := range g.Fragments {
		all.Fragments = append(all.Fragments, f.Name)
	}
	l := newLowerer(src, g, plan.Grouping{Name: Lowered, Groups: []plan.Group{all}}, out)
	l.device = true
	return l
}

// whole is the loop's tree, and what makes it a device program.
func (l *lowerer) whole() (*device, block) {
	tree := l.train()
	d := &device{emitter: newEmitter(newFlow(l, tree), 0, nil), numbers: map[*variable]number{}}
	d.entire = true
	return d, tree
}

// residents refuses components that cannot live inside a program.
func (l *lowerer) residents() {
	said := map[int]bool{}
	for id, n := range l.g.Nodes {
		for _, r := range slices.Concat(n.Reads, n.Writes) {
			if t := l.src.Component(r); n.Kind == fdg.Op && !resident(t) && !said[r] {
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

// iteration is what stands in the loop over run.Next.
func (d *device) iteration(tree block) (out block) {
	var next *loop
	for _, s := range tree {
		switch s := s.(type) {
		case *loop:
			if next != nil || !s.next {
				d.bad(s.pos, "a loop with phases, or with loops beside that over run.Next, cannot be one device program")
				return nil
			}
			next = s
		case *result:
		default:
			if next == nil {
				d.bad(s.at().pos, "what stands before the loop over run.Next cannot be part of a device program; do it in the constructor")
			} else {
				d.bad(s.at().pos, "what stands behind the loop over run.Next cannot be part of a device program")
			}
		}
	}
	if next == nil {
		d.bad(d.src.Train.Pos(), "there is no loop over run.Next at the function's own level")
		return nil
	}
	if call, ok := next.cond.(*ast.CallExpr); ok {
		if sel, ok := call.Fun.(*ast.SelectorExpr); !ok || d.of[rootOf(sel.X)] != d.run {
			d.bad(next.pos, "a phase cannot be one device program")
		}
	}
	return next.body
}

// function prints the iteration.
func (d *device) function(name string, lines []*line) string {
	w := &writer{emitter: d.emitter, names: map[*variable]string{}, where: map[*variable]int{}}
	w.open()
	w.declare(d.t)
	w.declare(d.run)
	var b bytes.Buffer
	b.WriteString(wrap(fmt.Sprintf("%s is one iteration of %s (%s) as a device program has it: the loops and branches of run are the program's, those of Go are gone through while it is built.", name, d.g.Train, d.g.Pos)))
	fmt.Fprintf(&w.b, "func %s(%s %s, %s *%s.Run) {\n", name, w.names[d.t], d.typeName(d.trainerType()), w.names[d.run], d.rlPackage())
	w.block(lines)
	w.b.WriteString("}\n")
	b.Write(w.b.Bytes())
	return b.String()
}

// hands reports whether a call hands a function of the author's numbers that are
// the loop's own: an index, say.
func (l *lowerer) hands(fr *frame, call *ast.CallExpr) (yes bool) {
	for _, a := range call.Args {
		if !isNumber(fr.Info.TypeOf(a)) {
			continue
		}
		ast.Inspect(a, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				v, local := fr.Info.ObjectOf(id).(*types.Var)
				if local && !v.IsField() && v.Pkg() != nil && v.Parent() != v.Pkg().Scope() {
					_, pointer := v.Type().Underlying().(*types.Pointer)
					yes = yes || !pointer
				}
			}
			return !yes
		})
	}
	return yes
}

// opens reports whether a call has control or numbers inside that a device
// program must see: loops, counters, values.
func (l *lowerer) opens(place string) (yes bool) {
	c, ok := l.src.Inlined(place)
	if !ok {
		return false
	}
	ast.Inspect(c.Decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			yes = true
		case *ast.CallExpr:
			yes = yes || dynamic[analyze.Word(c.Callee(n))] || l.opens(analyze.Place(place, n.Pos()))
		}
		return !yes
	})
	return yes
}

// dynamic are the words whose results no constructor knows.
var dynamic = map[string]bool{
	"rl.Run.Iter": true, "rl.Run.Steps": true, "rl.Run.Progress": true, "rl.Run.Every": true,
	"rl.Run.Value": true, "rl.Opt.Count": true, "replay.Table.Ready": true,
}

// isNumber reports whether values of a type are Go's own: numbers and bools.
func isNumber(t types.Type) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsNumeric|types.IsBoolean) != 0
}

func isInteger(t types.Type) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsInteger != 0
}

// rlType is a type of package rl.
func (d *device) rlType(name string) types.Type {
	pkg := d.run.typ.(*types.Pointer).Elem().(*types.Named).Obj().Pkg()
	return pkg.Scope().Lookup(name).Type()
}

// rlCall calls a function of package rl.
func (d *device) rlCall(name string, args ...ast.Expr) ast.Expr {
	return &ast.CallExpr{Fun: &ast.SelectorExpr{X: ast.NewIdent(d.rlPackage()), Sel: ast.NewIdent(name)}, Args: args}
}

// runCall calls a method of the run.
func (d *device) runCall(name string, args ...ast.Expr) ast.Expr {
	return &ast.CallExpr{Fun: &ast.SelectorExpr{X: d.ref(d.run), Sel: ast.NewIdent(name)}, Args: args}
}

func text(s string) ast.Expr { return &ast.BasicLit{Kind: token.STRING, Value: fmt.Sprintf("%q", s)} }

// short is an expression in a message.
func (d *device) short(e ast.Expr) string {
	w := &writer{emitter: d.emitter}
	s := w.text(e)
	if i := strings.IndexByte(s, '\n'); i > 0 {
		s = s[:i] + "..."
	}
	return s
}

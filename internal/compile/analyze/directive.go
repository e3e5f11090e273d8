package analyze

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/config"
)

// A directive is a line comment //weft:NAME ARGUMENTS.
const tool = "weft"

// directives are the names, with where each may stand.
var directives = map[string]string{
	"train":    "above the function that holds the training loop",
	"fragment": "above a statement, a function or a component's type",
	"rows":     "above a function",
	"op":       "above a method of a component",
	"axis":     "above a function marked //weft:op or //weft:rows",
}

// names lists the directives, for suggestions.
var names = []string{"train", "fragment", "rows", "op", "axis"}

var axes = map[string]fdg.Axis{
	"none": fdg.None, "environments": fdg.Environments, "agents": fdg.Agents, "members": fdg.Members, "rows": fdg.Rows,
}

// mark is what directives say about a function, a type or a statement.
type mark struct {
	train    bool
	fragment string
	rows     bool
	op       string // reads or writes
	axis     fdg.Axis
}

// marks are the directives of a package.
type marks struct {
	train []*ast.FuncDecl
	funcs map[*ast.FuncDecl]*mark
	types map[types.Object]*mark
	stmts map[ast.Stmt]*mark
}

type directiveReader struct {
	unit *unit
	fset *token.FileSet
	out  *findings
	m    *marks
}

// readMarks finds the directives of a package, and what is wrong with them.
func readMarks(u *unit, out *findings) *marks {
	r := &directiveReader{unit: u, fset: out.fset, out: out, m: &marks{
		funcs: map[*ast.FuncDecl]*mark{}, types: map[types.Object]*mark{}, stmts: map[ast.Stmt]*mark{},
	}}
	for _, f := range u.files {
		r.file(f)
	}
	r.idle()
	if n := len(r.m.train); n > 1 {
		for _, d := range r.m.train[1:] {
			r.bad(d.Pos(), "directive", "the package has a second //weft:train, and the first one is "+r.m.train[0].Name.Name,
				"keep one loop in a package")
		}
	}
	return r.m
}

// idle reports axes of functions that are read through, where they are inferred.
func (r *directiveReader) idle() {
	for _, f := range r.unit.files {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				if m := r.m.funcs[d]; m != nil && m.axis != "" && m.op == "" && !m.rows {
					r.bad(d.Pos(), "directive", "//weft:axis says nothing about a function that is read through", "it belongs "+directives["axis"])
				}
			}
		}
	}
}

func (r *directiveReader) bad(pos token.Pos, code, message, instead string) {
	r.out.add(Finding{at: pos, Code: code, Message: message, Instead: instead})
}

func (r *directiveReader) file(f *ast.File) {
	places := r.places(f)
	for _, group := range f.Comments {
		for _, c := range group.List {
			d, ok := ast.ParseDirective(c.Pos(), c.Text)
			if !ok || d.Tool != tool {
				r.nearly(c)
				continue
			}
			d.Args, _, _ = strings.Cut(d.Args, "//") // a comment may follow
			d.Args = strings.TrimSpace(d.Args)
			r.directive(f, group, d, places)
		}
	}
}

// nearly catches a directive with a space before it, which Go reads as prose.
func (r *directiveReader) nearly(c *ast.Comment) {
	text := strings.TrimPrefix(c.Text, "//")
	if trimmed := strings.TrimLeft(text, " \t"); trimmed != text && strings.HasPrefix(trimmed, tool+":") {
		r.bad(c.Pos(), "directive", "a directive has no space after the slashes, so this is only a comment", "write //"+tool+": right after the slashes")
	}
}

// places are what a directive can stand above, by line; of several things on a
// line, the outermost.
func (r *directiveReader) places(f *ast.File) map[int]ast.Node {
	out := map[int]ast.Node{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.FuncDecl, *ast.GenDecl, *ast.TypeSpec, ast.Stmt:
			if _, block := n.(*ast.BlockStmt); block {
				return true
			}
			line := r.fset.Position(n.Pos()).Line
			if _, taken := out[line]; !taken {
				out[line] = n
			}
		}
		return true
	})
	return out
}

func (r *directiveReader) directive(f *ast.File, group *ast.CommentGroup, d ast.Directive, places map[int]ast.Node) {
	if _, known := directives[d.Name]; !known {
		instead := "the directives are " + strings.Join(names, ", ")
		if near, ok := config.Nearest(d.Name, names); ok {
			instead = fmt.Sprintf("did you mean //weft:%s?", near)
		}
		r.bad(d.Slash, "directive", fmt.Sprintf("there is no directive //weft:%s", d.Name), instead)
		return
	}
	place := places[r.fset.Position(group.End()).Line+1]
	if s, trailing := places[r.fset.Position(d.Slash).Line].(ast.Stmt); trailing && s.Pos() < d.Slash {
		place = s
	}
	m := r.target(place, d)
	if m == nil {
		r.bad(d.Slash, "directive", fmt.Sprintf("//weft:%s stands where it says nothing", d.Name), "it belongs "+directives[d.Name])
		return
	}
	r.apply(m, place, d)
}

// target is the mark of what a directive stands above, or nil if it may not
// stand there.
func (r *directiveReader) target(place ast.Node, d ast.Directive) *mark {
	switch n := place.(type) {
	case *ast.FuncDecl:
		if d.Name == "op" && n.Recv == nil {
			return nil
		}
		return at(r.m.funcs, n)
	case *ast.GenDecl:
		if d.Name == "fragment" && n.Tok == token.TYPE && len(n.Specs) == 1 {
			return r.target(n.Specs[0], d)
		}
	case *ast.TypeSpec:
		if d.Name == "fragment" {
			return at(r.m.types, r.unit.info.Defs[n.Name])
		}
	case ast.Stmt:
		if d.Name == "fragment" {
			return at(r.m.stmts, n)
		}
	}
	return nil
}

func at[K comparable](m map[K]*mark, k K) *mark {
	if m[k] == nil {
		m[k] = &mark{}
	}
	return m[k]
}

// apply sets what a directive says, unless another one has.
func (r *directiveReader) apply(m *mark, place ast.Node, d ast.Directive) {
	args := strings.Fields(d.Args)
	want := func(ok bool, instead string) bool {
		if !ok {
			r.bad(d.Slash, "directive", fmt.Sprintf("//weft:%s %s is not understood", d.Name, d.Args), instead)
		}
		return ok
	}
	switch d.Name {
	case "train":
		if want(len(args) == 0, "it has no arguments") {
			r.once(m.train, false, d)
			if !m.train {
				r.m.train = append(r.m.train, place.(*ast.FuncDecl))
			}
			m.train = true
		}
	case "rows":
		if want(len(args) == 0, "it has no arguments") {
			r.once(m.rows, m.op != "", d)
			m.rows = true
		}
	case "fragment":
		if want(len(args) == 1 && token.IsIdentifier(args[0]), "it has one argument, a name like actor or critic") {
			r.once(m.fragment == args[0], m.fragment != "" && m.fragment != args[0], d)
			m.fragment = args[0]
		}
	case "op":
		if want(len(args) == 1 && slices.Contains([]string{"reads", "writes"}, args[0]), "say whether it reads or writes its component's state") {
			r.once(m.op == args[0], m.rows || m.op != "" && m.op != args[0], d)
			m.op = args[0]
		}
	case "axis":
		axis, ok := fdg.None, len(args) == 1
		if ok {
			axis, ok = axes[args[0]]
		}
		if want(ok, "the axes are environments, agents, members, rows and none") {
			r.once(m.axis == axis, m.axis != "" && m.axis != axis, d)
			m.axis = axis
		}
	}
}

// once reports a directive that says again, or against, what another one says.
func (r *directiveReader) once(again, against bool, d ast.Directive) {
	switch {
	case again:
		r.bad(d.Slash, "directive", fmt.Sprintf("//weft:%s is said twice", d.Name), "leave one out")
	case against:
		r.bad(d.Slash, "directive", fmt.Sprintf("//weft:%s %s contradicts another directive above it", d.Name, d.Args), "leave one out")
	}
}

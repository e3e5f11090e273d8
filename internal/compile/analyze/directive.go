package analyze

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/config"
)

// A directive is a line comment //weft:NAME ARGUMENTS.
const tool = "weft"

// rule says where a directive may stand, and what its argument is.
type rule struct {
	where, want string
	accepts     func(arg string) bool // nil for a directive without an argument
}

var directives = map[string]rule{
	"train":    {"above the function that holds the training loop", "it has no arguments", nil},
	"fragment": {"above a statement, a function or a component's type", "it has one argument, a name like actor or critic", token.IsIdentifier},
	"rows":     {"above a function", "it has no arguments", nil},
	"op":       {"above a method of a component", "say whether it reads or writes its component's state", oneOf("reads", "writes")},
	"axis": {"above a function marked //weft:op or //weft:rows", "the axes are environments, agents, members, rows and none",
		oneOf(string(fdg.None), string(fdg.Environments), string(fdg.Agents), string(fdg.Members), string(fdg.Rows))},
}

func oneOf(list ...string) func(string) bool {
	return func(arg string) bool { return slices.Contains(list, arg) }
}

// names lists the directives, for suggestions.
var names = []string{"train", "fragment", "rows", "op", "axis"}

// mark holds the directives of a function, a type or a statement: their arguments
// by the directives' names, or yes.
type mark map[string]string

// marks are the directives of a package: of functions and statements by their
// nodes, of types by their objects.
type marks struct {
	train []*ast.FuncDecl
	of    map[any]mark
}

type directiveReader struct {
	unit *unit
	fset *token.FileSet
	out  *findings
	m    *marks
}

// readMarks finds the directives of a package, and what is wrong with them.
func readMarks(u *unit, out *findings) *marks {
	r := &directiveReader{unit: u, fset: out.fset, out: out, m: &marks{of: map[any]mark{}}}
	for _, f := range u.files {
		r.file(f)
	}
	for n, m := range r.m.of { // where a function is read through, its axis is inferred
		if d, ok := n.(*ast.FuncDecl); ok && m["axis"] != "" && m["op"]+m["rows"] == "" {
			r.bad(d.Pos(), "//weft:axis says nothing about a function that is read through", "it belongs "+directives["axis"].where)
		}
	}
	for i, d := range r.m.train {
		if i > 0 {
			r.bad(d.Pos(), "the package has a second //weft:train, and the first one is "+r.m.train[0].Name.Name, "keep one loop in a package")
		}
	}
	return r.m
}

func (r *directiveReader) bad(pos token.Pos, message, instead string) {
	r.out.add(Finding{at: pos, Code: "directive", Message: message, Instead: instead})
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
			r.directive(group, d, places)
		}
	}
}

// nearly catches a directive with a space before it, which Go reads as prose.
func (r *directiveReader) nearly(c *ast.Comment) {
	text := strings.TrimPrefix(c.Text, "//")
	if trimmed := strings.TrimLeft(text, " \t"); trimmed != text && strings.HasPrefix(trimmed, tool+":") {
		r.bad(c.Pos(), "a directive has no space after the slashes, so this is only a comment", "write //"+tool+": right after the slashes")
	}
}

// places returns what a directive can stand above, by line; of several things on a
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

func (r *directiveReader) directive(group *ast.CommentGroup, d ast.Directive, places map[int]ast.Node) {
	if _, known := directives[d.Name]; !known {
		instead := "the directives are " + strings.Join(names, ", ")
		if near, ok := config.Nearest(d.Name, names); ok {
			instead = fmt.Sprintf("did you mean //weft:%s?", near)
		}
		r.bad(d.Slash, fmt.Sprintf("there is no directive //weft:%s", d.Name), instead)
		return
	}
	place := places[r.fset.Position(group.End()).Line+1]
	if s, trailing := places[r.fset.Position(d.Slash).Line].(ast.Stmt); trailing && s.Pos() < d.Slash {
		place = s
	}
	key := r.target(place, d)
	if key == nil {
		r.bad(d.Slash, fmt.Sprintf("//weft:%s stands where it says nothing", d.Name), "it belongs "+directives[d.Name].where)
		return
	}
	if r.m.of[key] == nil {
		r.m.of[key] = mark{}
	}
	r.apply(r.m.of[key], place, d)
}

// target returns the function, type or statement that a directive stands above, or
// nil if the directive may not stand there.
func (r *directiveReader) target(place ast.Node, d ast.Directive) any {
	switch n := place.(type) {
	case *ast.FuncDecl:
		if d.Name != "op" || n.Recv != nil {
			return n
		}
	case *ast.GenDecl:
		if n.Tok == token.TYPE && len(n.Specs) == 1 {
			return r.target(n.Specs[0], d)
		}
	case *ast.TypeSpec:
		if d.Name == "fragment" {
			return r.unit.info.Defs[n.Name]
		}
	case ast.Stmt:
		if d.Name == "fragment" {
			return n
		}
	}
	return nil
}

// apply notes what a directive says, and reports one that says again, or against,
// what another one says.
func (r *directiveReader) apply(m mark, place ast.Node, d ast.Directive) {
	args, rule := strings.Fields(d.Args), directives[d.Name]
	if rule.accepts == nil && len(args) > 0 || rule.accepts != nil && (len(args) != 1 || !rule.accepts(args[0])) {
		r.bad(d.Slash, fmt.Sprintf("//weft:%s %s is not understood", d.Name, d.Args), rule.want)
		return
	}
	value, old := append(args, "yes")[0], m[d.Name]
	switch {
	case old == value:
		r.bad(d.Slash, fmt.Sprintf("//weft:%s is said twice", d.Name), "leave one out")
	case old != "" || d.Name == "rows" && m["op"] != "" || d.Name == "op" && m["rows"] != "":
		r.bad(d.Slash, fmt.Sprintf("//weft:%s %s contradicts another directive above it", d.Name, d.Args), "leave one out")
	case d.Name == "train":
		r.m.train = append(r.m.train, place.(*ast.FuncDecl))
	}
	m[d.Name] = value
}

package project

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"

	"github.com/weft-rl/weft/internal/compile/tree"
)

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
		back := &ast.ReturnStmt{}
		for _, v := range gives {
			back.Results = append(back.Results, d.ref(v))
		}
		list = append(list, &line{pos: list[len(list)-1].pos, stmt: back})
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

// spanFunc prints a part as a function.
func (d *device) spanFunc(name, where string, takes, gives []*variable, lines []*line) string {
	w := &writer{emitter: d.emitter, names: map[*variable]string{}, where: map[*variable]int{}}
	w.open()
	for _, v := range append([]*variable{d.t, d.run}, takes...) {
		w.declare(v)
	}
	fmt.Fprintf(&w.b, "func %s(%s %s, %s *%s.Run", name, w.names[d.t], d.typeName(d.trainerType()), w.names[d.run], d.rlPackage())
	for _, v := range takes {
		fmt.Fprintf(&w.b, ", %s %s", w.names[v], d.typeName(v.typ))
	}
	w.b.WriteString(")" + d.resultTypes(gives) + " {\n")
	w.block(lines)
	w.b.WriteString("}\n")
	return wrap(fmt.Sprintf("%s is %s as one graph.", name, where)) + w.b.String()
}

// resultTypes returns the types of variables as those of a function's results.
func (d *device) resultTypes(list []*variable) string {
	var names []string
	for _, v := range list {
		names = append(names, d.typeName(v.typ))
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return " " + names[0]
	}
	return " (" + strings.Join(names, ", ") + ")"
}

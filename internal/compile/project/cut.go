package project

import (
	"go/ast"
	"slices"

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
		list = append(list, &line{pos: list[len(list)-1].pos, stmt: &ast.ReturnStmt{Results: d.refer(gives)}})
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

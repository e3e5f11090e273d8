package project

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// opened returns the lines of the whole loop as a device program has them, or nil.
// They are made anew for every caller, which changes them.
func (u *fuser) opened() (*device, []*line) {
	d := newDevice(u.src, u.g, &findings{})
	d.imports, d.used = u.imports, u.used
	lines := d.tidy(d.block(d.tree.Body))
	if d.out.any() {
		return nil, nil
	}
	return d, lines
}

// same returns, for variables of the graph, those among of that are the same in the
// program.
func (u *fuser) same(d *device, list, of []*variable) (out []*variable) {
	for _, v := range list {
		i := slices.IndexFunc(of, func(o *variable) bool { return d.twin(o) == v })
		out = append(out, of[i])
	}
	return out
}

// twin returns the variable that d has for one of another program.
func (d *device) twin(v *variable) *variable { return d.vars[v.obj] }

// cutting is the part of a loop's device program that has certain nodes.
type cutting struct {
	*device
	all   []*line
	nodes []int
	list  []*line // where it stands
	a, b  int     // from line a up to b of it
}

// has counts the nodes in a line, those that are to be cut out and others.
func (c *cutting) has(n *line) (mine, others int) {
	each([]*line{n}, func(n *line) {
		for _, id := range n.nodes {
			if c.g.Nodes[id].Fragment == "" {
				continue
			}
			if slices.Contains(c.nodes, id) {
				mine++
			} else {
				others++
			}
		}
	})
	return mine, others
}

// locate finds the lines that have all the nodes and no others, in the same loops and
// branches that are around the program's.
func (c *cutting) locate(list, around []*line) bool {
	c.list, c.a, c.b = list, -1, -1
	found := map[int]bool{}
	for i, n := range list {
		mine, others := c.has(n)
		if mine > 0 && (others > 0 || len(around) > 0) { // it may be all inside
			return len(around) > 0 && n.pos == around[0].pos &&
				slices.ContainsFunc(n.arms, func(a lineArm) bool { return c.locate(a.body, around[1:]) })
		}
		if mine > 0 && c.a < 0 {
			c.a = i
		}
		if mine > 0 {
			c.b = i + 1
			each([]*line{n}, func(n *line) {
				for _, id := range n.nodes {
					found[id] = true
				}
			})
		}
	}
	if c.a < 0 || len(around) > 0 || slices.ContainsFunc(c.nodes, func(id int) bool { return !found[id] }) {
		return false
	}
	return !slices.ContainsFunc(list[c.a:c.b], func(n *line) bool {
		_, others := c.has(n)
		return others > 0 || leaves([]*line{n}, token.BREAK, token.CONTINUE)
	})
}

// bounds returns the variables that the part takes, among in, and those that it
// gives: out. It extends the part by statements around it that only compute, as far
// as they are needed for that.
func (c *cutting) bounds(in, out []*variable) (takes, gives []*variable, ok bool) {
	for _, v := range out {
		if t := c.twin(v); t == nil {
			return nil, nil, false
		} else {
			gives = append(gives, t)
		}
	}
	given := map[*variable]bool{}
	for _, v := range in {
		given[c.twin(v)] = true
	}
	for {
		part := c.list[c.a:c.b]
		writes := c.assigns(part)
		if slices.ContainsFunc(gives, func(v *variable) bool { return writes[v] == 0 }) {
			if c.b == len(c.list) || !c.computes(c.list[c.b]) {
				return nil, nil, false
			}
			c.b++
			continue
		}
		missing := false
		takes, missing = c.missing(part, writes, given)
		if !missing {
			return takes, gives, true
		}
		if c.a == 0 || !c.computes(c.list[c.a-1]) {
			return nil, nil, false
		}
		c.a--
	}
}

// missing returns the variables that lines take from elsewhere, and whether there
// is one that is not given.
func (c *cutting) missing(part []*line, writes map[*variable]int, given map[*variable]bool) (takes []*variable, missing bool) {
	total, all := c.mentioned(c.all), c.assigns(c.all)
	inside := c.mentioned(part)
	for _, v := range sorted(inside) {
		switch {
		case v.fixed || inside[v] == total[v] || writes[v] > 0 && all[v] == writes[v]:
		case given[v]:
			takes = append(takes, v)
		case writes[v] > 0 && c.first(part, v):
		default:
			missing = true
		}
	}
	return takes, missing
}

// computes reports whether a line is a statement without operations.
func (c *cutting) computes(n *line) bool {
	mine, others := c.has(n)
	return n.word == "" && mine+others == 0 && !isJump(n) && !returning(n)
}

func returning(n *line) bool {
	_, ok := n.stmt.(*ast.ReturnStmt)
	return ok
}

// body returns the part as a device program has it, with a return at its end.
func (c *cutting) body(takes, gives []*variable) ([]*line, bool) {
	list := slices.Clone(c.list[c.a:c.b])
	if len(gives) > 0 {
		back := &ast.ReturnStmt{}
		for _, v := range gives {
			back.Results = append(back.Results, c.ref(v))
		}
		list = append(list, &line{pos: list[len(list)-1].pos, stmt: back})
	}
	c.params = takes
	lines := c.translate(list)
	return lines, !c.out.any()
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

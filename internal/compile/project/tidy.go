package project

import (
	"go/ast"
	"go/token"
	"slices"
)

// tidy leaves out what a program does not use, and what is only there for that.
func (m *emitter) tidy(list []*line) []*line {
	for changed := true; changed; {
		list, changed = m.without(list, m.reads(list))
	}
	return list
}

// without leaves out what is not read, and loops and branches that do nothing then.
func (m *emitter) without(list []*line, read map[*variable]bool) (out []*line, changed bool) {
	for _, n := range list {
		for i := range n.arms {
			var c bool
			n.arms[i], c = m.without(n.arms[i], read)
			changed = changed || c
		}
		switch {
		case n.word != "" && n.empty():
			changed = true
			continue
		case n.zero != nil && !read[n.zero]:
			changed = true
			continue
		}
		if n.key != nil && !read[n.key] {
			n.key, changed = nil, true
		}
		if n.value != nil && !read[n.value] {
			n.value, changed = nil, true
		}
		if s, ok := n.stmt.(*ast.AssignStmt); ok {
			gone, c := m.blanked(s, read)
			changed = changed || c
			if gone && n.pure {
				changed = true
				continue
			}
		}
		out = append(out, n)
	}
	return out, changed
}

// empty reports whether a loop or branch does nothing; an if that would be left
// with an else alone is kept.
func (n *line) empty() bool {
	if n.word == "next" {
		return false
	}
	return !slices.ContainsFunc(n.arms, func(a []*line) bool { return len(a) > 0 })
}

// blanked replaces variables that nobody reads by blanks; gone is true if none is
// left.
func (m *emitter) blanked(s *ast.AssignStmt, read map[*variable]bool) (gone, changed bool) {
	if s.Tok != token.ASSIGN && s.Tok != token.DEFINE {
		return false, false
	}
	gone = true
	for i, e := range s.Lhs {
		id, ok := e.(*ast.Ident)
		if ok && id.Name == "_" && m.of(id) == nil {
			continue
		}
		if v := m.of(id); ok && v != nil && !read[v] {
			s.Lhs[i], changed = ast.NewIdent("_"), true
			continue
		}
		gone = false
	}
	return gone, changed
}

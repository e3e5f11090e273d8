package analyze

import (
	"go/types"

	"github.com/weft-rl/weft/internal/compile/tree"
	"github.com/weft-rl/weft/internal/compile/vocabulary"
)

// qualifier names types by package, as an author writes them.
func qualifier(p *types.Package) string { return p.Name() }

// when returns a verdict on a type that has no parts of interest.
func when(is bool) tree.Verdict {
	if is {
		return tree.Yes
	}
	return tree.No
}

// ours reports whether a type is, or points to, one that the vocabulary declares.
func ours(t types.Type) bool {
	n := namedOf(t)
	if n == nil {
		return false
	}
	_, ok := inVocabulary(n.Obj().Pkg())
	return ok
}

// declared reports whether a directive describes a type of the vocabulary. Any other is judged by
// its parts, whoever declares it.
func (p *program) declared(t types.Type) bool {
	_, component := p.componentOf(t)
	return component || p.typ(t) != vocabulary.Type{}
}

// isBatch reports whether values of a type hold tensors.
func (p *program) isBatch(t types.Type) bool {
	return tree.Holds(t, func(t types.Type) tree.Verdict {
		switch {
		case p.typ(t).Batch:
			return tree.Yes
		case p.declared(t) || tree.IsPointer(t): // a component holds tensors, but is none
			return tree.No
		}
		return tree.Deeper
	})
}

func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }

// holdsKey reports whether values of a type hold random keys.
func (p *program) holdsKey(t types.Type) bool {
	return tree.Holds(t, func(t types.Type) tree.Verdict {
		if tree.IsPointer(t) || p.declared(t) {
			return when(!tree.IsPointer(t) && p.typ(t).Key)
		}
		return tree.Deeper
	})
}

// leads reports whether a value of a type leads to components, or may be something
// that does.
func (x *interp) leads(t types.Type) bool {
	return tree.Holds(t, func(t types.Type) tree.Verdict {
		if face, ok := t.Underlying().(*types.Interface); ok && face.NumMethods() > 0 {
			return when(!isError(t))
		}
		if x.isComponent(t) || x.p.declared(t) {
			return when(x.isComponent(t))
		}
		return tree.Deeper
	})
}

// isComponent reports whether t is a component of the vocabulary, or implements
// rl.Component.
func (x *interp) isComponent(t types.Type) bool {
	yes, known := x.components[t]
	if !known {
		yes = x.findComponent(t)
		x.components[t] = yes
	}
	return yes
}

func (x *interp) findComponent(t types.Type) bool {
	if t == nil {
		return false
	}
	if _, ok := x.p.componentOf(t); ok || x.p.typ(t).Run {
		return true
	}
	return x.component != nil && (types.Implements(t, x.component) || types.Implements(types.NewPointer(t), x.component))
}

// carryable reports why values of a type cannot travel, or nothing.
func (p *program) carryable(t types.Type) (why string) {
	tree.Holds(t, func(t types.Type) tree.Verdict {
		if p.declared(t) {
			return tree.No
		}
		switch u := t.Underlying().(type) {
		case *types.Chan:
			why = "a channel"
		case *types.Signature:
			why = "a function"
		case *types.Interface:
			why = "an interface, whose dynamic type is not known"
		case *types.Pointer:
			why = "a pointer"
		case *types.Map:
			why = "a map"
		case *types.Struct:
			for f := range u.Fields() {
				if why == "" && !f.Exported() && f.Pkg() != p.main.pkg {
					why = "a struct with the unexported field " + f.Name() + " of package " + f.Pkg().Name()
				}
			}
		}
		if why != "" {
			return tree.Yes
		}
		return tree.Deeper
	})
	return why
}

package analyze

import (
	"go/types"
)

// qualifier names types by package, as an author writes them.
func qualifier(p *types.Package) string { return p.Name() }

// verdict is what a look at a type says about the question whether values of it
// hold something.
type verdict int

const (
	deeper verdict = iota // it depends on its parts
	yes
	no
)

// holds reports whether values of a type, or several results, hold something that
// look recognises, in fields and elements and behind pointers.
func holds(t types.Type, look func(types.Type) verdict) bool {
	seen := map[types.Type]bool{}
	var in func(t types.Type) bool
	in = func(t types.Type) bool {
		if t == nil || seen[t] {
			return false
		}
		seen[t] = true
		if v := look(t); v != deeper {
			return v == yes
		}
		switch u := t.Underlying().(type) {
		case interface{ Elem() types.Type }:
			return in(u.Elem())
		case *types.Struct:
			for f := range u.Fields() {
				if in(f.Type()) {
					return true
				}
			}
		case *types.Tuple:
			for v := range u.Variables() {
				if in(v.Type()) {
					return true
				}
			}
		}
		return false
	}
	return in(t)
}

// when is a verdict on a type that has no parts of interest.
func when(is bool) verdict {
	if is {
		return yes
	}
	return no
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

// isBatch reports whether values of a type hold tensors.
func (p *program) isBatch(t types.Type) bool {
	return holds(t, func(t types.Type) verdict {
		switch {
		case p.typ(t).Batch:
			return yes
		case ours(t) || isPointer(t): // a component holds tensors, but is none
			return no
		}
		return deeper
	})
}

// refers reports whether a copy of a value of type t shares memory with it that
// can be written. Tensors and what the vocabulary declares are immutable or have a
// home, and so has what a pointer points to.
func refers(t types.Type) bool {
	return holds(t, func(t types.Type) verdict {
		if ours(t) || isPointer(t) {
			return no
		}
		switch t.Underlying().(type) {
		case *types.Slice, *types.Map:
			return yes
		case *types.Interface:
			return when(!isError(t))
		}
		return deeper
	})
}

func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }

// holdsKey reports whether values of a type hold random keys.
func (p *program) holdsKey(t types.Type) bool {
	return holds(t, func(t types.Type) verdict {
		if isPointer(t) || ours(t) {
			return when(!isPointer(t) && p.typ(t).Key)
		}
		return deeper
	})
}

// leads reports whether a value of a type leads to components, or may be something
// that does.
func (x *interp) leads(t types.Type) bool {
	return holds(t, func(t types.Type) verdict {
		if face, ok := t.Underlying().(*types.Interface); ok && face.NumMethods() > 0 {
			return when(!isError(t))
		}
		if x.isComponent(t) || ours(t) {
			return when(x.isComponent(t))
		}
		return deeper
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
func carryable(t types.Type, home *types.Package) string {
	return cannotCarry(t, home, map[types.Type]bool{})
}

func cannotCarry(t types.Type, home *types.Package, seen map[types.Type]bool) string {
	if t == nil || seen[t] {
		return ""
	}
	seen[t] = true
	if n := namedOf(t); n != nil {
		if _, ours := inVocabulary(n.Obj().Pkg()); ours {
			return ""
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Chan:
		return "a channel"
	case *types.Signature:
		return "a function"
	case *types.Interface:
		return "an interface, whose dynamic type is not known"
	case *types.Pointer:
		return "a pointer"
	case *types.Map:
		return "a map"
	case *types.Slice:
		return cannotCarry(u.Elem(), home, seen)
	case *types.Array:
		return cannotCarry(u.Elem(), home, seen)
	case *types.Struct:
		for i := range u.NumFields() {
			f := u.Field(i)
			if !f.Exported() && f.Pkg() != home {
				return "a struct with the unexported field " + f.Name() + " of package " + f.Pkg().Name()
			}
			if why := cannotCarry(f.Type(), home, seen); why != "" {
				return why
			}
		}
	}
	return ""
}

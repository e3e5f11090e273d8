package analyze

import (
	"go/types"
)

// qualifier names types by package, as an author writes them.
func qualifier(p *types.Package) string { return p.Name() }

// isBatch reports whether values of a type hold tensors.
func isBatch(t types.Type) bool { return holdsTensors(t, map[types.Type]bool{}) }

func holdsTensors(t types.Type, seen map[types.Type]bool) bool {
	if t == nil || seen[t] {
		return false
	}
	seen[t] = true
	if isNamed(t, "rl", "Tensor") || isNamed(t, "rl", "Tree") || isNamed(t, "rl", "Grads") {
		return true
	}
	if n := namedOf(t); n != nil {
		if rel, ours := inVocabulary(n.Obj().Pkg()); ours && !(rel == "rl" && (n.Obj().Name() == "Obs" || n.Obj().Name() == "Step") || rel == "replay" && n.Obj().Name() == "Sample") {
			return false // a component holds tensors, but is none
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for i := range u.NumFields() {
			if holdsTensors(u.Field(i).Type(), seen) {
				return true
			}
		}
	case *types.Slice:
		return holdsTensors(u.Elem(), seen)
	case *types.Array:
		return holdsTensors(u.Elem(), seen)
	case *types.Map:
		return holdsTensors(u.Elem(), seen)
	case *types.Chan:
		return holdsTensors(u.Elem(), seen)
	}
	return false
}

// isComponent reports whether t is a component of the vocabulary, or implements
// rl.Component.
func (x *interp) isComponent(t types.Type) bool {
	if t == nil {
		return false
	}
	for _, name := range []string{"Params", "Opt", "Stats", "Slots", "Func", "Loss", "Run", "Scope"} {
		if isNamed(t, "rl", name) {
			return true
		}
	}
	if isNamed(t, "env", "Batch") || isNamed(t, "env", "Groups") || isNamed(t, "replay", "Rollout") || isNamed(t, "replay", "Table") || isNamed(t, "nn", "Returns") {
		return true
	}
	return x.component != nil && (types.Implements(t, x.component) || types.Implements(types.NewPointer(t), x.component))
}

// subst replaces the type parameters of the functions that are being read
// through by what they stand for.
func (f *frame) subst(t types.Type) types.Type {
	if f == nil || len(f.targs) == 0 || t == nil {
		return t
	}
	switch t := t.(type) {
	case *types.TypeParam:
		if now, ok := f.targs[t]; ok {
			return now
		}
	case *types.Named:
		if args := t.TypeArgs(); args.Len() > 0 {
			now := make([]types.Type, args.Len())
			for i := range now {
				now[i] = f.subst(args.At(i))
			}
			if inst, err := types.Instantiate(nil, t.Origin(), now, false); err == nil {
				return inst
			}
		}
	case *types.Slice:
		return types.NewSlice(f.subst(t.Elem()))
	case *types.Pointer:
		return types.NewPointer(f.subst(t.Elem()))
	case *types.Array:
		return types.NewArray(f.subst(t.Elem()), t.Len())
	case *types.Tuple:
		vars := make([]*types.Var, t.Len())
		for i := range vars {
			v := t.At(i)
			vars[i] = types.NewVar(v.Pos(), v.Pkg(), v.Name(), f.subst(v.Type()))
		}
		return types.NewTuple(vars...)
	}
	return t
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

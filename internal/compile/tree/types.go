package tree

import (
	"go/types"
	"slices"
)

// Verdict answers, for one type, the question whether values of it
// hold something.
type Verdict int

const (
	Deeper Verdict = iota // it depends on its parts
	Yes
	No
)

// Holds reports whether values of a type, or several results, hold something that
// look recognises, in fields and elements and behind pointers.
func Holds(t types.Type, look func(types.Type) Verdict) bool {
	seen := map[types.Type]bool{}
	var in func(t types.Type) bool
	in = func(t types.Type) bool {
		if t == nil || seen[t] {
			return false
		}
		seen[t] = true
		if v := look(t); v != Deeper {
			return v == Yes
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

// IsPointer reports whether values of a type are pointers.
func IsPointer(t types.Type) bool {
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

// IsBasic reports whether a type is one of Go's basic types of a kind.
func IsBasic(t types.Type, kind types.BasicInfo) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&kind != 0
}

// Element returns the type of a slice's or an array's elements, nil of anything else.
func Element(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return u.Elem()
	case *types.Array:
		return u.Elem()
	}
	return nil
}

// StructFields returns a struct's fields, none of anything else.
func StructFields(t types.Type) []*types.Var {
	if t == nil {
		return nil
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	return slices.Collect(s.Fields())
}

// Dynamic reports whether a function is an interface's method.
func Dynamic(fn *types.Func) bool {
	recv := fn.Signature().Recv()
	return recv != nil && types.IsInterface(recv.Type())
}

// subst replaces the type parameters of the function that is being read.
func (b *builder) subst(t types.Type) types.Type { return substitute(t, b.fr.targs) }

// substitute replaces type parameters.
func substitute(t types.Type, by map[*types.TypeParam]types.Type) types.Type {
	if len(by) == 0 || t == nil {
		return t
	}
	switch t := t.(type) {
	case *types.TypeParam:
		if now, ok := by[t]; ok {
			return now
		}
	case *types.Alias:
		return substitute(types.Unalias(t), by)
	case *types.Named:
		if args := t.TypeArgs(); args.Len() > 0 {
			now := make([]types.Type, args.Len())
			for i := range now {
				now[i] = substitute(args.At(i), by)
			}
			if inst, err := types.Instantiate(nil, t.Origin(), now, false); err == nil {
				return inst
			}
		}
	case *types.Slice:
		return types.NewSlice(substitute(t.Elem(), by))
	case *types.Pointer:
		return types.NewPointer(substitute(t.Elem(), by))
	case *types.Array:
		return types.NewArray(substitute(t.Elem(), by), t.Len())
	case *types.Map:
		return types.NewMap(substitute(t.Key(), by), substitute(t.Elem(), by))
	case *types.Struct:
		return substituteStruct(t, by)
	case *types.Signature:
		if t.TypeParams().Len() == 0 {
			params, _ := substitute(t.Params(), by).(*types.Tuple)
			results, _ := substitute(t.Results(), by).(*types.Tuple)
			return types.NewSignatureType(nil, nil, nil, params, results, t.Variadic())
		}
	case *types.Tuple:
		vars := make([]*types.Var, t.Len())
		for i := range vars {
			v := t.At(i)
			vars[i] = types.NewVar(v.Pos(), v.Pkg(), v.Name(), substitute(v.Type(), by))
		}
		return types.NewTuple(vars...)
	}
	return t
}

func substituteStruct(t *types.Struct, by map[*types.TypeParam]types.Type) types.Type {
	fields, tags, changed := make([]*types.Var, t.NumFields()), make([]string, t.NumFields()), false
	for i := range fields {
		f := t.Field(i)
		now := substitute(f.Type(), by)
		changed = changed || now != f.Type()
		fields[i], tags[i] = types.NewField(f.Pos(), f.Pkg(), f.Name(), now, f.Embedded()), t.Tag(i)
	}
	if !changed {
		return t
	}
	return types.NewStruct(fields, tags)
}

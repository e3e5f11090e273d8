package rl

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"
)

// Registered returns an error if a component that can be reached from t, a trainer
// that was constructed in s, is not part of the scope's state: it would be trained,
// and neither saved nor sent to other replicas. The error names the field. Components
// of scopes beside s, such as the environments of an evaluation, are not looked for in
// s; nor is one that saves nothing.
func (system) Registered(s *Scope, t Trainer) error {
	w := &walk{scope: s, top: base(reflect.TypeOf(t)), known: map[unsafe.Pointer]bool{}, seen: map[place]bool{}}
	w.home, _, _ = strings.Cut(w.top.PkgPath(), "/")
	for o := s; o != nil; o = o.beside {
		for _, c := range o.components {
			if v := reflect.ValueOf(c); v.Kind() == reflect.Pointer {
				w.known[v.UnsafePointer()] = true
			}
		}
	}
	s.beside, s.complete = nil, true // scopes that an evaluation makes later need not be known
	w.visit(reflect.ValueOf(t), "trainer")
	return w.err
}

// walk goes through all that a trainer refers to.
type walk struct {
	scope *Scope
	top   reflect.Type            // the trainer's own
	home  string                  // the first part of its package's path
	known map[unsafe.Pointer]bool // registered components
	seen  map[place]bool
	err   error
}

// place is a pointer that was followed; a struct and its first field have the same
// address.
type place struct {
	at unsafe.Pointer
	t  reflect.Type
}

var componentType = reflect.TypeFor[Component]()

// visit looks at v, which lies at path.
func (w *walk) visit(v reflect.Value, path string) {
	if w.err != nil || !v.IsValid() {
		return
	}
	switch v.Kind() {
	case reflect.Interface:
		w.visit(v.Elem(), path)
		return
	case reflect.Pointer:
		if v.IsNil() || w.known[v.UnsafePointer()] || w.passed(v) {
			return
		}
	}
	if v.Type().Implements(componentType) {
		w.component(v, path)
		return
	}
	if !w.opaque(v.Type()) {
		w.inside(v, path)
	}
}

// passed reports whether a pointer was followed before.
func (w *walk) passed(v reflect.Value) bool {
	p := place{v.UnsafePointer(), v.Type()}
	if w.seen[p] {
		return true
	}
	w.seen[p] = true
	return false
}

// inside visits what v holds.
func (w *walk) inside(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Pointer:
		w.visit(v.Elem(), path)
	case reflect.Struct:
		for i := range v.NumField() {
			w.visit(v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && w.holds(v.Type().Elem()); i++ {
			w.visit(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Map:
		for key, x := range v.Seq2() {
			w.visit(x, fmt.Sprintf("%s[%v]", path, key))
		}
	}
}

// component looks at a component that is not registered itself. One that has its
// methods from a component that it embeds stands for that one.
func (w *walk) component(v reflect.Value, path string) {
	x := v
	if x.Kind() == reflect.Pointer {
		x = x.Elem()
	}
	if x.Kind() == reflect.Struct {
		for i := range x.NumField() {
			if f := x.Type().Field(i); f.Anonymous && f.Type.Implements(componentType) {
				w.inside(x, path)
				return
			}
		}
	}
	if v.Kind() == reflect.Pointer && w.saves(v) {
		w.err = fmt.Errorf("%s, a component of type %s, is not registered with the trainer's scope, so that it would be neither saved nor sent: "+
			"make it in the scope that the constructor is given, or call Scope.Register", path, v.Type())
	}
}

// saves reports whether a component has any state to lose.
func (w *walk) saves(v reflect.Value) bool {
	st := NewState(w.scope)
	// The field may be unexported, of which reflect gives no interface.
	c := reflect.NewAt(v.Type().Elem(), v.UnsafePointer()).Interface().(Component)
	err := Catch(func() error { c.Save(st); return nil })
	return err != nil || len(st.Arrays()) > 0
}

// holds reports whether values of t may refer to a component.
func (w *walk) holds(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Array, reflect.Struct:
		return !w.opaque(t) || t.Implements(componentType)
	}
	return false
}

// opaque reports whether t is not looked into: types of the vocabulary, which hold
// components on purpose, of GoMLX and of the standard library.
func (w *walk) opaque(t reflect.Type) bool {
	t = base(t)
	path := t.PkgPath()
	if path == "" || t == w.top {
		return false
	}
	for _, p := range []string{"rl", "env", "replay", "nn", "edge"} {
		own, sub := "github.com/weft-rl/weft/"+p, "github.com/weft-rl/weft/"+p+"/"
		if path == own || strings.HasPrefix(path, sub) {
			return true
		}
	}
	first, _, _ := strings.Cut(path, "/")
	standard := !strings.Contains(first, ".") && first != w.home
	return standard || strings.HasPrefix(path, "github.com/gomlx/")
}

// base returns the type that a pointer type points to in the end.
func base(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

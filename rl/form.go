package rl

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"unsafe"
)

// form is how a struct of tensors is put together, apart from the tensors: the
// names in its trees and the lengths of its slices, as a list of words in
// declaration order. A store that is loaded has only this to say what its rows
// look like, until something is inserted again.
type form struct {
	put  func(at unsafe.Pointer, out []string) []string
	take func(at unsafe.Pointer, in *formReader)
}

type formReader struct {
	words []string
	err   error
}

func (r *formReader) word() string {
	if len(r.words) == 0 {
		r.err = fmt.Errorf("it is too short")
		return ""
	}
	w := r.words[0]
	r.words = r.words[1:]
	return w
}

// count is a number of further words, or of elements that need some.
func (r *formReader) count() int {
	n, err := strconv.Atoi(r.word())
	if r.err == nil && (err != nil || n < 0 || n > 1<<16) {
		r.err = fmt.Errorf("it holds no length where one must be")
	}
	if r.err != nil {
		return 0
	}
	return n
}

var tensorForm = form{
	put:  func(_ unsafe.Pointer, out []string) []string { return out },
	take: func(unsafe.Pointer, *formReader) {},
}

var treeForm = form{
	put: func(at unsafe.Pointer, out []string) []string {
		t := (*Tree)(at)
		return append(append(out, strconv.Itoa(len(t.names))), t.names...)
	},
	take: func(at unsafe.Pointer, in *formReader) {
		names := make([]string, in.count())
		for i := range names {
			names[i] = in.word()
		}
		*(*Tree)(at) = Tree{names: names, leaves: make([]Tensor, len(names))}
	},
}

func sliceForm(t reflect.Type, elem codec, each func(at unsafe.Pointer, f func(i int, at unsafe.Pointer))) form {
	return form{
		put: func(at unsafe.Pointer, out []string) []string {
			mark := len(out)
			out = append(out, "")
			n := 0
			each(at, func(i int, p unsafe.Pointer) { n, out = i+1, elem.form.put(p, out) })
			out[mark] = strconv.Itoa(n)
			return out
		},
		take: func(at unsafe.Pointer, in *formReader) {
			n := in.count()
			reflect.NewAt(t, at).Elem().Set(reflect.MakeSlice(t, n, n))
			each(at, func(_ int, p unsafe.Pointer) { elem.form.take(p, in) })
		},
	}
}

// FormOf is how v is put together, apart from its tensors, as text.
func FormOf[T any](v T) string {
	text, err := json.Marshal(mustCodec[T]().form.put(unsafe.Pointer(&v), []string{}))
	check(err)
	return string(text)
}

// OfForm is a T of a form that FormOf gave, its tensors absent.
func OfForm[T any](text string) (v T, err error) {
	in := &formReader{}
	if err := json.Unmarshal([]byte(text), &in.words); err != nil {
		return v, fmt.Errorf("the form of %T: %w", v, err)
	}
	mustCodec[T]().form.take(unsafe.Pointer(&v), in)
	if in.err == nil && len(in.words) > 0 {
		in.err = fmt.Errorf("it is too long")
	}
	if in.err != nil {
		return v, fmt.Errorf("the form of %T: %w", v, in.err)
	}
	return v, nil
}

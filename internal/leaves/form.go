package leaves

import (
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"unsafe"
)

// form is how a struct of tensors is put together, apart from the tensors: the
// names in its branches and the lengths of its slices, as a list of words in
// declaration order. A store that is loaded has only this to say what its rows
// look like, until something is inserted again.
type form struct {
	put  func(at unsafe.Pointer, out []string) []string
	take func(at unsafe.Pointer, in *formReader)
}

// Form returns how the value at a place is put together, apart from its leaves, as text.
func (c *Codec[L]) Form(at unsafe.Pointer) (string, error) {
	text, err := json.Marshal(c.form.put(at, []string{}))
	return string(text), err
}

// Take gives the value at a place a form that Form returned, its leaves absent.
func (c *Codec[L]) Take(at unsafe.Pointer, text string) error {
	in := &formReader{}
	if err := json.Unmarshal([]byte(text), &in.words); err != nil {
		return err
	}
	c.form.take(at, in)
	if in.err == nil && len(in.words) > 0 {
		in.err = errors.New("it is too long")
	}
	return in.err
}

type formReader struct {
	words []string
	err   error
}

func (r *formReader) word() string {
	if len(r.words) == 0 {
		r.err = errors.New("the form is too short")
		return ""
	}
	w := r.words[0]
	r.words = r.words[1:]
	return w
}

// count returns a number of further words, or of elements that need some.
func (r *formReader) count() int {
	n, err := strconv.Atoi(r.word())
	if r.err == nil && (err != nil || n < 0 || n > 1<<16) {
		r.err = errors.New("it holds no length where one must be")
	}
	if r.err != nil {
		return 0
	}
	return n
}

var leafForm = form{
	put:  func(_ unsafe.Pointer, out []string) []string { return out },
	take: func(unsafe.Pointer, *formReader) {},
}

func branchForm[L any]() form {
	return form{
		put: func(at unsafe.Pointer, out []string) []string {
			b := (*Branch[L])(at)
			return append(append(out, strconv.Itoa(len(b.Names))), b.Names...)
		},
		take: func(at unsafe.Pointer, in *formReader) {
			names := make([]string, in.count())
			for i := range names {
				names[i] = in.word()
			}
			*(*Branch[L])(at) = Branch[L]{names, make([]L, len(names))}
		},
	}
}

func sliceForm(t reflect.Type, elem form, each func(at unsafe.Pointer, f func(i int, at unsafe.Pointer))) form {
	return form{
		put: func(at unsafe.Pointer, out []string) []string {
			mark := len(out)
			out = append(out, "")
			n := 0
			each(at, func(i int, p unsafe.Pointer) { n, out = i+1, elem.put(p, out) })
			out[mark] = strconv.Itoa(n)
			return out
		},
		take: func(at unsafe.Pointer, in *formReader) {
			n := in.count()
			reflect.NewAt(t, at).Elem().Set(reflect.MakeSlice(t, n, n))
			each(at, func(_ int, p unsafe.Pointer) { elem.take(p, in) })
		},
	}
}

func structForm[L any](fields []field[L]) form {
	return form{
		put: func(at unsafe.Pointer, out []string) []string {
			for i := range fields {
				out = fields[i].form.put(unsafe.Add(at, fields[i].offset), out)
			}
			return out
		},
		take: func(at unsafe.Pointer, in *formReader) {
			for i := range fields {
				fields[i].form.take(unsafe.Add(at, fields[i].offset), in)
			}
		},
	}
}

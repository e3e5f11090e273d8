package replay

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/weft-rl/weft/rl"
)

// column is the memory of one tensor: a *rl.Ring, or *rl.Stacks.
type column interface {
	Put(at int, x rl.Tensor)
	PutRow(slot int, x rl.Tensor, i int)
	Gather(s *rl.Scope, slots []int, lead ...int) rl.Tensor
	Tensor(s *rl.Scope) rl.Tensor
	Take(x rl.Tensor)
	Save(s *rl.State, name string, rows int)
}

// columns holds rows of E as one column for each tensor.
type columns[E any] struct {
	scope *rl.Scope
	like  E        // an element without its tensors; its trees' names count
	rings []column // nil where the tensor is absent
}

// begin makes columns for rows like e's, of which there are rows at a time. Tensors for
// which share has a number above 0 have the memory of frames that this number stands for.
func (c *columns[E]) begin(e E, leaves []rl.Tensor, rows int, slots func(leaf int) int, share []int) {
	c.like = rl.Rebuild(e, make([]rl.Tensor, len(leaves))) // its tensors would live on
	c.rings = make([]column, len(leaves))
	c.scope.Room(c.need(leaves, slots, share))
	frames := map[int]*rl.Frames{}
	for i, x := range leaves {
		switch {
		case !x.Ok():
			continue
		case x.Rows() != rows:
			rl.Failf("%s has %d rows, others have %d: there is one for each environment", nameOf(e, i), x.Rows(), rows)
		}
		if share == nil || share[i] == 0 {
			c.rings[i] = c.scope.Ring(slots(i), x)
			continue
		}
		f, ok := frames[share[i]]
		if !ok {
			f = rl.NewFrames(c.scope, fmt.Sprintf("frames%d", i), slots(i), x, c.scope.Stacked(rowOf(x)))
			frames[share[i]] = f
		}
		c.rings[i] = f.Ring(slots(i))
	}
}

// need returns the bytes that columns of leaves take in all, if there are as many frames
// as slots.
func (c *columns[E]) need(leaves []rl.Tensor, slots func(leaf int) int, share []int) (n int64) {
	for i, x := range leaves {
		if !x.Ok() || x.Rows() == 0 {
			continue
		}
		size := int64(x.Shape().Size() / x.Rows() * x.Shape().DType.Size())
		if share != nil && share[i] > 0 {
			frames := int64(c.scope.Stacked(rowOf(x)))
			if size /= frames; share[i] != i+1 { // another tensor has them
				size = 0
			}
			size += 4 * frames // their numbers
		}
		n += int64(slots(i)) * size
	}
	return n
}

// fit reports whether leaves are there where rings are.
func (c *columns[E]) fit(leaves []rl.Tensor) bool {
	return slices.EqualFunc(leaves, c.rings, func(x rl.Tensor, r column) bool { return x.Ok() == (r != nil) })
}

// save puts the rows' form, and the first slots of each ring.
func (c *columns[E]) save(s *rl.State, filled func(leaf int) int) {
	rl.PutSlice(s, "form", []byte(rl.FormOf(c.like)))
	for i, r := range c.rings {
		if r != nil {
			r.Save(s.At("rows"), fmt.Sprint(i), filled(i))
		}
	}
}

// loadForm takes the rows' form back.
func (c *columns[E]) loadForm(s *rl.State) (err error) {
	c.like, err = rl.OfForm[E](string(rl.GetSlice[byte](s, "form")))
	return err
}

// load takes the rings back, once the form is known.
func (c *columns[E]) load(s *rl.State, slots func(leaf int) int) {
	c.rings = make([]column, len(rl.LeafNames(c.like)))
	at, frames := s.At("rows"), map[string]*rl.Frames{}
	for i := range c.rings {
		switch name := fmt.Sprint(i); {
		case at.Has(name):
			if r := rl.LoadRing(at, name, slots(i)); r != nil {
				c.rings[i] = r
			}
		case rl.HasStacks(at, name):
			if r := rl.LoadStacks(at, name, slots(i), frames); r != nil {
				c.rings[i] = r
			}
		}
	}
}

// role is the part that a field of E plays in a sample.
type role uint8

const (
	ofFirst role = iota
	ofLast
	ofAll   // the discounted sum
	ofStart // the memory at the start of a sequence
	ofPatch // what Patch changes
)

// rolesOf reads the tags of E's fields, of which known lists the allowed ones.
func rolesOf[E any](names []string, known map[string]role) []role {
	out := make([]role, len(names))
	typ := reflect.TypeFor[E]()
	if typ.Kind() != reflect.Struct {
		return out
	}
	for i, name := range names {
		field, _, _ := strings.Cut(name, ".")
		f, _ := typ.FieldByName(field)
		tag, tagged := f.Tag.Lookup("replay")
		if !tagged || tag == "" {
			continue
		}
		r, ok := known[tag]
		if !ok {
			rl.Failf(`field %s of %s has the tag replay:%q: it may be %s`, field, typ, tag, quoted(known))
		}
		out[i] = r
	}
	return out
}

// fieldsOf returns the names of e's tensors, and of its fields: those that are slices have no
// tensors before there are rows.
func fieldsOf[E any](e E) []string {
	out := rl.LeafNames(e)
	if typ := reflect.TypeFor[E](); typ.Kind() == reflect.Struct {
		for i := range typ.NumField() {
			out = append(out, typ.Field(i).Name)
		}
	}
	return out
}

// quoted lists the tags of known in order.
func quoted(known map[string]role) string {
	var out []string
	for tag := range known {
		out = append(out, fmt.Sprintf("%q", tag))
	}
	slices.Sort(out)
	return strings.Join(out, " or ")
}

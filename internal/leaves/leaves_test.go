package leaves

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// A leaf is a number here, and a tree is a struct that holds a branch.
type (
	leaf  struct{ n int }
	tree  struct{ of Branch[leaf] }
	inner struct{ A, B leaf }
	outer struct {
		inner
		X    tree
		Many []inner
	}
)

func sample() outer {
	return outer{
		inner: inner{leaf{1}, leaf{2}},
		X:     tree{Branch[leaf]{[]string{"p", "q"}, []leaf{{3}, {4}}}},
		Many:  []inner{{leaf{5}, leaf{6}}},
	}
}

func TestCodec(t *testing.T) {
	v := sample()
	c, err := NewSet[leaf, tree]().Of(reflect.TypeFor[outer]())
	if err != nil {
		t.Fatal(err)
	}
	at := unsafe.Pointer(&v)
	got := c.Read(at, nil)
	if want := []leaf{{1}, {2}, {3}, {4}, {5}, {6}}; !slices.Equal(got, want) {
		t.Errorf("leaves %v, want %v", got, want)
	}
	if got, want := c.Names(at, "", nil), []string{"A", "B", "X.p", "X.q", "Many.0.A", "Many.0.B"}; !slices.Equal(got, want) {
		t.Errorf("names %v, want %v", got, want)
	}
	slices.Reverse(got)
	if rest, ok := c.Write(at, append(got, leaf{7})); !ok || len(rest) != 1 || v.A.n != 6 || v.X.of.Leaves[1].n != 3 || v.Many[0].B.n != 1 {
		t.Errorf("%v is left of what was written to %v", rest, v)
	}
	if _, ok := c.Write(at, got[:5]); ok {
		t.Error("too few leaves are enough")
	}
}

// TestWriteShares: slices of a value that is written to are its own afterwards.
func TestWriteShares(t *testing.T) {
	v := sample()
	other := v
	c, err := NewSet[leaf, tree]().Of(reflect.TypeFor[outer]())
	if err != nil {
		t.Fatal(err)
	}
	c.Write(unsafe.Pointer(&v), make([]leaf, 6))
	if other.X.of.Leaves[0].n != 3 || other.Many[0].A.n != 5 {
		t.Errorf("a copy has become %v", other)
	}
}

func TestForm(t *testing.T) {
	v := sample()
	c, err := NewSet[leaf, tree]().Of(reflect.TypeFor[outer]())
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.Form(unsafe.Pointer(&v))
	if err != nil {
		t.Fatal(err)
	}
	var w outer
	if err := c.Take(unsafe.Pointer(&w), text); err != nil || len(w.Many) != 1 || !slices.Equal(w.X.of.Names, []string{"p", "q"}) {
		t.Errorf("%s makes %v: %v", text, w, err)
	}
	for bad, want := range map[string]string{`["2","p"]`: "too short", `["x","0"]`: "no length", `["0","0","y"]`: "too long", `{`: "unexpected end"} {
		if err := c.Take(unsafe.Pointer(&w), bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", bad, err, want)
		}
	}
}

func TestRefused(t *testing.T) {
	type list struct{ Next []list }
	for typ, want := range map[reflect.Type]string{
		reflect.TypeFor[int]():                "int cannot cross an operation",
		reflect.TypeFor[struct{ N string }](): "field N of struct",
		reflect.TypeFor[list]():               "contains itself",
	} {
		if _, err := NewSet[leaf, tree]().Of(typ); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", typ, err, want)
		}
	}
}

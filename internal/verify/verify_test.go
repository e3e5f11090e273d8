package verify

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/stack"
	"github.com/weft-rl/weft/rl"
)

// leaf returns rows of two numbers, the row's number and x.
func leaf(t *testing.T, name string, x float32, rows ...int) rl.Leaf {
	t.Helper()
	d, err := device.Open(device.Default)
	if err != nil {
		t.Fatal(err)
	}
	var data []float32
	for _, r := range rows {
		data = append(data, float32(r), x)
	}
	return rl.Leaf{Name: name, Tensor: rl.FromFlat(rl.NewScope(d, 1), data, len(rows), 2)}
}

// TestDigests: digests of shards add up to that of the batch, whose order counts.
func TestDigests(t *testing.T) {
	whole := []digest{newDigest(leaf(t, "x", 1, 0, 1, 2, 3, 4), rl.Span{Lo: 0, Hi: 5, Of: 5})}
	lo, hi := rl.Span{Lo: 0, Hi: 2, Of: 5}, rl.Span{Lo: 2, Hi: 5, Of: 5}
	for _, c := range []struct {
		name         string
		parts        []digest
		equal, known bool
	}{
		{"shards", []digest{newDigest(leaf(t, "x", 1, 0, 1), lo), newDigest(leaf(t, "x", 1, 2, 3, 4), hi)}, true, true},
		{"another number", []digest{newDigest(leaf(t, "x", 1, 0, 1), lo), newDigest(leaf(t, "x", 2, 2, 3, 4), hi)}, false, true},
		{"exchanged rows", []digest{newDigest(leaf(t, "x", 1, 1, 0), lo), newDigest(leaf(t, "x", 1, 2, 3, 4), hi)}, false, true},
		{"another's row", []digest{newDigest(leaf(t, "x", 1, 0, 2), lo), newDigest(leaf(t, "x", 1, 1, 3, 4), hi)}, false, true},
		{"a shard is missing", []digest{newDigest(leaf(t, "x", 1, 0, 1), lo)}, true, false},
		{"no rows of environments", []digest{newDigest(leaf(t, "x", 1, 0, 1, 2), lo)}, true, false},
		{"whole elsewhere", []digest{newDigest(leaf(t, "x", 1, 0, 1, 2, 3, 4), lo), newDigest(leaf(t, "x", 1, 0, 1, 2, 3, 4), hi)}, true, true},
		{"not the same elsewhere", []digest{newDigest(leaf(t, "x", 1, 0, 1, 2, 3, 4), lo), newDigest(leaf(t, "x", 3, 0, 1, 2, 3, 4), hi)}, false, true},
	} {
		if equal, known := same(whole, c.parts, false); equal != c.equal || known != c.known {
			t.Errorf("%s: equal %v, known %v", c.name, equal, known)
		}
	}
}

// at returns an operation that was called from places, the innermost first.
func at(name string, lines ...int) *record {
	r := &record{ident: ident{next: 1, kind: "rl.Func.Call", name: name, number: 1}}
	for _, l := range lines {
		r.callers = append(r.callers, stack.Place{File: "/home/me/loop.go", Line: l})
	}
	return r
}

// TestPaired: operations are told apart by where they were called from. In generated
// code that is the line that a comment names.
func TestPaired(t *testing.T) {
	src := &sources{texts: map[string][]byte{"gen_coarse.go": []byte("a := f() // loop.go:20\nb := f() // loop.go:30\nc := g() // loop.go:9\nd := h()\n")}}
	inner := func(lines ...int) *record { // a method at loop.go:9, called from generated code, or the operation there
		r := at("f", lines[:len(lines)-1]...)
		r.callers = append(r.callers, stack.Place{File: "/home/me/gen_coarse.go", Line: lines[len(lines)-1]})
		return r
	}
	plain := &trace{records: []*record{at("f", 9, 20), at("f", 9, 20), at("f", 9, 30)}}
	absent := inner(1)
	absent.callers[0].File = "/nowhere/gen_other.go"
	for _, c := range []struct {
		name    string
		records []*record
		want    []int // calls; -1 is none
	}{
		{"as in the plain loop", []*record{at("f", 9, 20), at("f", 9, 20), at("f", 9, 30)}, []int{0, 1, 2}},
		{"one of two callers", []*record{inner(9, 2)}, []int{2}},
		{"the other", []*record{inner(9, 1), inner(9, 1)}, []int{0, 1}},
		{"once too often", []*record{inner(9, 2), inner(9, 2)}, []int{2, -1}},
		{"read through, all of them", []*record{inner(3), inner(3), inner(3)}, []int{0, 1, 2}},
		{"read through, some of them", []*record{inner(3)}, []int{-1}},
		{"text not at hand", []*record{absent, absent, absent}, []int{0, 1, 2}},
		{"text not at hand, some", []*record{absent}, []int{-1}},
	} {
		cs := newCalls([]*trace{plain}, src)
		var got []int
		for _, x := range cs.paired(c.records, cs.by[plain.records[0].ident]) {
			got = append(got, slices.Index(cs.list, x))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestOneLine: a program that has one of two calls in a line is not compared with the other, and
// the other is not missed.
func TestOneLine(t *testing.T) {
	first, second := at("f", 9), at("f", 9)
	second.callers[0].PC = 1
	cs := newCalls([]*trace{{records: []*record{first, second}}}, &sources{})
	cs.add(&trace{group: "learner", records: []*record{at("f", 9)}})
	if d := cs.missing("the plain loop"); d != nil {
		t.Errorf("missing: %v", d)
	}
	for i, c := range cs.list {
		if len(c.want) != 1 || len(c.got) > 0 {
			t.Errorf("call %d has %d records of the plain loop and %d of the program", i, len(c.want), len(c.got))
		}
	}
}

// TestMissing: an operation that is left out is named, with its time at its place.
func TestMissing(t *testing.T) {
	cs := newCalls([]*trace{{records: []*record{at("f", 9), at("f", 9), at("g", 12)}}}, &sources{})
	cs.add(&trace{group: "learner", records: []*record{at("f", 9), at("g", 12)}})
	if d := cs.missing("the plain loop"); d == nil || d.String() != `rl.Func.Call of "f" at loop.go:9, iteration 1, 2nd time: it is not done, unlike in the plain loop` {
		t.Errorf("%v", d)
	}
}

// TestOrdinal: English counts so.
func TestOrdinal(t *testing.T) {
	for n, want := range map[int]string{1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 13: "13th", 21: "21st", 102: "102nd", 111: "111th"} {
		if got := ordinal(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

// TestRounded: weights may be a little off the way that they went, and not more.
func TestRounded(t *testing.T) {
	weights := func(x ...float32) checkpoint.Array {
		a := checkpoint.Array{Name: "net/w", DType: "F32", Shape: []int{len(x)}}
		for _, v := range x {
			b := math.Float32bits(v)
			a.Data = append(a.Data, byte(b), byte(b>>8), byte(b>>16), byte(b>>24))
		}
		return a
	}
	near := rounded([]checkpoint.Array{weights(1, 1)})
	for _, c := range []struct {
		a, b checkpoint.Array
		want bool
	}{
		{weights(1.001, 1), weights(1.001, 1), true},
		{weights(1.001, 1), weights(1.00101, 1), true},
		{weights(1.001, 1), weights(1.0002, 1), false},
		{weights(1.001, 1), weights(1, 1), false},
		{weights(1, 1), weights(1, 1), true},
		{weights(1.001, 1), weights(float32(math.NaN()), 1), false},
	} {
		if got := near(c.a, c.b); got != c.want {
			t.Errorf("%v and %v: %v", c.a.Data, c.b.Data, got)
		}
	}
}

// TestDeadline: a loop whose iteration takes too long is ended by its next operation.
func TestDeadline(t *testing.T) {
	tr := &trace{deadline: time.Unix(1, 0)}
	if err := rl.Catch(func() error { tr.Operation(rl.Operation{}); return nil }); !errors.Is(err, ErrLong) {
		t.Errorf("%v", err)
	}
}

package main

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// T does operations and remembers them.
type T struct {
	trace []string
	Base
	Part  *Part
	Sizes []int
}

type Base struct{ Scale int }

type Part struct{ N int }

type Pair struct {
	A, B int
	List []int
}

// op is the operation.
func (t *T) op(name string, args ...int) int {
	out := len(name)
	for i, a := range args {
		out += (i + 2) * a
	}
	t.trace = append(t.trace, fmt.Sprint(name, args, out))
	return out % 17
}

// both is an operation with two results.
func (t *T) both(name string, a, b int) (x, y int) { return t.raw(name, a), t.raw(name, b) }

func (t *T) raw(name string, a int) int {
	t.trace = append(t.trace, fmt.Sprint(name, a))
	return a + len(name)
}

func (t *T) inner(a, b bool) int {
	if a {
		if b {
			return t.op("early")
		}
		t.op("not yet")
	}
	t.op("rest")
	return 2
}

func (t *T) inSwitch(n int) (out int) {
	switch n {
	case 0:
		return t.op("zero")
	case 1, 2:
		if n == 2 {
			return 7
		}
		out = 3
	default:
		if t.op("default", n) > 8 {
			break
		}
		t.op("small")
	}
	out += t.op("behind", out)
	return
}

func (t *T) find(limit int) int {
	for i := range 5 {
		for j := 5; j >= 0; j-- {
			if v := t.op("look", i, j); v > limit {
				return v
			} else if v == 3 {
				continue
			}
			t.op("on")
		}
		t.op("row", i)
	}
	return -1
}

func (t *T) swap(p, q int) (int, int) {
	t.op("swap", p, q)
	return q, p
}

func (t *T) fill(xs []int, v int) {
	for i := range xs {
		xs[i] = t.op("fill", i, v)
	}
	if v > 3 {
		return
	}
	xs[0] = v
}

func (t *T) void(stop bool) {
	if stop {
		return
	}
	t.op("void")
}

func (t *T) grid() (out int) {
	defer func() {}()
	return 0
}

func (b Base) scaled(t *T, x int) int { return t.op("scaled", b.Scale*x) }

func (p *Part) use(t *T, list ...int) int {
	sum := p.N
	for _, x := range list {
		sum += t.op("use", x)
	}
	return sum
}

func apply[S ~[]E, E any](t *T, list S, pick func() int) int { return len(list) }

func count[E comparable](t *T, list []E, x E) (n int) {
	const step = 2
	for _, y := range list {
		if x == y {
			n += step
			t.op("same", n)
		}
	}
	return n
}

func helper(xs []int) (sum int) {
	for _, x := range xs {
		sum += x
	}
	return sum
}

type Acc struct{ n, sum int }

func (a *Acc) Add(x int) { a.n++; a.sum += x }

func (a Acc) Mean() int { return a.sum / max(a.n, 1) }

func caseReturns(t *T) int {
	x := 0
	for i := range 4 {
		x += t.inner(i%2 == 0, i > 1)
		t.void(i == 2)
		x += t.inSwitch(i)
	}
	return x + t.find(12) + t.find(100)
}

func caseTuples(t *T) int {
	p, q := 3, 4
	p, q = t.swap(p, q)
	xs := []int{1, 2, 3}
	i := 0
	i, xs[i] = 1, 9
	xs[i], xs[0] = xs[0], xs[i]
	p, q = q, p
	a, b := t.both("both", p, q)
	a, xs[a%3] = t.swap(a, b)
	_, b = t.both("again", b, a)
	return p*1000 + q*100 + helper(xs)*10 + i + a + b
}

func caseMemory(t *T) int {
	xs := make([]int, 4)
	ys := xs
	t.fill(ys[1:], 2)
	ys[0] = 3
	var grid [3][3]int
	other := grid
	grid[1][2] = t.op("grid", xs[0])
	rows := [][]int{xs, make([]int, 2)}
	rows[0][2] = t.op("rows")
	row := rows[1]
	row[1] = 8
	s := Pair{A: 1, List: xs}
	u := s
	u.List[3] = t.op("pair", u.A)
	zs := append(xs[:1], 77)
	c := slices.Clone(xs)
	sort.Ints(c)
	n := copy(c, zs)
	var acc Acc
	acc.Add(t.op("acc"))
	acc.Add(xs[1])
	var text strings.Builder
	text.WriteString("ab")
	return helper(xs) + helper(ys)*3 + grid[1][2] + other[1][2] + helper(rows[1]) + s.List[3] + c[0] + n + acc.Mean() + text.Len()
}

func caseLogic(t *T) int {
	x := 0
	for i := range 6 {
		if i > 1 && t.op("and", i) > 4 {
			x++
		}
		if i > 2 || t.op("or", i) > 3 {
			x += 2
		} else {
			x += 5
		}
		ok := i%2 == 0 && (t.op("deep", i) > 2 || t.op("deeper", i) > 1)
		if ok {
			x *= 2
		}
		for t.op("cond", x) > 9 && x < 100 {
			x += t.op("grow", x)
		}
		switch t.op("tag", i) {
		case t.op("first", i):
			x += 3
		case 4, 7:
			x += 7
		case t.op("second", x) % 9:
			x -= 2
		default:
			x++
		}
	}
	return x
}

func caseMethods(t *T) int {
	x := t.scaled(t, 3) + t.Part.use(t) + t.Part.use(t, 1, t.op("arg"), 2)
	x += t.Part.use(t, t.Sizes...)
	x += count(t, []string{"a", "b", "a"}, "a") + count(t, t.Sizes, 2)
	const k = 3
	type local = int
	return x * k / 2
}

func caseLabels(t *T) int {
	x := 0
outer:
	for i := range 5 {
		for j := range 5 {
			switch t.op("label", i, j) {
			case 1:
				continue outer
			case 2:
				break outer
			case 5, 6:
				continue
			case 9:
				break
			default:
				x++
			}
			x += 2
			if x > 30 {
				break
			}
		}
		t.op("end", i, x)
	}
	return x
}

func caseLoops(t *T) int {
	n, i := 0, 0
	for i = range 3 {
		n += t.op("range", i)
	}
	for j, k := 0, 9; j < k; j, k = j+1, k-2 {
		n += t.op("two", j, k)
	}
	var last int
	for _, last = range t.Sizes {
		if last == 3 {
			break
		}
		t.op("size", last)
	}
	for {
		n++
		if v := t.op("forever", n); v > 12 {
			switch {
			case v > 14:
				n += 2
			case v == 13:
				return n
			}
			break
		}
		if n > 40 {
			break
		}
	}
	return n + i + last
}

func order(t *T, a int) int { return t.op("order", a) }

func caseOrder(t *T) int {
	xs := []int{1, 2}
	return t.op("f", order(t, 1), t.op("g", order(t, 2)), helper(xs)) + xs[order(t, 3)%2] - t.op("h")*order(t, 4)
}

func rest(xs []int) []int { return xs[1:] }

func opened(t *T, xs []int) []int {
	t.op("opened", len(xs))
	return xs
}

func casePlaces(t *T) int {
	xs := []int{1, 2, 3, 4}
	var any any = xs
	any.([]int)[0] = t.op("value", xs[1])
	any.([]int)[1]++
	rest(xs)[1] += t.op("added")
	opened(t, xs)[t.op("index")%4] = t.op("last")
	xs[order(t, 5)%4] -= order(t, 6)
	rest(xs)[0], xs[3] = xs[3], rest(xs)[0]
	return t.op("sum", xs[0], xs[1], xs[2], xs[3])
}

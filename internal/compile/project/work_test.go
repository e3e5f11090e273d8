package project

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// otherWork says how the operations of a run differ from those of the plain one:
// their number, and, where no group has several replicas, what they were given and
// made. Calls of replicas in the first iterations are compared one by one: to the bit,
// or behind the first gradient, which is a sum of parts, within rounding. Operations
// inside of graphs are not seen.
func otherWork(plain, o outcome, bits bool) string {
	switch {
	case plain.Steps != o.Steps:
		return fmt.Sprintf("%d steps, not %d", o.Steps, plain.Steps)
	case unseen(plain, o):
		return ""
	case !slices.Equal(plain.Counts, o.Counts):
		more, less := without(o.Counts, plain.Counts), without(plain.Counts, o.Counts)
		return fmt.Sprintf("operations %q, not %q", more[:min(3, len(more))], less[:min(3, len(less))])
	case o.alone() && o.Work != plain.Work:
		return "operations on other values"
	}
	return otherCalls(plain, o, !bits, false)
}

// call is an operation with what its tensors hold.
type call struct {
	Group, Of string // of the replica; iteration, kind and name
	Nth       int    // among those of the replica
	Leaves    []leaf
}

// leaf sums up a tensor: its number of elements, a bag of their bits, and their sum.
type leaf struct {
	Name string
	N    int
	Bag  uint64
	Sum  float64
}

// unseen reports whether the operations of a run cannot be compared: graphs hide them,
// and of several replicas that share out members each does what the plain loop does
// once.
func unseen(plain, o outcome) bool {
	return plain.Fused+o.Fused > 0 || o.Grouping == Lowered || o.Grouping == "agents" && !o.alone()
}

// calls groups calls of several replicas that are one call of the plain loop, by what is
// called.
type calls map[string][]call

// together sorts the calls of replicas. Those that several groups make are left out,
// since nothing tells which is which.
func together(replicas [][]call) calls {
	out, by := calls{}, map[string]string{}
	for _, list := range replicas {
		for _, c := range list {
			if g, ok := by[c.Of]; ok && g != c.Group {
				by[c.Of] = "several"
			} else {
				by[c.Of] = c.Group
			}
			out[c.key()] = append(out[c.key()], c)
		}
	}
	maps.DeleteFunc(out, func(_ string, list []call) bool { return by[list[0].Of] == "several" })
	return out
}

func (c call) key() string { return fmt.Sprint(c.Of, " ", c.Nth) }

// otherCalls says which call of a run has other values than that of the plain loop, or
// of several plain loops. It compares bits; with rounded set, those behind the first
// gradient within rounding, or with grows set that gradient alone.
func otherCalls(want, got outcome, rounded, grows bool) string {
	if unseen(want, got) {
		return ""
	}
	wanted, made, bits := together(want.Early), together(got.Early), true
	for _, c := range want.Early[0] {
		bits = bits && !(rounded && strings.Contains(c.Of, "rl.Opt.Apply"))
		parts, known := made[c.key()]
		for i := range c.Leaves {
			if known && !sameLeaf(wanted[c.key()], parts, i, bits, rounded && strings.Contains(c.Of, "rl.Loss.Grad")) {
				return fmt.Sprintf("operations on other values: %s of %s", c.Leaves[i].Name, c.Of)
			}
		}
		if !bits && grows { // the first gradient is as yet near
			return ""
		}
	}
	return ""
}

// sameLeaf reports whether the i-th tensor of a call is the same on both sides, which
// have parts of it or all of it. Where one loop is compared with several replicas, a
// number, or any result of a loss, may be that of a replica's own rows.
func sameLeaf(want, got []call, i int, bits, loss bool) bool {
	for _, a := range totals(want, i) {
		for _, b := range totals(got, i) {
			if a.N == b.N && (a.Bag == b.Bag || !bits && math.Abs(a.Sum-b.Sum) <= 100*near*(float64(a.N)+math.Abs(a.Sum))) {
				return true
			}
		}
	}
	return len(want) == 1 && len(got) > 1 && (loss || want[0].Leaves[i].N == 1)
}

// totals returns what the i-th tensors of replicas may be of: their sum, or, if all are
// alike, one of them.
func totals(list []call, i int) []leaf {
	var sum leaf
	alike := true
	for _, c := range list {
		if i >= len(c.Leaves) {
			return nil
		}
		l := c.Leaves[i]
		sum.N, sum.Bag, sum.Sum = sum.N+l.N, sum.Bag+l.Bag, sum.Sum+l.Sum
		alike = alike && l.N == list[0].Leaves[i].N && l.Bag == list[0].Leaves[i].Bag
	}
	if !alike {
		return []leaf{sum}
	}
	return []leaf{sum, list[0].Leaves[i]}
}

// alone reports whether every group of a run is one replica.
func (o outcome) alone() bool {
	return !slices.ContainsFunc(o.Traces, func(s string) bool { return !strings.Contains(s, "/0 ") })
}

// without returns the strings of a list that another one lacks.
func without(list, others []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(others, s) })
}

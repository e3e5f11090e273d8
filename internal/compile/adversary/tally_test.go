package adversary

import (
	"fmt"
	"slices"
	"strings"
)

// count counts loops by their outcome.
type count struct{ loops, accepted, refused, wrong, twice, still int }

// tally counts loops and runs, in all and by class.
type tally struct {
	all     count
	runs    int
	alone   map[class]*count // loops with features of this class and usual ones alone
	among   map[class]*count // loops with features of this class
	feature map[string]*count
	left    map[string]int     // policies refused for accepted loops
	samples map[class][]string // of what went wrong in loops of one class
}

// classes returns the classes of a loop's features but the usual one.
func (s *specimen) classes() (out []class) {
	for _, f := range s.features {
		if f.class != usual && !slices.Contains(out, f.class) {
			out = append(out, f.class)
		}
	}
	return out
}

// labels returns the names of a loop's features.
func (s *specimen) labels() string {
	var out []string
	for _, f := range s.features {
		out = append(out, f.name)
	}
	return strings.Join(out, ";")
}

// add counts a result.
func (t *tally) add(r result) {
	if t.alone == nil {
		t.alone, t.among, t.samples = map[class]*count{}, map[class]*count{}, map[class][]string{}
		t.feature, t.left = map[string]*count{}, map[string]int{}
	}
	t.runs += len(r.got)
	lists := []*count{&t.all}
	of := r.classes()
	for _, c := range of {
		lists = append(lists, at(t.among, c))
	}
	if len(of) == 0 {
		of = []class{usual}
	}
	if len(of) == 1 {
		lists = append(lists, at(t.alone, of[0]))
		for _, f := range r.features {
			if f.class == of[0] {
				lists = append(lists, at(t.feature, fmt.Sprintf("%2d %s", int(f.class), f.name)))
			}
		}
		if f := r.wrong(); f.text != "" {
			c := of[0]
			if f.twice {
				c = crashes
			}
			t.samples[c] = append(t.samples[c], fmt.Sprintf("loop %d (%s): %.300s", r.number, r.labels(), f.text))
		}
	}
	for p := range r.left {
		if r.verdict == accepted && !strings.HasPrefix(r.left[p], "does not fit") {
			t.left[p]++
		}
	}
	for _, c := range lists {
		c.add(r)
	}
}

func (c *count) add(r result) {
	c.loops++
	switch {
	case r.verdict == rejected:
		c.refused++
	case r.wrong().twice:
		c.twice++
	case r.wrong().text != "":
		c.wrong++
	default:
		c.accepted++
		if r.still {
			c.still++
		}
	}
}

func at[K comparable](m map[K]*count, k K) *count {
	if m[k] == nil {
		m[k] = &count{}
	}
	return m[k]
}

func (c *count) row() string {
	return fmt.Sprintf("%d | %d | %d | %d | %d", c.loops, c.accepted, c.refused, c.wrong, c.twice)
}

// table returns the counts as text.
func (t *tally) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d runs; %d loops whose weights do not move; policies refused to accepted loops: %v\n", t.runs, t.all.still, t.left)
	fmt.Fprintf(&b, "| class | loops | right | refused | wrong | two edges of one name |\n|---|---|---|---|---|---|\n| all | %s |\n", t.all.row())
	for c := usual; c <= undeclared; c++ {
		fmt.Fprintf(&b, "| %v | %s |\n", c, at(t.alone, c).row())
	}
	b.WriteString("\nBy feature, in loops of one class:\n")
	var names []string
	for name := range t.feature {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "| %s | %s |\n", name, t.feature[name].row())
	}
	for c := usual; c <= undeclared; c++ {
		for _, s := range t.samples[c][:min(3, len(t.samples[c]))] {
			fmt.Fprintf(&b, "\n%v: %s\n", c, s)
		}
	}
	return b.String()
}

package project

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// faults lists mistakes that a projector or a runner might make, as a change of the
// programs of one grouping of one loop.
var faults = []struct{ name, loop, grouping, find, replace string }{
	{"copy left out", "nested", "coarse", `\n[^\n]*edge\.(Publish|Fetch)\([^\n]*`, ""},
	{"gather reversed", "two", "coarse", `(edge\.Gathered\[[^\n]*\]\(x, \w+\))`, "fault.Turn($1)"},
	{"gather reversed", "nested", "fine", `(edge\.Gathered\[[^\n]*\]\(x, fineOut\))`, "fault.Turn($1)"},
	{"local random index", "every", "coarse", `(run\.Key\("act", i\))`, "fault.Local($1)"},
	{"local random index", "nested", "learners", `(run\.Key\("shuffle", r, e\))`, "fault.Local($1)"},
	{"buffer reused", "recurrent", "fine", `edge\.Gather\(x, (fineStep), (.*)\)( //|\n)`, "edge.Gather(x, $1, fault.Reused(x, $1, $2))$3"},
	{"positions of draws exchanged", "nested", "lowered", `edge\.KeyAt\(run, "shuffle", r, e\)`, `edge.KeyAt(run, "shuffle", e, r)`},
	{"variable not carried", "recurrent", "lowered", `, rl\.Carry\(&mem\)`, ""},
	{"a graph's draws of another position", "recurrent", "coarse", `edge\.KeyAt\(run, "act", i\)`, `edge.KeyAt(run, "act", i, i)`},
	{"graph of another member", "groups", "coarse", `(\) \}), j\)`, "$1)"},
	{"gradients not summed", "family", "learners", `edge\.AllReduce\(x, \w+, (g)\)`, "$1"},
	{"all rows not gathered", "tangled", "learners", `edge\.AllGather\(x, learnersOutReward, (out.Reward)\)`, "$1"},
}

const faulty = module + "internal/compile/project/testdata/src/fault"

// TestFaults: parity has teeth. Each fault is seen in what comes out of its
// programs, while those beside them stay right.
func TestFaults(t *testing.T) {
	hits := make([]int, len(faults))
	change := func(pkg, name string, text []byte) []byte {
		for i, f := range faults {
			if pkg != f.loop || name != "gen_"+f.grouping+".go" {
				continue
			}
			re := regexp.MustCompile(f.find)
			hits[i] = len(re.FindAll(text, -1))
			text = re.ReplaceAll(text, []byte(f.replace))
			if strings.Contains(f.replace, "fault.") {
				text = bytes.Replace(text, []byte("import (\n"), []byte("import (\n\t\""+faulty+"\"\n"), 1)
			}
		}
		return text
	}
	var names []string
	for _, f := range faults {
		names = append(names, f.loop)
	}
	got := ran(t, overlaid(t, generated(t), change), names...)
	for i, f := range faults {
		if hits[i] == 0 {
			t.Errorf("%s in %s under %s: there was nothing to change", f.name, f.loop, f.grouping)
		}
		seen := 0
		for _, o := range got[f.loop][1:] {
			if o.Grouping == f.grouping && wrong(got[f.loop][0], o) != "" {
				seen++
			}
		}
		if seen == 0 {
			t.Errorf("%s in %s under %s: nothing was noticed", f.name, f.loop, f.grouping)
		}
		t.Logf("%s in %s under %s: seen with %d of 3 numbers of replicas", f.name, f.loop, f.grouping, seen)
	}
	for loop, list := range got {
		for _, o := range list[1:] {
			changed := false
			for _, f := range faults {
				changed = changed || f.loop == loop && f.grouping == o.Grouping
			}
			if why := wrong(list[0], o); !changed && why != "" {
				t.Errorf("%s under %s, which was not changed: %s", loop, o.Grouping, why)
			}
		}
	}
}

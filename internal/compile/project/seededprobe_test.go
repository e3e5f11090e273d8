package project

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/compile/analyze"
)

// A variant that leaves what the plain loop leaves has no effect if a rule says so.
// Three rules are found out by running programs that tell:
//
//   - unreached: no run gets to a line that the fault changed, or takes a jump that
//     was lost (which counts as unread);
//   - unread: garbage in place of the values that the fault may change, or of what is
//     not sent, changes nothing either;
//   - no further round: where break and continue were exchanged, no round follows.
//
// The others are seen where the fault is put:
//
//   - the memory is overwritten: a sender gives up memory, which the build of these
//     programs overwrites at once, and nobody has read it;
//   - two summands: they were exchanged;
//   - nothing is skipped: a continue is gone behind which its loop has nothing;
//   - the mean of equal records: a loop that only logs goes round once more;
//   - written over: a loop goes round once more and writes an element that the next
//     statement writes again;
//   - declared all the same: the tree lost a declaration, and the program has it at
//     another line of the block;
//   - a loss that draws nothing: it was given another key;
//   - neither way leaves anything: a branch, with what its jumps skip, changes no
//     component and nothing that is read elsewhere, and logs nothing;
//   - behind the end: append writes behind a slice's end, and nothing cuts a slice of
//     that memory;
//   - all rows in place of the replica's own: replicas compute each other's rows, too;
//   - a legal placement: a node was given to another fragment, and the graph keeps
//     all promises, that components are used at home among them;
//   - executed in place of received: whether a branch depends on an operation only
//     decides which of the two a group does, and both are right.

// explained are faults that no rule covers, with why they have no effect.
var explained = map[string]string{
	"tree: condition negated in L1000011 under fine: line 65: if i % 2 == 0": "one of two rounds logs v, whichever it is: v2 is v wherever it is read",
}

// harmless returns the rule by which variants have no effect, if there is one.
func harmless(t *testing.T, f *analyze.Frame, list []*variant) map[*variant]string {
	rules := map[*variant]string{}
	var probes []*variant
	of := map[*variant]*variant{}
	add := func(v *variant, rule string, text []byte) {
		p := *v
		p.what, p.text = rule, withFault(text)
		p.program.name = fmt.Sprintf("%sp%d", v.program.name, len(probes))
		p.program.files = map[string][]byte{"_.go": v.source, "_" + v.by.Name + ".go": p.text}
		if !bytes.Equal(text, v.subject.text) && compiles(f, p.program.files) == nil {
			probes, of[&p] = append(probes, &p), v
		}
	}
	for _, v := range list {
		if rules[v] = v.same; explained[v.String()] != "" {
			rules[v] = "by hand"
		}
		if moved(v) {
			rules[v] = "declared all the same"
		}
		if rules[v] != "" {
			continue
		}
		if text := reached(f, v); text != nil {
			add(v, "unreached", text)
		}
		if text := entered(v); text != nil {
			add(v, "unreached", text)
		}
		if text := lastRound(v); text != nil {
			add(v, "no further round", text)
		}
		if v.lost != nil {
			add(v, "unread", spoiled(t, f, v))
		}
		if v.garbled || v.left > 0 {
			if g := again(t, f, v, true); g.how == "" && bytes.Equal(g.text, v.subject.text) {
				rules[v] = "unread" // so much so that no group has the garbage
			} else if g.how == "" {
				add(v, "unread", bytes.ReplaceAll(g.text, []byte(marked.String()), []byte("fault.Reached()")))
			}
		}
	}
	for p, same := range unchanged(t, probes) {
		if same && rules[of[p]] == "" {
			rules[of[p]] = p.what
		}
	}
	return rules
}

// withFault is a program that imports package fault.
func withFault(text []byte) []byte {
	return bytes.Replace(text, []byte("import (\n"), []byte("import (\n\t\""+faulty+"\"\n"), 1)
}

// unchanged reports which variants leave what their subjects leave without a fault,
// in all settings.
func unchanged(t *testing.T, list []*variant) map[*variant]bool {
	out := map[*variant]bool{}
	if len(list) == 0 {
		return out
	}
	var programs []program
	var subjects []*subject
	for _, v := range list {
		out[v] = true
		programs = append(programs, v.program)
		if !slices.Contains(subjects, v.subject) {
			subjects = append(subjects, v.subject)
		}
	}
	for i, s := range subjects {
		if !slices.ContainsFunc(subjects[:i], func(o *subject) bool { return o.program.name == s.program.name }) {
			programs = append(programs, s.program)
		}
	}
	b := built(t, programs)
	for _, x := range settings {
		base := measured(b, subjects, x)
		var jobs []job
		for _, v := range list {
			jobs = append(jobs, x.apart(v.program.name, v.subject))
		}
		for i, o := range b.run(jobs) {
			if r := base[list[i].subject]; r.sound() && differs(r.apart, o, true) != "" {
				out[list[i]] = false
			}
		}
	}
	return out
}

// function is the lines of one function of a program.
var function = regexp.MustCompile(`(?ms)^func (\w+)\(.*?^}\n`)

// functions returns the functions of a program by name; rest is what is outside of
// them.
func functions(text []byte) (by map[string]string, rest string) {
	by = map[string]string{}
	for _, m := range function.FindAllStringSubmatch(string(text), -1) {
		by[m[1]] = m[0]
	}
	return by, function.ReplaceAllString(string(text), "")
}

// reached is a variant that ends as soon as it gets to a line that the fault
// changed, nil if changes are not in functions.
func reached(f *analyze.Frame, v *variant) []byte {
	was, outside := functions(v.subject.text)
	now, outsideNow := functions(v.text)
	if outside != outsideNow {
		return nil
	}
	text := string(v.text)
	for name, body := range now {
		if body == was[name] {
			continue
		}
		lines, old := strings.SplitAfter(body, "\n"), strings.SplitAfter(was[name], "\n")
		at := 0
		for at < min(len(lines), len(old))-1 && bare(lines[at]) == bare(old[at]) {
			at++
		}
		for ; at > 0; at-- { // a line inside an expression cannot be marked
			marked := strings.Join(slices.Insert(slices.Clone(lines), at, "fault.Reached()\n"), "")
			try := strings.Replace(text, body, marked, 1)
			files := map[string][]byte{"_.go": v.source, "_" + v.by.Name + ".go": withFault([]byte(try))}
			if compiles(f, files) == nil {
				text = try
				break
			}
		}
		if at == 0 {
			return nil
		}
	}
	return []byte(text)
}

// entered is a subject's programs that end inside a branch that a group of the
// variant leaves out, nil of any other variant.
func entered(v *variant) []byte {
	if v.left == 0 {
		return nil
	}
	x, y := strings.SplitAfter(string(v.subject.text), "\n"), strings.SplitAfter(string(v.text), "\n")
	for i := range min(len(x), len(y)) {
		if bare(x[i]) == bare(y[i]) {
			continue
		}
		if code := bare(x[i]); !strings.HasPrefix(code, "if ") || !strings.HasSuffix(code, "{") {
			return nil
		}
		return []byte(strings.Join(slices.Insert(x, i+1, "fault.Reached()\n"), ""))
	}
	return nil
}

// lastRound is the programs with the continue of a variant that has exchanged it for
// a break, or the other way round. They end if a round begins behind it.
func lastRound(v *variant) []byte {
	if faultKinds[v.kind].name != "tree: break for continue" {
		return nil
	}
	x, y := strings.SplitAfter(string(v.subject.text), "\n"), strings.SplitAfter(string(v.text), "\n")
	var out []string
	for i := range min(len(x), len(y)) {
		switch {
		case bare(x[i]) == bare(y[i]):
			out = append(out, x[i])
			continue
		case bare(x[i]) != "continue" && bare(y[i]) != "continue":
			return nil
		}
		indent := len(x[i]) - len(strings.TrimLeft(x[i], "\t"))
		for k := len(out) - 1; k >= 0; k-- {
			if now := len(out[k]) - len(strings.TrimLeft(out[k], "\t")); now < indent {
				if indent = now; strings.HasPrefix(bare(out[k]), "for ") {
					out[k] = "taken := false\n" + out[k] + "if taken {\nfault.Reached()\n}\n"
					break
				}
			}
		}
		out = append(out, "taken = true\ncontinue\n")
	}
	return []byte(strings.Join(out, ""))
}

// moved reports whether a variant has the lines of its subject, and a declaration
// without a value, in another order.
func moved(v *variant) bool {
	lines := func(text []byte) (out []string) {
		for line := range strings.SplitSeq(string(text), "\n") {
			out = append(out, bare(line))
		}
		slices.Sort(out)
		return out
	}
	return strings.Contains(v.what, ": var ") && slices.Equal(lines(v.subject.text), lines(v.text))
}

// bare is a line without its comment and the space before it.
func bare(line string) string {
	code, _, _ := strings.Cut(line, " // ")
	return strings.TrimSpace(code)
}

// redone is a bench that has been used.
type redone struct {
	*bench
	text []byte
	how  string
}

// again compiles a subject once more: with garbage where the variant has its fault,
// or as it is.
func again(t *testing.T, f *analyze.Frame, v *variant, garbles bool) redone {
	src, err := f.Source(map[string][]byte{"random.go": v.source})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{src: src.Source, g: src.Graph, by: v.by, kind: -1}
	switch {
	case garbles && v.left > 0:
		b.garbage = v.left
	case garbles:
		b.kind, b.at, b.garbles = v.kind, v.at, true
	}
	text, how := b.compile()
	return redone{b, text, how}
}

// spoiled is a subject's programs where garbage arrives in place of what a variant
// does not send.
func spoiled(t *testing.T, f *analyze.Frame, v *variant) []byte {
	text := v.subject.text
	for _, id := range again(t, f, v, false).idents(*v.lost) {
		if v.lost.path != "" {
			line := regexp.MustCompile(`(?m)^\s*(\w+)[\w.]* :?= edge\.\w+\[[^\n]*?\]\(x, ` + id + `\).*$`)
			text = line.ReplaceAll(text, []byte("$0\n$1."+v.lost.path+" = fault.Spoiled($1."+v.lost.path+")"))
			continue
		}
		text = bytes.ReplaceAll(text, []byte("edge.Fetch(x, "+id+","), []byte("fault.FetchSpoiled(x, "+id+","))
		text = regexp.MustCompile(`edge\.(Sent|Gathered|Scattered)\[[^\n]*?\]\(x, `+id+`\)`).ReplaceAll(text, []byte("fault.Spoiled($0)"))
	}
	return text
}

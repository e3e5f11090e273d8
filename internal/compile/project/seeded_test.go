package project

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/analyze"
	"github.com/weft-rl/weft/internal/compile/vocabulary"
	"github.com/weft-rl/weft/plan"
)

// stage is a point between two passes of the compiler.
type stage int

const (
	analysed stage = iota // the tree and the graph are made
	solved                // each group's statements and crossings are known
	listed                // the edges of a grouping are listed
	begun                 // one group's program is about to be written
	written               // its lines are there
	tidied                // its lines are final and have been checked
)

// place is one spot in the compiler's data, with a fault that fits there.
type place struct {
	what string
	put  func()
}

// faultKinds are the faults, by the pass behind which they are put.
var faultKinds = []struct {
	name   string
	at     stage
	places func(*bench) []place
}{
	{"tree: effect lost", analysed, lostEffects},
	{"tree: assignment lost", analysed, lostAssigns(false)},
	{"tree: operation lost", analysed, lostAssigns(true)},
	{"tree: operands swapped", analysed, swappedOperands},
	{"tree: condition negated", analysed, negated},
	{"tree: arguments swapped", analysed, swappedArguments},
	{"tree: bound off by one", analysed, bounds},
	{"tree: key of another draw", analysed, otherKeys},
	{"tree: jump lost", analysed, lostJumps},
	{"tree: break for continue", analysed, otherJumps},
	{"tree: other variable assigned", analysed, otherVariables},
	{"tree: statements exchanged", analysed, exchanged},
	{"graph: value edge lost", analysed, lostEdges(fdg.OfValue)},
	{"graph: resource edge lost", analysed, lostEdges(fdg.OfResource)},
	{"graph: control edge lost", analysed, lostEdges(fdg.OfControl)},
	{"graph: rows misjudged", analysed, otherRows},
	{"flow: value not sent", solved, lostCrossings(false)},
	{"flow: copy not sent", solved, lostCrossings(true)},
	{"flow: field not sent", solved, lostParts},
	{"flow: other sender", solved, otherSenders},
	{"flow: construct left out", solved, lostKeeps},
	{"flow: assignment left out", solved, lostDoes},
	{"edges: other kind", listed, otherEnds},
	{"edges: given though held", listed, wronglyGiven},
	{"edges: edge lost", listed, lostRows},
	{"edges: batched though answered", listed, batchedTooMuch},
	{"lines: call for its body", begun, rolledUp},
	{"lines: line lost", written, lostLines},
	{"lines: line lost at the end", tidied, lostLines},
	{"lines: replicas not joined", tidied, lostCollectives},
	{"lines: ends exchanged", tidied, exchangedEnds},
}

// bench is the compiler at work on one loop and grouping, with one fault put in.
type bench struct {
	src  *analyze.Source
	g    *fdg.Graph
	by   plan.Grouping
	kind int
	turn int // the group whose lines get a fault
	r    *rand.Rand

	f     *flow
	rows  []*edgeRow
	m     *emitter
	lines []*line
	what  string // the place of the fault
}

// errNowhere is the panic of a bench whose data has no place for its fault.
var errNowhere = errors.New("there is no place for it")

// behind puts the fault in if it belongs behind a pass.
func (b *bench) behind(s stage) {
	if faultKinds[b.kind].at != s {
		return
	}
	list := faultKinds[b.kind].places(b)
	if len(list) == 0 {
		panic(errNowhere)
	}
	p := list[b.r.IntN(len(list))]
	b.what = p.what
	p.put()
}

// compile does what grouped does. If the compiler, or a check of its data, notices
// the fault, how says by what.
func (b *bench) compile() (text []byte, how string) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case errNowhere:
			how = "nowhere"
		default:
			how = "panic"
		}
	}()
	b.behind(analysed)
	switch {
	case b.src.Tree.Check(b.operation) != nil:
		return nil, "tree.Check"
	case b.g.Check() != nil:
		return nil, "fdg.Check"
	case b.ofGraph() && len(disagreements(b.src, b.g)) > 0:
		return nil, "not of its tree"
	}
	out := &findings{}
	b.f = newFlow(newLoop(b.src, b.g, b.by, out))
	b.f.mixed()
	if b.f.solve() != nil {
		return nil, "error"
	}
	b.behind(solved)
	b.f.checkMembers()
	if out.any() {
		return nil, "refusal"
	}
	b.f.reserve()
	b.rows = b.f.edges(b.by.Name)
	b.behind(listed)
	text, err := b.f.written(b.by, b.rows, b.program)
	switch {
	case out.any():
		return nil, "refusal"
	case err != nil:
		return nil, "error"
	}
	return text, ""
}

// ofGraph reports whether the fault is in the graph. One in the tree would be in the
// graph as well if it had been there before the analysis, so that comparing the two
// is no way to notice it.
func (b *bench) ofGraph() bool { return strings.HasPrefix(faultKinds[b.kind].name, "graph:") }

func (b *bench) operation(_ *ast.CallExpr, fn *types.Func) bool {
	return b.src.Word(fn).Use == vocabulary.Operation
}

// program does what emitter.program does.
func (b *bench) program(m *emitter) ([]*line, error) {
	if m.me != b.turn {
		return m.program()
	}
	b.m = m
	b.behind(begun)
	b.lines = m.block(m.tree.Body)
	b.behind(written)
	b.lines = m.tidy(b.lines)
	if err := m.complete(b.lines); err != nil {
		return nil, err
	}
	b.behind(tidied)
	return b.lines, nil
}

// subject is a loop with one grouping that it is taken apart by.
type subject struct {
	specimen
	by     plan.Grouping
	text   []byte // the programs without a fault
	summed bool
}

// subjects returns a loop's subjects, one for each grouping.
func subjects(s specimen) (out []*subject) {
	for i, by := range s.groupings {
		out = append(out, &subject{specimen: s, by: by, text: s.program.files["_"+by.Name+".go"], summed: s.summed[i]})
	}
	return out
}

// byHand are loops of fixtures, which do what random loops do not: with memory that
// variables share, helpers, returns.
var byHand = []string{
	"testdata/src/loops/memory/memory.go", "testdata/src/loops/control/control.go", "testdata/src/loops/awkward/awkward.go",
	"testdata/src/loops/returning/returning.go", "../analyze/testdata/src/loops/scratchpad/scratchpad.go",
}

// fixture returns the specimen of a loop by hand, as if it were a random one.
func fixture(t testing.TB, f *analyze.Frame, file string, n int) specimen {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(text, []byte("\npackage "))
	end := at + 1 + bytes.IndexByte(text[at+1:], '\n')
	text = span{at, end}.cut(text, "\npackage random")
	s := specimen{source: append(text, "\nfunc (t *Trainer) Agent() rl.Agent { return nil }\n"...)}
	s.program.name = fmt.Sprint("H", n)
	s, _, err = bred(f, s, standard, 99)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return s
}

// variant is a subject's programs with a fault in the compiler.
type variant struct {
	*subject
	kind    int
	what    string
	program program
	text    []byte
}

func (v *variant) String() string {
	return fmt.Sprintf("%s in %s under %s: %s", faultKinds[v.kind].name, v.subject.program.name, v.by.Name, v.what)
}

// drawn puts a fault of a kind into the compiler. how says by what it was noticed
// before anything ran, "nowhere" that there is no place for it, or "no change" that
// programs and graph are, byte for byte, those without it.
func drawn(t *testing.T, f *analyze.Frame, s *subject, kind, n int, r *rand.Rand) (v *variant, how string) {
	src, err := f.Source(map[string][]byte{"random.go": s.source})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{src: src.Source, g: src.Graph, by: s.by, kind: kind, turn: r.IntN(len(s.by.Groups)), r: r}
	text, how := b.compile()
	v = &variant{subject: s, kind: kind, what: b.what, text: text}
	if how != "" {
		return v, how
	}
	graph := jsonOf(b.g)
	switch same := graph == s.program.graph; {
	case bytes.Equal(text, s.text) && same:
		return v, "no change"
	case !same: // which no run can excuse
		return v, unnoticed
	}
	v.program = program{name: fmt.Sprintf("%sx%d", s.program.name, n), made: []string{s.by.Name}, graph: graph, steer: s.program.steer}
	v.program.files = map[string][]byte{"_.go": s.source, "_" + s.by.Name + ".go": text}
	switch {
	case compiles(f, v.program.files) != nil:
		return v, "Go's types"
	case len(apart(s.by.Name, text)) > 0:
		return v, "ends do not meet"
	}
	return v, ""
}

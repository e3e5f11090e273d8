// Package edge is what generated programs exchange values with.
//
// The projector takes a training loop apart into one program for every group of
// fragments that a policy forms. A program is the loop's control flow with the
// statements that its group owns, and calls of this package where a dependence
// crosses: a Gather in one program has its Gathered at the same place of the
// other, so that no two programs can wait for each other. Nothing in a program
// says how many replicas there are, where they run or what carries the messages:
// that is a Link's affair, which a runner provides.
//
// A group is either one replica, or replicated over an axis: then each replica
// owns a range of it (environments, in multiples of their block, or members of a
// family), its batches are its rows, and a draw is keyed by the global row.
package edge

import (
	"bytes"
	"cmp"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// Main is a program: generated code for one group.
type Main func(t rl.Trainer, run *rl.Run, x *X) error

// Of makes a Main of a generated method.
func Of[T rl.Trainer](f func(t T, run *rl.Run, x *X) error) Main {
	return func(t rl.Trainer, run *rl.Run, x *X) error { return f(t.(T), run, x) }
}

// MemberOf makes a Grouping's Member of a function of the trainer's own type.
func MemberOf[T rl.Trainer](f func(t T, member int) []rl.Component) func(rl.Trainer, int) []rl.Component {
	return func(t rl.Trainer, member int) []rl.Component { return f(t.(T), member) }
}

// Members returns how many members the trainer's family has, where the grouping is by
// member; 0 elsewhere.
func (g Grouping) Members(t rl.Trainer) (n int) {
	for g.Member != nil && g.Member(t, n) != nil {
		n++
	}
	return n
}

// Set is all that was generated for one trainer.
type Set struct {
	Graph     string // the fdg.Graph, packed: running needs no source
	Groupings []Grouping
	// Lowered is one iteration of the loop as a device program has it, for rl.System.Lower;
	// nil where the loop cannot be one.
	Lowered func(t rl.Trainer, run *rl.Run)
	// Text is the generated file that Lowered is in, whose comments say where its
	// lines come from.
	Text []byte
}

// Origin returns the place in the author's source that a place in the text of Lowered,
// file:line, comes from; any other stays what it is.
func (s Set) Origin(pos string) string {
	name, number, ok := strings.Cut(pos, ":")
	at, err := strconv.Atoi(number)
	if !ok || err != nil || name != LoweredFile {
		return pos
	}
	return cmp.Or(OriginIn(s.Text, at), pos)
}

// OriginIn returns the place in the author's source, file:line, that a line of a
// generated file comes from, or "" if the file does not say.
func OriginIn(text []byte, line int) string {
	lines := bytes.Split(text, []byte("\n"))
	if line < 1 || line > len(lines) {
		return ""
	}
	for i := line - 1; i >= 0; i-- { // a statement's place stands behind it, or above it
		if m := origin.FindSubmatch(lines[i]); m != nil {
			return string(m[1])
		}
	}
	return ""
}

// LoweredFile is the name of the generated file with a Set's Lowered.
const LoweredFile = "gen_lowered.go"

var origin = regexp.MustCompile(`// ([\w.-]+\.go:\d+)$`)

// Iteration makes a Set's Lowered of a generated function.
func Iteration[T rl.Trainer](f func(t T, run *rl.Run)) func(rl.Trainer, *rl.Run) {
	return func(t rl.Trainer, run *rl.Run) { f(t.(T), run) }
}

// Grouping is one way to take the loop apart.
type Grouping struct {
	plan.Grouping
	Programs []Main // one for each group
	Edges    []plan.Edge
	// Member are the components of one member of the family that a group is
	// replicated over, nil where none is.
	Member func(t rl.Trainer, member int) []rl.Component
}

// Crossings returns the edges of all groupings, as a plan.Problem has them.
func (s Set) Crossings() map[string][]plan.Edge {
	out := map[string][]plan.Edge{}
	for _, g := range s.Groupings {
		out[g.Name] = g.Edges
	}
	return out
}

var (
	mu   sync.Mutex
	sets = map[reflect.Type]Set{}
)

// Register makes a trainer's programs known; generated code calls it when the
// program starts.
func Register[T rl.Trainer](s Set) {
	mu.Lock()
	defer mu.Unlock()
	sets[reflect.TypeFor[T]()] = s
}

// ProgramsOf finds the programs of a trainer; ok is false if none were generated.
func ProgramsOf(t rl.Trainer) (s Set, ok bool) {
	mu.Lock()
	defer mu.Unlock()
	s, ok = sets[reflect.TypeOf(t)]
	return s, ok
}

// Programs finds the programs of the trainer that a package declares, by the package's
// import path; ok is false if none were generated.
func Programs(path string) (s Set, ok bool) {
	mu.Lock()
	defer mu.Unlock()
	for t, set := range sets {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.PkgPath() == path {
			return set, true
		}
	}
	return Set{}, false
}

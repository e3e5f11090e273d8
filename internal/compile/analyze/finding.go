package analyze

import (
	"cmp"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"

	"github.com/weft-rl/weft/internal/compile/vocabulary"
)

// Finding is something in the source that the analyser cannot see through, or
// that would not mean the same when the loop is distributed.
type Finding struct {
	Pos     token.Position
	Code    string // a short name of the kind of finding
	Message string // what is wrong, and why
	Instead string // what to write
	// Calls are the calls that were read through to get here, outermost first.
	Calls []token.Position
	// Note is true for what is only worth knowing; the loop is accepted.
	Note bool

	at     token.Pos
	sticky bool // found by a look that is taken once
}

func (f Finding) String() string {
	s := fmt.Sprintf("%s: %s", f.Pos, f.text())
	for i, c := range slices.Backward(f.Calls) {
		by := ", by"
		if i == len(f.Calls)-1 {
			by = "; called by"
		}
		s += fmt.Sprintf("%s %s:%d", by, filepath.Base(c.Filename), c.Line)
	}
	return s
}

// text returns a finding without its position.
func (f Finding) text() string {
	s := f.Message
	if f.Note {
		s = "note: " + s
	}
	if f.Instead != "" {
		s += "; " + f.Instead
	}
	return s + " (" + f.Code + ")"
}

// refusal is a finding without its place; the empty one says that all is well.
type refusal struct{ code, message, instead string }

// Refusals that are made in several places.
var (
	hiddenBatch = refusal{"interface", "a batch inside an interface cannot be followed", "use its own type"}
	noMap       = refusal{"map", "a map has no order and cannot travel", "use a slice or a struct"}
	receives    = refusal{"channel", "a channel hides where its values come from", "pass values as arguments and results"}
	unreadable  = refusal{"function", "a function value cannot be read through: what it does is not in the source", "call a declared function or method"}
)

// misplaced says that a word may not stand in a loop.
func misplaced(w vocabulary.Word) refusal {
	return refusal{"word", fmt.Sprintf("%s has no place in a loop", w.Name), cmp.Or(w.Instead, "call it in the constructor, or in a graph function")}
}

// effectOf says what is wrong with a builtin that does more than compute.
func effectOf(builtin string) refusal {
	if !slices.Contains([]string{"panic", "recover", "print", "println", "close"}, builtin) {
		return refusal{}
	}
	return refusal{"effect", builtin + " has an effect that no fragment owns", "let operations fail by themselves, and log with run.Log"}
}

// findings collects problems; the same one met again, in another round of a
// loop's analysis, counts once.
type findings struct {
	fset *token.FileSet
	list []Finding
}

func (f *findings) add(n Finding) {
	n.Pos = f.fset.Position(n.at)
	for _, old := range f.list {
		if old.Pos == n.Pos && old.Code == n.Code && old.Message == n.Message {
			return
		}
	}
	f.list = append(f.list, n)
}

// retract takes back what was found since there were n, because it is looked for
// again with more knowledge.
func (f *findings) retract(n int) {
	later := slices.DeleteFunc(slices.Clone(f.list[n:]), func(x Finding) bool { return !x.sticky })
	f.list = append(f.list[:n:n], later...)
}

func (f *findings) errors() bool {
	return slices.ContainsFunc(f.list, func(n Finding) bool { return !n.Note })
}

func (f *findings) sorted() []Finding {
	slices.SortFunc(f.list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Pos.Filename, b.Pos.Filename), cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	return f.list
}

// Package stack finds an author's code among the callers of a function, so that a failure is
// reported at the line of the loop that called into the vocabulary.
package stack

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Place is a call in a line of a source file, as it was compiled.
type Place struct {
	File string
	Line int
	PC   uintptr // tells calls in one line apart
}

// vocabulary are the packages whose frames are never the author's: a failure is
// reported where the loop called into them.
var vocabulary = []string{
	"github.com/weft-rl/weft/rl.", "github.com/weft-rl/weft/env.", "github.com/weft-rl/weft/env/",
	"github.com/weft-rl/weft/replay.", "github.com/weft-rl/weft/nn.", "github.com/weft-rl/weft/edge.", "github.com/weft-rl/weft/internal/",
	"github.com/gomlx/", "runtime.", "runtime/", "reflect.", "sync.", "testing.",
}

// entries are the packages in which the command line and the library begin: a failure
// with no author's frame inside them is not the fault of a line of source.
var entries = []string{"github.com/weft-rl/weft/cli.", "github.com/weft-rl/weft/app."}

// Author returns the innermost place outside the vocabulary, file:line, or "" if there is none.
func Author() string {
	at := Callers(1)
	if len(at) == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", filepath.Base(at[0].File), at[0].Line)
}

// Callers returns the places of the callers outside the vocabulary, at most so many,
// the innermost first: the author's code, and what was generated from it.
func Callers(most int) (out []Place) {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for more := true; more && len(out) < most; {
		var f runtime.Frame
		f, more = frames.Next()
		if hasPrefix(f.Function, entries) {
			break
		}
		if f.Function != "" && !hasPrefix(f.Function, vocabulary) {
			out = append(out, Place{f.File, f.Line, f.PC})
		}
	}
	return out
}

// hasPrefix reports whether a function is of one of the packages.
func hasPrefix(function string, packages []string) bool {
	return slices.ContainsFunc(packages, func(p string) bool { return strings.HasPrefix(function, p) })
}

package verify

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/internal/stack"
)

// sources finds the author's places of operations.
type sources struct {
	texts map[string][]byte // texts of generated files, by base name
	read  map[string][]byte // files read from disk, by path; nil of files that are not there
	known map[stack.Place]string
}

// path returns the places in the author's source that an operation was called from,
// the innermost first. It ends at a call in generated code, whose own callers are not
// the author's. It is empty if the text of that code is not at hand.
func (s *sources) path(r *record) (out []string) {
	for _, c := range r.callers {
		if !generatedName(c.File) {
			out = append(out, fmt.Sprintf("%s:%d", filepath.Base(c.File), c.Line))
			continue
		}
		if pos := s.origin(c); pos != "" {
			out = append(out, pos)
		}
		break
	}
	return out
}

// origin returns the place in the author's source of a line of generated code, or ""
// if it is not known.
func (s *sources) origin(c stack.Place) string {
	pos, ok := s.known[c]
	if !ok {
		pos = edge.OriginIn(s.text(c.File), c.Line)
		if s.known == nil {
			s.known = map[stack.Place]string{}
		}
		s.known[c] = pos
	}
	return pos
}

// text returns the text of a generated file: as it was given, or else from disk.
func (s *sources) text(file string) []byte {
	if text, ok := s.texts[filepath.Base(file)]; ok {
		return text
	}
	text, ok := s.read[file]
	if !ok {
		text, _ = os.ReadFile(file) // without it the place is not known
		if s.read == nil {
			s.read = map[string][]byte{}
		}
		s.read[file] = text
	}
	return text
}

// Place is an operation of the loop.
type Place struct {
	Operation string `json:"operation"`      // method, as rl.Opt.Apply
	Name      string `json:"name,omitempty"` // name of the component
	Pos       string `json:"pos,omitempty"`  // file:line in the author's source
	From      string `json:"from,omitempty"` // position of the call of the function that Pos is in
	Iteration int64  `json:"iteration"`      // iteration, from 1
	Time      int    `json:"time"`           // number of the operation's call at that place in the iteration, from 1
}

func (p Place) String() string {
	text := p.Operation
	if p.Name != "" {
		text += fmt.Sprintf(" of %q", p.Name)
	}
	if p.Pos != "" {
		text += " at " + p.Pos
	}
	if p.From != "" {
		text += " (from " + p.From + ")"
	}
	return fmt.Sprintf("%s, iteration %d, %s time", text, p.Iteration, ordinal(p.Time))
}

// ordinal returns 1st, 2nd and so on.
func ordinal(n int) string {
	switch {
	case n%100/10 == 1:
	case n%10 == 1:
		return fmt.Sprintf("%dst", n)
	case n%10 == 2:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3:
		return fmt.Sprintf("%drd", n)
	}
	return fmt.Sprintf("%dth", n)
}

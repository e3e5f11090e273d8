package vocabulary

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
)

// What directives leave open has no default: a word that does not say something that
// its distribution depends on is an error, which says what to write.

// values lists what attributes may be, where that is not any name or number.
var (
	axes    = []string{string(fdg.None), string(fdg.Environments), string(fdg.Agents), string(fdg.Members), string(fdg.Rows)}
	shapes  = []string{"", "env", "time", "rows", "one"}
	sharing = []string{"", "own", "even", "all"}
)

// check returns what words and components do not say.
func (s *Set) check() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.Components)) {
		c := s.Components[name]
		if c.Axis != "" {
			errs = append(errs, c.check())
		}
		for _, part := range slices.Sorted(maps.Keys(c.Parts)) {
			errs = append(errs, c.Parts[part].check())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Words)) {
		if w := s.Words[name]; w.Use == Operation {
			if why := s.missing(w); why != "" {
				errs = append(errs, fmt.Errorf("%s: %s %s", w.at, name, why))
			}
		}
	}
	return errors.Join(errs...)
}

// check returns what is wrong with the axis and the home of a component with state.
func (c Component) check() error {
	if !slices.Contains(axes, string(c.Axis)) || c.Home == "" {
		return fmt.Errorf("%s: %s has the axis %q and the home %q: write axis=AXIS, one of %s, and home=FRAGMENT", c.at, c.Name, c.Axis, c.Home, strings.Join(axes, ", "))
	}
	return nil
}

// missing says what an operation leaves open, or says wrongly.
func (s *Set) missing(w Word) string {
	state := w.Reads || w.Writes || w.Replaces
	c, method := s.receiver(w)
	switch {
	case !slices.Contains(shapes, w.Shape):
		return fmt.Sprintf("has a result of shape %q: write env, time, rows or one", w.Shape)
	case !slices.Contains(sharing, w.Shards):
		return fmt.Sprintf("says shards=%s: write own, even or all", w.Shards)
	case method && !state && !w.Graph:
		return "does not say what it does to its component: write reads, writes, replaces or graph"
	case method && state && c.Axis == "":
		return fmt.Sprintf("uses the state of %s, which has no axis: write axis=AXIS home=FRAGMENT behind //weft:component", c.Name)
	case state && w.Returns && w.Shape == "":
		return "does not say which rows of the state it returns: write shape=SHAPE"
	case !w.Rows && !w.Whole && !w.Graph && w.Shape != "one":
		return "does not say whether rows depend on each other: write rows or whole"
	case w.Rows && w.Whole:
		return "says both rows and whole: leave one out"
	}
	for _, part := range w.State {
		if _, ok := c.Parts[part]; !ok {
			return fmt.Sprintf("writes the part %q, which %s has not: write //weft:part %s KIND above the type", part, c.Name, part)
		}
	}
	return ""
}

// receiver returns the component that a word is a method of.
func (s *Set) receiver(w Word) (c Component, ok bool) {
	c, ok = s.Components[w.Name[:strings.LastIndex(w.Name, ".")]]
	return c, ok
}

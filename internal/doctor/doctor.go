// Package doctor looks at a machine for what Weft needs, and for what it can use: interpreters and
// their packages, libraries, devices, ports, disk, limits. Every finding says what is there or what
// is not, and what to do about it.
package doctor

import (
	"context"
	"slices"
	"strings"
)

// State says how something was found.
type State string

// The states. Without something missing Weft works, and what needs it does not; what is wrong is to
// be mended first.
const (
	OK      State = "ok"
	Missing State = "missing"
	Wrong   State = "wrong"
)

// Finding describes one thing that was looked at.
type Finding struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	What  string `json:"what"`         // what is there, or what is not
	Do    string `json:"do,omitempty"` // what to do about it; empty if nothing
}

// Sentence returns what was found and what to do.
func (f Finding) Sentence() string {
	if f.Do == "" {
		return f.What
	}
	return f.What + ": " + f.Do
}

// Check looks at one thing.
type Check struct {
	Name string
	Look func(context.Context) Finding // of which the name is filled in
}

// Names returns the names of some checks.
func Names(checks []Check) (out []string) {
	for _, c := range checks {
		out = append(out, c.Name)
	}
	return out
}

// Pick returns the checks that names stand for, all if there are none, and the first name that is
// of none.
func Pick(checks []Check, names []string) (out []Check, unknown string) {
	if len(names) == 0 {
		return checks, ""
	}
	for _, name := range names {
		i := slices.IndexFunc(checks, func(c Check) bool { return strings.EqualFold(c.Name, name) })
		if i < 0 {
			return nil, name
		}
		out = append(out, checks[i])
	}
	return out, ""
}

// Look runs the checks one after another.
func Look(ctx context.Context, checks []Check) (out []Finding) {
	for _, c := range checks {
		f := c.Look(ctx)
		f.Name = c.Name
		out = append(out, f)
	}
	return out
}

// Rows returns findings as rows of a table.
func Rows(all []Finding) (rows [][]string) {
	for _, f := range all {
		rows = append(rows, []string{f.Name, string(f.State), f.Sentence()})
	}
	return rows
}

// Count returns how many findings have a state.
func Count(all []Finding, s State) (n int) {
	for _, f := range all {
		if f.State == s {
			n++
		}
	}
	return n
}

// ok returns a finding of what is there.
func ok(what string) Finding { return Finding{State: OK, What: what} }

// missing returns a finding of what is not there, and what to do for it.
func missing(what, do string) Finding { return Finding{State: Missing, What: what, Do: do} }

// wrong returns a finding of what is to be mended.
func wrong(what, do string) Finding { return Finding{State: Wrong, What: what, Do: do} }

// reason takes an error apart that says what is wrong and, behind a colon, what to do.
func reason(err error) (what, do string) {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if i := strings.LastIndex(text, ": "); i >= 0 {
		return text[:i], text[i+2:]
	}
	return text, ""
}

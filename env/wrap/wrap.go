package wrap

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// Wrapper is one thing to put around environments.
type Wrapper struct {
	text  string                                                        // text that Parse reads
	limit *int                                                          // limit of TimeLimit
	rule  func(spec env.Spec) (rule, error)                             // rule of wrappers that are graph code
	watch func(s *rl.Scope, g env.Groups, at place) (env.Groups, error) // constructor of recorders
	// confined recorders write into the run's folder and nowhere else, whatever links are there.
	confined bool
	draws    bool // needs pictures
}

func (w Wrapper) String() string { return w.text }

// List is wrappers, the innermost first.
type List []Wrapper

// String returns the list as Parse reads it.
func (l List) String() string {
	text := ""
	for i, w := range l {
		if i > 0 {
			text += ","
		}
		text += w.text
	}
	return text
}

// Silent returns the list without those that only record.
func (l List) Silent() List {
	return slices.DeleteFunc(slices.Clone(l), func(w Wrapper) bool { return w.watch != nil })
}

// Files returns the names of the files that recorders write into a run's folder.
func (l List) Files() (out []string) {
	for _, w := range l {
		if _, file, ok := strings.Cut(w.text, "="); ok && w.watch != nil && !filepath.IsAbs(file) {
			out = append(out, file)
		}
	}
	return out
}

// Recorders returns the files that recorders write, as they were named.
func (l List) Recorders() (out []string) {
	for _, w := range l {
		if _, file, ok := strings.Cut(w.text, "="); ok && w.watch != nil {
			out = append(out, file)
		}
	}
	return out
}

// Confined returns the list with recorders that write into the run's folder and nowhere else, for
// runs that somebody else asked for. A file that would be elsewhere is an error, unless may says
// that it may be.
func (l List) Confined(may func(file string) bool) (List, error) {
	out := slices.Clone(l)
	for i := range out {
		_, file, _ := strings.Cut(out[i].text, "=")
		if out[i].watch == nil || filepath.IsAbs(file) && may(file) {
			continue
		}
		if out[i].confined = true; !filepath.IsLocal(file) {
			return nil, fmt.Errorf("%s: the file of a submitted run is in the run's own folder: name it without the folder", out[i])
		}
	}
	return out, nil
}

// Changing returns the wrappers that change what agents see or do, as Parse reads them.
func (l List) Changing() (out []string) {
	for _, w := range l {
		if w.rule != nil && !strings.HasPrefix(w.text, "normalize-reward") {
			out = append(out, w.text)
		}
	}
	return out
}

// TimeLimit truncates episodes after n steps.
func TimeLimit(n int) Wrapper { return Wrapper{text: fmt.Sprintf("time-limit=%d", n), limit: &n} }

// Entry returns an entry whose environments are wrapped. Files of recorders are in dir,
// unless they are named with a full path.
func Entry(e env.Entry, list List, dir string) env.Entry {
	if len(list) == 0 {
		return e
	}
	out := env.Entry{ID: e.ID, Doc: e.Doc, Options: e.Options}
	out.NewGroups = wrapped(e, list, dir)
	if e.SelfPlay != nil {
		inner := wrapped(env.Entry{New: e.SelfPlay}, list, dir)
		out.SelfPlay = func(s *rl.Scope, n int, options any) (env.Batch, error) {
			g, err := inner(s, n, options)
			if err != nil {
				return nil, err
			}
			return env.AsBatch(g), nil
		}
	}
	return out
}

// wrapped returns the constructor of an entry's environments in wrappers.
func wrapped(e env.Entry, list List, dir string) func(s *rl.Scope, n int, options any) (env.Groups, error) {
	return func(s *rl.Scope, n int, options any) (env.Groups, error) {
		draws := slices.ContainsFunc(list, func(w Wrapper) bool { return w.draws })
		if p, ok := options.(env.Pictured); ok && draws {
			options = p.WithPictures()
		}
		g, err := e.Make(s, n, options)
		if err != nil {
			return nil, err
		}
		out, err := around(s, g, list, dir)
		if err != nil {
			_ = env.Close(g) // the error that counts is the other
			return nil, err
		}
		return out, nil
	}
}

// around puts a list of wrappers around environments.
func around(s *rl.Scope, g env.Groups, list List, dir string) (_ env.Groups, err error) {
	for _, w := range list {
		switch {
		case w.limit != nil:
			err = limit(g, *w.limit)
		case w.watch != nil:
			g, err = w.watch(s, g, place{dir, w.confined})
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w, err)
		}
	}
	return layered(s, g, list)
}

func limit(g env.Groups, n int) error {
	if n < 1 {
		return fmt.Errorf("%d is not a number of steps", n)
	}
	if now := g.Spec()[0].Limit; now > 0 && n >= now {
		return fmt.Errorf("episodes end after %d steps already", now)
	}
	l, ok := env.Find[env.Limiter](g)
	if !ok {
		return fmt.Errorf("%s does not support the wrapper: give the environment a time limit of its own", g.Spec()[0].ID)
	}
	l.SetLimit(n)
	return nil
}

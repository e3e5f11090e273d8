// Package request is what the command line and the library share: settings of a run, from
// flags, files and a program's fields to the job that is trained, and the run's folder.
package request

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/policy"
)

// Set lists all that a binary knows.
type Set struct {
	Algorithms   []algo.Algorithm
	Environments []env.Entry
	Schemes      []env.Scheme    // environments by prefix, as in gym:CartPole-v1
	Policies     []policy.Policy // beside the built-in ones

	// at are the entries of packages that were named on the command line, by the
	// path they were named with. They may have the names of built-in ones.
	algorithmAt   map[string]algo.Algorithm
	environmentAt map[string]env.Entry
	built         bool    // this binary was built for packages that were named
	wrong         []error // errors of what they offer in vain

	form  string            // form of the generated programs that the binary was built with
	texts map[string][]byte // texts of these programs, by file name
}

// Generated tells the programs that were generated for a package named on the command
// line: their files, and form, a hash of all that they were made from. Binaries that
// weft builds for such packages call it.
func (s *Set) Generated(form string, texts map[string]string) {
	s.form, s.texts = form, map[string][]byte{}
	for name, text := range texts {
		s.texts[name] = []byte(text)
	}
}

// At adds the algorithm or the environment that the package at a path offers, to
// be named by that path, or its policies, which are named like others. Full is the
// path as configurations have it, on whatever machine they are read; empty is that
// of this process. Binaries that weft builds for such packages call it.
func (s *Set) At(path, full string, entry any) {
	s.built = true
	switch e := entry.(type) {
	case algo.Algorithm:
		putAt(&s.algorithmAt, path, full, e)
	case env.Entry:
		putAt(&s.environmentAt, path, full, e)
	case policy.Policy:
		s.addPolicy(path, e)
	case []policy.Policy:
		for _, p := range e {
			s.addPolicy(path, p)
		}
	default:
		s.wrong = append(s.wrong, fmt.Errorf("%s offers a %T: its Algorithm must be an algo.Algorithm, its Environment an env.Entry, "+
			"its Policy a policy.Policy, its Policies several of these", path, entry))
	}
}

// addPolicy adds a policy that a package offers, unless it is none or another's
// name is taken in vain.
func (s *Set) addPolicy(path string, p policy.Policy) {
	_, err := policy.Find(p.Name, s.AllPolicies())
	switch {
	case p.Name == "" || p.Grouping == nil:
		s.wrong = append(s.wrong, fmt.Errorf("%s offers a policy without a name or without a grouping", path))
	case err == nil:
		s.wrong = append(s.wrong, fmt.Errorf("%s declares a policy %s, a name that is taken: rename it", path, p.Name))
	default:
		s.Policies = append(s.Policies, p)
	}
}

// AllPolicies returns the built-in policies and those of the set.
func (s *Set) AllPolicies() []policy.Policy {
	return slices.Concat(policy.Builtin(), s.Policies)
}

// Policy finds a policy by name.
func (s *Set) Policy(name string) (policy.Policy, error) {
	var names []string
	for _, p := range s.AllPolicies() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return policy.Policy{}, Unknown("policy", name, names, "weft list policies")
}

// putAt has an entry found by its path as it was named and as configurations have it.
func putAt[T any](m *map[string]T, path, full string, entry T) {
	put(m, path, entry)
	if full != "" {
		put(m, full, entry)
	}
	if abs, err := filepath.Abs(path); err == nil {
		put(m, abs, entry)
	}
}

func put[T any](m *map[string]T, k string, v T) {
	if *m == nil {
		*m = map[string]T{}
	}
	(*m)[k] = v
}

// Algorithm finds an algorithm by name or path.
func (s *Set) Algorithm(name string) (algo.Algorithm, error) {
	if a, ok := s.algorithmAt[name]; ok {
		return a, nil
	}
	if name == "" {
		return algo.Algorithm{}, errors.New("no algorithm named: write one, as in weft train ppo (weft list algorithms shows all)")
	}
	var names []string
	for _, a := range s.Algorithms {
		if a.Name == name {
			return a, nil
		}
		names = append(names, a.Name)
	}
	return algo.Algorithm{}, Unknown("algorithm", name, names, "weft list algorithms")
}

// Environment finds an environment by id or path.
func (s *Set) Environment(id string) (env.Entry, error) {
	if e, ok := s.environmentAt[id]; ok {
		return e, nil
	}
	var ids []string
	for _, e := range s.Environments {
		if e.ID == id {
			return e, nil
		}
		ids = append(ids, e.ID)
	}
	if prefix, name, ok := strings.Cut(id, ":"); ok {
		return s.foreignTo(prefix, name)
	}
	return env.Entry{}, Unknown("environment", id, ids, "weft list envs")
}

// foreignTo finds an environment that a scheme offers.
func (s *Set) foreignTo(prefix, name string) (env.Entry, error) {
	var prefixes []string
	for _, x := range s.Schemes {
		if x.Prefix == prefix {
			e, err := x.Open(name)
			if err != nil {
				err = fmt.Errorf("--env: %w", err)
			}
			return e, err
		}
		prefixes = append(prefixes, x.Prefix)
	}
	return env.Entry{}, Unknown("kind of environment", prefix, prefixes, "weft list envs")
}

// Options divides an environment's name from the settings that may follow it, as
// in Memory-v0?delay=10&cues=3.
func Options(name string) (id string, set []config.Assignment, err error) {
	id, query, _ := strings.Cut(name, "?")
	var errs []error
	for part := range strings.SplitSeq(query, "&") {
		if part == "" {
			continue
		}
		a, err := config.ParseSet(part, "--env")
		if err != nil {
			errs = append(errs, err)
			continue
		}
		set = append(set, a)
	}
	return id, set, errors.Join(errs...)
}

// Unknown says which name was probably meant.
func Unknown(what, name string, names []string, list string) error {
	if near, ok := config.Nearest(name, names); ok {
		return fmt.Errorf("unknown %s %q, did you mean %q? (%s shows all)", what, name, near, list)
	}
	switch len(names) {
	case 0:
		return fmt.Errorf("unknown %s %q: there are none: the program's Set names none (weft.Builtin() has the built-in ones)", what, name)
	case 1:
		return fmt.Errorf("unknown %s %q: there is only %s", what, name, names[0])
	}
	return fmt.Errorf("unknown %s %q: there are %s", what, name, strings.Join(slices.Sorted(slices.Values(names)), ", "))
}

// Fit reports what is wrong with the set itself: with what packages offer that were named on the
// command line.
func (s *Set) Fit() error { return errors.Join(s.wrong...) }

// Built reports whether the binary was built for packages that were named on the command line.
func (s *Set) Built() bool { return s.built }

// Named reports whether an algorithm is named by the path of its package.
func (s *Set) Named(algorithm string) bool {
	_, ok := s.algorithmAt[algorithm]
	return ok
}

// Programs returns the form and the texts of the programs that the binary was built with, as
// Generated was told them.
func (s *Set) Programs() (form string, texts map[string][]byte) { return s.form, s.texts }

// AsIs reports whether a name is that of a policy that runs the loop as it stands.
func (s *Set) AsIs(name string) bool {
	p, err := policy.Find(name, s.AllPolicies())
	return err == nil && p.AsIs
}

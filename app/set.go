// Package app is the command line and the library entry: what an author's own
// binary needs to train their algorithms on their environments as the built-in
// ones are.
package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/config"
)

// Set is what a binary knows.
type Set struct {
	Algorithms   []algo.Algorithm
	Environments []env.Entry

	// paths are the entries that were built from packages named on the command
	// line, by the path they were named with.
	algorithmAt, environmentAt map[string]string
}

// At says that the algorithm or the environment last added is the one of the
// package at a path, so that the path may be used for its name.
func (s *Set) At(path string, entry any) {
	switch e := entry.(type) {
	case algo.Algorithm:
		s.Algorithms = append(s.Algorithms, e)
		put(&s.algorithmAt, path, e.Name)
	case env.Entry:
		s.Environments = append(s.Environments, e)
		put(&s.environmentAt, path, e.ID)
	default:
		panic(fmt.Sprintf("package %s offers a %T, neither an algo.Algorithm nor an env.Entry", path, entry))
	}
}

func put(m *map[string]string, k, v string) {
	if *m == nil {
		*m = map[string]string{}
	}
	(*m)[k] = v
}

// algorithm finds an algorithm by name or path.
func (s *Set) algorithm(name string) (algo.Algorithm, error) {
	if n, ok := s.algorithmAt[name]; ok {
		name = n
	}
	var names []string
	for _, a := range s.Algorithms {
		if a.Name == name {
			return a, nil
		}
		names = append(names, a.Name)
	}
	return algo.Algorithm{}, unknown("algorithm", name, names, "weft list algorithms")
}

// environment finds an environment by id or path; the id may be followed by
// settings, as in Memory-v0?delay=10.
func (s *Set) environment(name string) (e env.Entry, set []config.Assignment, err error) {
	id, query, _ := strings.Cut(name, "?")
	if n, ok := s.environmentAt[id]; ok {
		id = n
	}
	var errs []error
	for _, part := range strings.FieldsFunc(query, func(r rune) bool { return r == '&' }) {
		a, err := config.ParseSet(part, "--env")
		if err != nil {
			errs = append(errs, err)
			continue
		}
		set = append(set, a)
	}
	var ids []string
	for _, e := range s.Environments {
		if e.ID == id {
			return e, set, errors.Join(errs...)
		}
		ids = append(ids, e.ID)
	}
	return env.Entry{}, nil, unknown("environment", id, ids, "weft list envs")
}

// unknown says which name was probably meant.
func unknown(what, name string, names []string, list string) error {
	if near, ok := config.Nearest(name, names); ok {
		return fmt.Errorf("unknown %s %q, did you mean %q? (%s shows all)", what, name, near, list)
	}
	slices.Sort(names)
	return fmt.Errorf("unknown %s %q: there are %s", what, name, strings.Join(names, ", "))
}

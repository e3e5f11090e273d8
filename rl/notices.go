package rl

import (
	"slices"
	"strings"
	"sync"
)

// notices holds the notices of a scope's components for the runner.
type notices struct {
	mu     sync.Mutex
	notes  []string
	counts []Logged
}

// Note tells the user of the run something, at its next consistent point.
func (s *Scope) Note(text string) {
	s.notices.mu.Lock()
	defer s.notices.mu.Unlock()
	s.notices.notes = append(s.notices.notes, text)
}

// TakeNotes returns the notes since the last time.
func (system) TakeNotes(s *Scope) []string {
	s.notices.mu.Lock()
	defer s.notices.mu.Unlock()
	out := s.notices.notes
	s.notices.notes = nil
	return out
}

// Count sets the number of times that something has happened in the run, a metric
// by name: restarts of environments, say. Whoever counts saves the number.
func (s *Scope) Count(name string, n int64) {
	s.notices.mu.Lock()
	defer s.notices.mu.Unlock()
	i, found := slices.BinarySearchFunc(s.notices.counts, name, func(l Logged, name string) int { return strings.Compare(l.Name, name) })
	if !found {
		s.notices.counts = slices.Insert(s.notices.counts, i, Logged{Name: name})
	}
	s.notices.counts[i].X = float64(n)
}

// Counts returns all counts, by name.
func (system) Counts(s *Scope) []Logged {
	s.notices.mu.Lock()
	defer s.notices.mu.Unlock()
	return slices.Clone(s.notices.counts)
}

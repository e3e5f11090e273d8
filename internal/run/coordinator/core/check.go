package core

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Check reports, all at once, what can never be true of a state.
func (s *State) Check() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !slices.IsSortedFunc(s.Workers, func(a, b Worker) int { return strings.Compare(a.Name, b.Name) }) {
		wrong("workers are not in order")
	}
	for i, w := range s.Workers {
		if i > 0 && s.Workers[i-1].Name == w.Name {
			wrong("worker %s is there twice", w.Name)
		}
		if w.Run == "" {
			continue
		}
		r := s.Run(w.Run)
		switch {
		case r == nil || !r.Phase.Active():
			wrong("worker %s is at run %s, which is not under way", w.Name, w.Run)
		case r.member(w.Name) == nil:
			wrong("worker %s is at run %s, which has no part for it", w.Name, w.Run)
		case w.Silent && !r.member(w.Name).Done:
			wrong("worker %s has a part of run %s, and nothing is heard of it", w.Name, w.Run)
		}
	}
	for i := range s.Runs {
		errs = append(errs, s.checkRun(&s.Runs[i])...)
	}
	return errors.Join(errs...)
}

func (s *State) checkRun(r *Run) (errs []error) {
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("run %s: "+format, append([]any{r.Name}, args...)...))
	}
	if r.Phase.Active() != (len(r.Members) > 0) || r.Phase.Active() != (r.Plan != nil) {
		wrong("%s with %d parts", r.Phase, len(r.Members))
	}
	if !r.Phase.Active() && r.Why == "" {
		wrong("%s without a reason", r.Phase)
	}
	if r.Halting && (r.Phase != Running || r.HaltBy == 0) {
		wrong("%s, and to stop at tick %d", r.Phase, r.HaltBy)
	}
	if r.Handing && (r.Phase != Running || r.Halting) {
		wrong("%s, and to go on without a worker", r.Phase)
	}
	if !r.Phase.Over() && r.Until == 0 {
		wrong("%s without an end to it", r.Phase)
	}
	if r.Last != nil && r.Last.Epoch > r.Epoch {
		wrong("its checkpoint is of epoch %d, and it is at %d", r.Last.Epoch, r.Epoch)
	}
	for i, m := range r.Members {
		if slices.ContainsFunc(r.Members[:i], func(o Member) bool { return o.Name == m.Name }) {
			wrong("worker %s has two parts", m.Name)
		}
		if m.Vacant && (r.Phase != Running || m.Session != 0 || m.Life == 0 || i == r.owner() || !r.Plan.Sparing()) {
			wrong("the part of worker %s is vacant, and should not be", m.Name)
		}
		if m.Session == 0 && !m.Done && m.Until == 0 {
			wrong("worker %s is waited for without an end", m.Name)
		}
		if m.Done || m.Session == 0 {
			continue
		}
		if w := s.here(m.Name, m.Session); w == nil || w.Run != r.Name {
			wrong("worker %s has a part and does not know of it", m.Name)
		} else if !r.hasProgram(*w) {
			p, _ := r.program(*w)
			wrong("worker %s has program %q, and the run %q", m.Name, p, r.Program)
		}
	}
	return errs
}

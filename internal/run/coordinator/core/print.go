package core

import (
	"fmt"
	"io"
	"strings"
)

// Print writes the state as text, one line to each worker and run.
func (s *State) Print(w io.Writer) {
	for _, x := range s.Workers {
		what := "free"
		if x.Run != "" {
			what = "at " + x.Run
		}
		if x.Silent {
			what += ", silent"
		}
		fmt.Fprintf(w, "worker %s#%d: %s\n", x.Name, x.Session, what)
	}
	for i := range s.Runs {
		fmt.Fprintln(w, s.Runs[i].line())
	}
	if q := s.Asking; q != nil {
		fmt.Fprintf(w, "asking (%d) about %s\n", q.Number, q.Run)
	}
}

func (r *Run) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "run %s: %s, epoch %d, step %d", r.Name, r.Phase, r.Epoch, r.step())
	for _, m := range r.Members {
		fmt.Fprintf(&b, ", %s", m.Name)
		if m.Life > 0 {
			fmt.Fprintf(&b, ".%d", m.Life)
		}
		switch {
		case m.Vacant:
			b.WriteString(" vacant")
		case m.Done:
			b.WriteString(" done")
		case m.Session == 0:
			b.WriteString(" awaited")
		case m.Ready:
			b.WriteString(" ready")
		}
	}
	if r.Why != "" {
		fmt.Fprintf(&b, " (%s)", r.Why)
	}
	return b.String()
}

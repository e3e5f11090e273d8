package profile

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Print writes the profile as tables.
func (p *Profile) Print(w io.Writer) error {
	if err := p.Check(); err != nil {
		return err
	}
	first := p.Replicas[0]
	what := p.Policy
	if p.Algorithm != "" {
		what = strings.TrimSuffix(p.Algorithm+" on "+p.Env, " on ") + ", " + p.Policy
	}
	fmt.Fprintf(w, "profile of %s: %d iterations of %s\n\n", what, first.Iterations, span(first.period()))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	p.printReplicas(t)
	fmt.Fprintln(t)
	p.printOperations(t)
	if len(p.Edges) > 0 {
		fmt.Fprintln(t)
		p.printEdges(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	p.printFindings(w)
	o := p.Overhead
	_, err := fmt.Fprintf(w, "\nrecording took %v an event, at most %s of a replica's time; it is subtracted above\n", o.PerEvent.Round(time.Nanosecond), fine(o.Part))
	return err
}

// printReplicas writes what part of its time every replica spent on what.
func (p *Profile) printReplicas(w io.Writer) {
	var shown []Class
	for _, c := range Classes {
		for _, r := range p.Replicas {
			if r.By()[c] > 0 {
				shown = append(shown, c)
				break
			}
		}
	}
	fmt.Fprint(w, "replica\titeration")
	for _, c := range shown {
		fmt.Fprintf(w, "\t%s", c)
	}
	fmt.Fprintln(w, "\twaits most for")
	for _, r := range p.Replicas {
		by := r.By()
		fmt.Fprintf(w, "%s\t%s", r, span(r.period()))
		for _, c := range shown {
			fmt.Fprintf(w, "\t%s", percent(by[c]/max(r.Seconds, 1e-12)))
		}
		fmt.Fprintf(w, "\t%s\n", p.waited(&r))
	}
}

// waited says for whom a replica waits most.
func (p *Profile) waited(r *Replica) string {
	i, s := r.longest()
	switch {
	case s == 0:
		return "nobody"
	case i < 0:
		return "the first to come"
	}
	return fmt.Sprintf("%s, %s", p.Replicas[i], percent(s/r.Seconds))
}

// printOperations writes the operations of the first replica of every group.
func (p *Profile) printOperations(w io.Writer) {
	fmt.Fprintln(w, "replica\toperation\tclass\tcalls/iteration\teach\tof its time")
	for _, g := range p.groups() {
		r := &p.Replicas[g.numbers[0]]
		for _, o := range r.Operations {
			fmt.Fprintf(w, "%s\t%s\t%s\t%.4g\t%s\t%s\n", r, o.Name, o.Class, float64(o.Calls)/float64(r.Iterations), span(o.Seconds/float64(o.Calls)), percent(o.Seconds/r.Seconds))
		}
	}
}

// printEdges writes what crosses, over all replicas.
func (p *Profile) printEdges(w io.Writer) {
	fmt.Fprintln(w, "edge\tfrom\tto\tmessages/iteration\tbytes/iteration\tcopying\tsending\twaiting")
	for i, e := range p.Edges {
		var messages, bytes, copying, sending, waiting float64
		for _, r := range p.Replicas {
			for _, x := range r.Edges {
				if x.Edge != i {
					continue
				}
				n := float64(r.Iterations)
				messages, bytes = messages+float64(x.Sent)/n, bytes+float64(x.Bytes)/n
				copying, sending = copying+x.Copying/n, sending+x.Sending/n
				for _, s := range x.Waits {
					waiting += s.Seconds / n
				}
			}
		}
		if messages == 0 && waiting == 0 {
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%.4g\t%s\t%s\t%s\t%s\n", e.Name, e.From, e.To, messages, size(int64(bytes)), span(copying), span(sending), span(waiting))
	}
}

func (p *Profile) printFindings(w io.Writer) {
	fmt.Fprintln(w, "\nwho waits for whom, and what would help")
	found := p.Findings()
	if len(found) == 0 {
		fmt.Fprintln(w, "nothing stands out")
	}
	for i, f := range found {
		fmt.Fprintf(w, "%d. %s\n   %s\n", i+1, f.Text, f.Help)
	}
}

// span writes a time with three digits and its unit.
func span(s float64) string {
	switch {
	case s == 0:
		return "0"
	case s < 1e-3:
		return fmt.Sprintf("%.3g us", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3g ms", s*1e3)
	}
	return fmt.Sprintf("%.3g s", s)
}

func percent(part float64) string { return fmt.Sprintf("%.0f %%", 100*part) }

// fine writes a part that may be small.
func fine(part float64) string { return fmt.Sprintf("%.1f %%", 100*part) }

// size writes a number of bytes.
func size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 10_000_000:
		return fmt.Sprintf("%.4g kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.4g MB", float64(n)/1e6)
}

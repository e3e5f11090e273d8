package chaos

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Report holds the results of all trials.
type Report struct {
	Seed    uint64  `json:"seed"`
	Workers int     `json:"workers"`
	Bar     float64 `json:"bar"` // seconds; 0 is none
	Seconds float64 `json:"seconds"`
	Trials  []Trial `json:"trials"`
	Kept    string  `json:"kept,omitempty"` // folder with the files of trials that went wrong
}

// Faults returns how many were injected.
func (r Report) Faults() (n int) {
	for _, t := range r.Trials {
		n += len(t.Injected)
	}
	return n
}

// Violations returns all violations that were found.
func (r Report) Violations() (out []string) {
	for _, t := range r.Trials {
		out = append(out, t.Violations...)
	}
	return out
}

// ended says how a run ended.
func (t Trial) ended() string {
	switch {
	case len(t.Violations) > 0:
		return fmt.Sprintf("with %d violations", len(t.Violations))
	case t.Async:
		return "with every step"
	}
	return "in the undisturbed bits"
}

// Row sums up the faults of one kind.
type Row struct {
	Kind      Kind    `json:"kind"`
	Faults    int     `json:"faults"`
	Recovered int     `json:"recovered"` // the others came just before the run's end
	Restarts  int     `json:"restarts"`  // recoveries in a new epoch
	Mean      float64 `json:"mean"`      // seconds until the run trained again
	Worst     float64 `json:"worst"`
	Replaced  int     `json:"replaced"` // faults that cost a worker which was replaced within the epoch
	Last      float64 `json:"last"`     // the longest that took, in seconds
}

func (r *Row) add(i Injected) {
	r.Faults++
	if i.Replaced != nil {
		r.Replaced++
		r.Last = max(r.Last, *i.Replaced)
	}
	if i.Recovery < 0 {
		return
	}
	if i.Restart {
		r.Restarts++
	}
	r.Mean = (r.Mean*float64(r.Recovered) + i.Recovery) / float64(r.Recovered+1)
	r.Recovered++
	r.Worst = max(r.Worst, i.Recovery)
}

// Rows returns the faults by kind, and all of them as the last row.
func (r Report) Rows() (out []Row) {
	all := Row{Kind: "all"}
	for _, k := range Kinds() {
		row := Row{Kind: k}
		for _, t := range r.Trials {
			for _, i := range t.Injected {
				if i.Kind == k {
					row.add(i)
					all.add(i)
				}
			}
		}
		if row.Faults > 0 {
			out = append(out, row)
		}
	}
	return append(out, all)
}

// Write writes the report for a person.
func (r Report) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "RUN\tNETWORK\tFAULTS\tEPOCHS\tSECONDS\tRETURN\tENDED\n")
	for _, x := range r.Trials {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%.1f\t%.1f\t%s\n", x.Run, x.Network, len(x.Injected), x.Epochs, x.Seconds, x.Return, x.ended())
	}
	fmt.Fprint(t, "\nFAULT\tINJECTED\tRECOVERED\tRESTARTED\tMEAN\tWORST\tREPLACED\tWITHIN\n")
	for _, x := range r.Rows() {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%.2f s\t%.2f s\t%d\t%.2f s\n", x.Kind, x.Faults, x.Recovered, x.Restarts, x.Mean, x.Worst, x.Replaced, x.Last)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%d faults in %d runs on %d workers, seed %d, %.0f s: %d violations\n", r.Faults(), len(r.Trials), r.Workers, r.Seed, r.Seconds, len(r.Violations()))
	for _, v := range r.Violations() {
		fmt.Fprintf(w, "  %s\n", v)
	}
	if r.Kept != "" {
		fmt.Fprintf(w, "the files of what went wrong are in %s\n", r.Kept)
	}
	return nil
}

package plan

import (
	"encoding/json"
	"fmt"
	"io"
)

// Sheet is a plan for display: its subject, and the plan before and after fusion.
type Sheet struct {
	Facts   Facts   `json:"facts"`
	Cluster Cluster `json:"cluster"`
	Before  Plan    `json:"before"`
	After   Plan    `json:"after"`
	// Measured says how calls and bytes were come by; empty if they were not.
	Measured string `json:"measured,omitempty"`
}

// Part is a plan of a sheet, with a title.
type Part struct {
	Title string
	*Plan
}

// Parts returns the plans that there are to show: one, where fusion changes nothing.
func (s *Sheet) Parts() []Part {
	if len(s.After.Fused) == 0 {
		return []Part{{"nothing is fused", &s.After}}
	}
	return []Part{{"before fusion", &s.Before}, {"after fusion", &s.After}}
}

// Print writes the sheet as text.
func (s *Sheet) Print(w io.Writer) error {
	for i, p := range s.Parts() {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "== %s ==\n\n", p.Title)
		if err := p.Print(w, s.Cluster); err != nil {
			return err
		}
	}
	if s.Measured != "" {
		_, err := fmt.Fprintf(w, "\n%s\n", s.Measured)
		return err
	}
	return nil
}

// WriteJSON writes the sheet as JSON.
func (s *Sheet) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(s)
}

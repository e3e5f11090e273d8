package plan

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Sheet is a plan as it is shown: what it is for, and how it stands before and after
// fusion.
type Sheet struct {
	Facts   Facts   `json:"facts"`
	Cluster Cluster `json:"cluster"`
	Before  Plan    `json:"before"`
	After   Plan    `json:"after"`
	// Measured says how calls and bytes were come by; empty if they were not.
	Measured string `json:"measured,omitempty"`
}

// parts are the plans that there are to show: one, where fusion changes nothing.
func (s *Sheet) parts() []part {
	if len(s.After.Fused) == 0 {
		return []part{{"nothing is fused", &s.After}}
	}
	return []part{{"before fusion", &s.Before}, {"after fusion", &s.After}}
}

type part struct {
	title string
	*Plan
}

// Print writes the sheet as text.
func (s *Sheet) Print(w io.Writer) error {
	for i, p := range s.parts() {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "== %s ==\n\n", p.title)
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

// WriteDOT writes the sheet for Graphviz, both plans in one drawing.
func (s *Sheet) WriteDOT(w io.Writer) error {
	var b strings.Builder
	b.WriteString("digraph plan {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n")
	for i, p := range s.parts() {
		fmt.Fprintf(&b, "  subgraph cluster_plan%d {\n    label=%q;\n", i, p.title)
		p.dot(&b, s.Cluster, fmt.Sprintf("%d/", i))
		b.WriteString("  }\n")
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

package sheet

import (
	"fmt"
	"io"
	"strings"

	"github.com/weft-rl/weft/plan"
)

// DOT writes a sheet for Graphviz, both plans in one drawing: a box for every worker, replicas in
// it.
func DOT(w io.Writer, s *plan.Sheet) error {
	var b strings.Builder
	b.WriteString("digraph plan {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n")
	for i, p := range s.Parts() {
		fmt.Fprintf(&b, "  subgraph cluster_plan%d {\n    label=%q;\n", i, p.Title)
		dot(&b, p.Plan, s.Cluster, fmt.Sprintf("%d/", i))
		b.WriteString("  }\n")
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// dot writes the boxes and arrows of a plan, with a prefix to their names.
func dot(b *strings.Builder, p *plan.Plan, c plan.Cluster, prefix string) {
	for i := range c.Workers {
		fmt.Fprintf(b, "    subgraph \"cluster_%sworker%d\" {\n      label=%q;\n", prefix, i, c.Workers[i].Name)
		for _, r := range at(p, i) {
			fmt.Fprintf(b, "      %q [label=%q];\n", prefix+id(r), fmt.Sprintf("%s %d\n%s", r.Group, r.Rank, shards(p, r)))
		}
		b.WriteString("    }\n")
	}
	for _, e := range p.Edges {
		for _, from := range p.Of(e.From) {
			for _, to := range p.Of(e.To) {
				if from != to {
					fmt.Fprintf(b, "    %q -> %q [label=%q];\n", prefix+id(from), prefix+id(to), e.Name+": "+string(e.Operator))
				}
			}
		}
	}
}

func id(r plan.Replica) string { return fmt.Sprintf("%s/%d", r.Group, r.Rank) }

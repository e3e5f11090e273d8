package plan

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/weft-rl/weft/fdg"
)

// Print writes the plan as text: who runs what where, and what crosses.
func (p *Plan) Print(w io.Writer, c Cluster) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "plan %s of %s: %s\n", p.Policy, p.Graph, p.kind())
	if p.Lowered {
		fmt.Fprintln(t, "the whole loop is one device program")
	}
	fmt.Fprint(t, "\ngroup\tfragments\treplicated over\n")
	for _, g := range p.Groups {
		fmt.Fprintf(t, "%s\t%s\t%s\n", g.Name, strings.Join(g.Fragments, ", "), g.Over)
	}
	if len(p.Groups) == 0 {
		fmt.Fprint(t, "all\tthe loop as it stands\tnone\n")
	}
	fmt.Fprint(t, "\nreplica\tshards\tworker\tdevice\n")
	for _, r := range p.Replicas {
		fmt.Fprintf(t, "%s %d\t%s\t%s\t%s\n", r.Group, r.Rank, p.shards(r), worker(c, r.Worker), r.Device)
	}
	fmt.Fprintln(t)
	p.printEdges(t)
	for _, n := range p.Notes {
		fmt.Fprintf(t, "\nnote: %s\n", n)
	}
	for _, f := range p.Fused {
		fmt.Fprintf(t, "\nfused %s\n", f)
	}
	return t.Flush()
}

func (p *Plan) kind() string {
	owner := p.Group(p.Owner)
	switch {
	case !p.Async && owner != nil && owner.Over != fdg.None:
		return "synchronous, gradients summed in rank order"
	case !p.Async:
		return "synchronous, the bits of the plain loop"
	}
	producers := "all producers"
	if p.Producers > 0 {
		producers = fmt.Sprintf("any %d producers", p.Producers)
	}
	return fmt.Sprintf("asynchronous, weights at most %d versions behind, batches from %s", p.Staleness, producers)
}

func (p *Plan) shards(r Replica) string {
	if r.Last == r.First+1 {
		return fmt.Sprintf("%d of %d", r.First, p.Shards)
	}
	return fmt.Sprintf("%d-%d of %d", r.First, r.Last-1, p.Shards)
}

func worker(c Cluster, i int) string {
	if i < len(c.Workers) {
		return c.Workers[i].Name
	}
	return fmt.Sprint(i)
}

func (p *Plan) printEdges(w io.Writer) {
	if len(p.Edges) == 0 {
		fmt.Fprint(w, "nothing crosses\n")
		return
	}
	fmt.Fprint(w, "edge\tcarried by\tfrom\tto\tonce per\tcalls\tbytes\n")
	for _, e := range p.Edges {
		often := e.Often
		if !e.Blocking {
			often += ", nobody waits"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.Name, e.Operator, e.From, e.To, often, number(e.Calls), number(e.Bytes))
	}
}

// printColumns writes the edges as a table of its own.
func (p *Plan) printColumns(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	p.printEdges(t)
	_ = t.Flush() // into memory: it does not fail
}

// number is a measurement, where there is one.
func number(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// WriteJSON writes the plan as JSON.
func (p *Plan) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(p)
}

// WriteDOT writes the plan for Graphviz: a box for every worker, replicas in it.
func (p *Plan) WriteDOT(w io.Writer, c Cluster) error {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph plan {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n")
	for i := range c.Workers {
		fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=%q;\n", i, c.Workers[i].Name)
		for _, r := range p.Replicas {
			if r.Worker == i {
				fmt.Fprintf(&b, "    %q [label=%q];\n", id(r), fmt.Sprintf("%s %d\nshards %s", r.Group, r.Rank, p.shards(r)))
			}
		}
		b.WriteString("  }\n")
	}
	for _, e := range p.Edges {
		for _, from := range p.Of(e.From) {
			for _, to := range p.Of(e.To) {
				if from != to {
					fmt.Fprintf(&b, "  %q -> %q [label=%q];\n", id(from), id(to), e.Name+": "+string(e.Operator))
				}
			}
		}
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func id(r Replica) string { return fmt.Sprintf("%s/%d", r.Group, r.Rank) }

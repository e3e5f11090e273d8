package plan

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Print writes the plan as text: the programs of every worker, and the edges between them.
func (p *Plan) Print(w io.Writer, c Cluster) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "plan %s of %s: %s\n", p.Policy, p.Graph, p.Kind())
	if p.Lowered {
		fmt.Fprintln(t, "the whole loop is one device program"+p.sharing())
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
		fmt.Fprintf(t, "%s %d\t%s\t%s\t%s\n", r.Group, r.Rank, p.Range(r), worker(c, r.Worker), r.Device)
	}
	fmt.Fprintln(t)
	p.printEdges(t)
	if p.Calls > 0 {
		fmt.Fprintf(t, "\n%s compiled graphs are called in an iteration\n", number(p.Calls))
	}
	for _, n := range p.Notes {
		fmt.Fprintf(t, "\nnote: %s\n", n)
	}
	for _, f := range p.Fused {
		fmt.Fprintf(t, "\nfused %s\n", f)
	}
	return t.Flush()
}

// Kind says in a few words what a plan promises.
func (p *Plan) Kind() string {
	switch {
	case p.Lowered && p.Shards > 1:
		return "synchronous, gradients summed by the devices"
	case !p.Async && p.sumsGradients():
		return "synchronous, gradients summed in rank order"
	case !p.Async:
		return "synchronous, the bits of the plain loop"
	}
	producers := "all producers"
	if p.Producers > 0 {
		producers = fmt.Sprintf("any %d producers", p.Producers)
	}
	if p.SamplesPerInsert > 0 {
		producers = fmt.Sprintf("as many producers as %g samples per insert need", p.SamplesPerInsert)
	}
	versions := fmt.Sprintf("%d versions", p.Staleness)
	if p.Staleness == 1 {
		versions = "1 version"
	}
	return fmt.Sprintf("asynchronous, weights at most %s behind, batches from %s", versions, producers)
}

// sharing says how a device program is shared out among several devices.
func (p *Plan) sharing() string {
	if p.Shards < 2 {
		return ""
	}
	return fmt.Sprintf(" on %d devices: each has its part of the environments and of every minibatch, and all the weights", p.Shards)
}

// sumsGradients reports whether several replicas make parts of one gradient.
func (p *Plan) sumsGradients() bool {
	return slices.ContainsFunc(p.Edges, func(e Edge) bool {
		return strings.HasSuffix(e.Type, "rl.Grads") && len(p.Of(e.From)) > 1
	})
}

// Range says which shards a replica has.
func (p *Plan) Range(r Replica) string {
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

// edgeHead are the columns of the table of what crosses.
var edgeHead = []string{"edge", "carried by", "from", "to", "once per", "calls", "bytes"}

// Table returns the table of what crosses, with the names of its columns.
func (p *Plan) Table() (head []string, rows [][]string) {
	for _, e := range p.Edges {
		often := e.Often
		if e.Log {
			often += ", nobody waits"
		}
		calls, bytes := "-", "-"
		if e.Calls > 0 {
			calls, bytes = number(e.Calls), number(e.Bytes)
		}
		rows = append(rows, []string{e.Name, string(e.Operator), e.From, e.To, often, calls, bytes})
	}
	return edgeHead, rows
}

func (p *Plan) printEdges(w io.Writer) {
	if len(p.Edges) == 0 {
		what := "nothing crosses"
		if p.Lowered && p.Shards > 1 {
			what += " to the host; what crosses between the devices is in the program, as collectives that its compiler chooses"
		}
		fmt.Fprintln(w, what)
		return
	}
	head, rows := p.Table()
	fmt.Fprintln(w, strings.Join(head, "\t"))
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
}

// number returns n with its thousands set apart.
func number(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// WriteJSON writes the plan as JSON.
func (p *Plan) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(p)
}

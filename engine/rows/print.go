package rows

import (
	"fmt"
	"strings"

	"github.com/weft-rl/weft/engine/ir"
)

var opNames = [...]string{"const", "round", "row", "carried", "load", "map", "pick", "reduce", "best", "dot", "chosen"}

// String returns the operation's name.
func (o Op) String() string { return opNames[o] }

var kindNames = [...]string{"counter", "state", "common", "sum", "aside", "kept"}

// String returns the kind's name.
func (k Kind) String() string { return kindNames[k] }

// String prints the loop: what it reads, then for each result the nodes that make it, each printed
// once.
func (l *Loop) String() string {
	p := &printer{names: map[*Node]string{}}
	p.line("loop of %d rows, %d rounds", l.Rows, l.Trips)
	p.indent = "  "
	for i, v := range l.Inputs {
		p.line("in%d %s", i, ir.ShapeText(v))
	}
	for i, r := range l.Results {
		switch r.Kind {
		case State, Common:
			p.line("result %d: %s, from %s", i, r.Kind, p.name(r.Init))
			p.line("  next %s", p.name(r.Next))
		case Sum, Aside:
			p.line("result %d: %s %s", i, r.Kind, p.name(r.Next))
		case Kept:
			p.line("result %d: %s %s, from slot %s", i, r.Kind, p.name(r.Next), p.name(r.From))
		default:
			p.line("result %d: %s", i, r.Kind)
		}
	}
	return p.b.String()
}

// String prints the region: what it reads, then for each sum the nodes that make it, each printed
// once.
func (r *Region) String() string {
	p := &printer{names: map[*Node]string{}}
	p.line("region of %d rows", r.Rows)
	p.indent = "  "
	for i, v := range r.Inputs {
		if v != nil {
			p.line("in%d %s", i, ir.ShapeText(v))
		}
	}
	for i, s := range r.Sums {
		if s.Y != nil {
			p.line("sum %d %s: %s by %s", i, ir.ShapeText(s.Value), p.name(s.X), p.name(s.Y))
		} else {
			p.line("sum %d %s: %s", i, ir.ShapeText(s.Value), p.name(s.X))
		}
	}
	return p.b.String()
}

type printer struct {
	b      strings.Builder
	names  map[*Node]string
	indent string
}

func (p *printer) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...) // which may print other nodes before
	p.b.WriteString(p.indent + text + "\n")
}

// name prints a node, if it is not printed yet, and returns its name.
func (p *printer) name(n *Node) string {
	if name := p.names[n]; name != "" {
		return name
	}
	args := make([]string, len(n.Args))
	for i, a := range n.Args {
		args[i] = p.name(a)
	}
	what := ""
	switch n.Op {
	case Const:
		what = fmt.Sprintf(" %x", n.Bits)
	case Load:
		what = fmt.Sprintf(" in%d %v %v", n.Input, n.Place, n.Dyn)
	case Map:
		what = " " + n.Map.String()
	case Reduce:
		what = fmt.Sprintf(" %s %v", n.Map, n.Groups)
	case Best:
		what = fmt.Sprintf(" least=%t %v", n.Least, n.Groups)
	case Pick:
		what = fmt.Sprintf(" %v", n.From)
	case Dot:
		what = fmt.Sprintf(" in%d %+v", n.Input, n.Weight)
	case Carried:
		what = fmt.Sprintf(" %d", n.State)
	case Chosen:
		o := n.Branch.Outcomes[n.Which]
		what = fmt.Sprintf(" then %s else %s", p.name(o.Then), p.name(o.Else))
	}
	name := fmt.Sprintf("%%%d", len(p.names))
	p.names[n] = name
	p.line("%s %s[%d] = %s(%s)%s", name, n.Type, n.N, n.Op, strings.Join(args, ", "), what)
	return name
}

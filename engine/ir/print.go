package ir

import (
	"fmt"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
)

// String prints the module: every named function, then main.
func (m *Module) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "module %s", m.Name)
	if m.Replicas > 0 {
		fmt.Fprintf(&b, ", %d replicas", m.Replicas)
	}
	if s := m.Split; s != nil {
		fmt.Fprintf(&b, ", on %d devices, cut along %v to %v", s.Devices, s.Params, s.Results)
	}
	b.WriteString("\n")
	for _, f := range m.Funcs {
		b.WriteString(f.String())
	}
	b.WriteString(m.Main.String())
	return b.String()
}

// String prints the function, with its closures indented below the nodes that run them.
func (f *Func) String() string {
	p := &printer{names: map[*Value]string{}}
	p.fn(f, f.Name)
	return p.b.String()
}

// printer numbers values in the order in which they are printed, so that the text does not depend
// on dead nodes or on how the function was built.
type printer struct {
	b      strings.Builder
	names  map[*Value]string
	indent string
}

func (p *printer) fn(f *Func, title string) {
	if title == "" {
		title = "func"
	}
	fmt.Fprintf(&p.b, "%s%s(%s)", p.indent, title, p.define(f.Params))
	if len(f.Captures) > 0 {
		fmt.Fprintf(&p.b, " captures (%s)", p.define(f.Captures))
	}
	p.b.WriteString(" {\n")
	outer := p.indent
	p.indent += "  "
	for _, n := range f.Nodes {
		p.node(n)
	}
	fmt.Fprintf(&p.b, "%sreturn %s\n", p.indent, p.uses(f.Results))
	p.indent = outer
	fmt.Fprintf(&p.b, "%s}\n", p.indent)
}

func (p *printer) node(n *Node) {
	if n.Op == compute.OpTypeParameter || n.Op == compute.OpTypeCapturedValue {
		return
	}
	out := p.define(n.Outputs)
	fmt.Fprintf(&p.b, "%s%s = %s(%s)%s", p.indent, out, n.Op, p.uses(n.Inputs), attrText(n))
	if n.Op == compute.OpTypeCall {
		fmt.Fprintf(&p.b, " %s", n.Funcs[0].Name)
	}
	p.b.WriteString("\n")
	if n.Op == compute.OpTypeCall {
		return
	}
	outer := p.indent
	p.indent += "  "
	for _, c := range n.Funcs {
		p.fn(c, "")
	}
	p.indent = outer
}

func (p *printer) define(vs []*Value) string {
	parts := make([]string, len(vs))
	for i, v := range vs {
		p.names[v] = fmt.Sprintf("%%%d", len(p.names))
		parts[i] = p.names[v] + " " + ShapeText(v)
	}
	return strings.Join(parts, ", ")
}

func (p *printer) uses(vs []*Value) string {
	parts := make([]string, len(vs))
	for i, v := range vs {
		parts[i] = p.names[v]
		if parts[i] == "" {
			parts[i] = "%undefined"
		}
	}
	return strings.Join(parts, ", ")
}

var shortNames = map[dtypes.DType]string{
	dtypes.Float32: "f32", dtypes.Float64: "f64", dtypes.Float16: "f16", dtypes.BFloat16: "bf16",
	dtypes.Int8: "i8", dtypes.Int16: "i16", dtypes.Int32: "i32", dtypes.Int64: "i64",
	dtypes.Uint8: "u8", dtypes.Uint16: "u16", dtypes.Uint32: "u32", dtypes.Uint64: "u64", dtypes.Bool: "bool",
}

// ShapeText returns the short form of a value's shape: f32[4 64].
func ShapeText(v *Value) string {
	name := shortNames[v.DType()]
	if name == "" {
		name = v.DType().String()
	}
	return name + strings.ReplaceAll(fmt.Sprint(v.Shape.Dimensions), "[]", "")
}

func attrText(n *Node) string {
	switch a := n.Attr.(type) {
	case nil:
		return ""
	case Literal:
		return " " + literalText(n.Outputs[0], a)
	case Axes:
		return fmt.Sprintf(" %v", a.Axes)
	case Axis:
		return fmt.Sprintf(" axis %d", a.Axis)
	default:
		return fmt.Sprintf(" %+v", a)
	}
}

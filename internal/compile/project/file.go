package project

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/analyze"
	"github.com/weft-rl/weft/internal/compile/tree"
	"github.com/weft-rl/weft/plan"
)

// header is the first line of every generated file.
const header = analyze.Header + "\n\n"

const module = "github.com/weft-rl/weft/"

// The packages that every program uses.
func (l *loop) edgePackage() string { return l.using("edge") }
func (l *loop) planPackage() string { return l.using("plan") }
func (l *loop) rlPackage() string   { return l.using("rl") }

func (l *loop) using(name string) string {
	return l.importName(types.NewPackage(module+name, name))
}

// trainerType returns the type of a program's first parameter: a pointer to the
// trainer.
func (l *loop) trainerType() types.Type {
	if _, ok := l.src.Trainer.Underlying().(*types.Pointer); ok {
		return l.src.Trainer
	}
	return types.NewPointer(l.src.Trainer)
}

// file returns the source of all programs of a grouping.
func (f *flow) file(gr plan.Grouping) ([]byte, error) {
	f.reserve()
	return f.written(gr, f.edges(gr.Name), (*emitter).program)
}

// reserve keeps the names of the packages that every program uses from being given
// to anything else.
func (f *flow) reserve() {
	for _, p := range []string{f.edgePackage(), f.planPackage(), f.rlPackage()} {
		f.used[p] = true
	}
}

// written returns the source of all programs, each of which program makes from its
// group's emitter.
func (f *flow) written(gr plan.Grouping, rows []*edgeRow, program func(*emitter) ([]*line, error)) ([]byte, error) {
	var programs bytes.Buffer
	var names []string
	for i, group := range gr.Groups {
		name := f.unused("train" + title(gr.Name) + title(group.Name))
		names = append(names, name)
		m := newEmitter(f, i, rows)
		lines, err := program(m)
		if err != nil {
			return nil, err
		}
		lines, graphs := m.spans(name, gr.Name+"/"+group.Name, lines)
		fmt.Fprintf(&programs, "\n%s%s%s", f.doc(name, group), m.function(name, []*variable{m.x}, []string{"error"}, lines), graphs)
	}
	var b bytes.Buffer
	f.constants(&b, gr, rows)
	f.table(&b, gr, rows, names)
	b.Write(programs.Bytes())
	return assemble(f.src.Pkg.Name(), b.Bytes(), f.imports)
}

func title(s string) string {
	first, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[n:]
}

// unused reserves a name that means nothing in the package yet.
func (l *loop) unused(name string) string {
	id := name
	for n := 2; l.src.Pkg.Scope().Lookup(id) != nil || l.used[id]; n++ {
		id = fmt.Sprint(name, n)
	}
	l.used[id] = true
	return id
}

// doc says what a program is for.
func (f *flow) doc(name string, group plan.Group) string {
	text := fmt.Sprintf("%s is %s (%s) for the fragments %s", name, f.g.Train, f.g.Pos, and(group.Fragments))
	if len(group.Fragments) == 1 {
		text = strings.Replace(text, "fragments", "fragment", 1)
	}
	if group.Over != fdg.None && group.Over != "" {
		text += fmt.Sprintf(", replicated over %s", group.Over)
	}
	return wrap(text + ".")
}

func and(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

// wrap breaks a comment into lines.
func wrap(text string) string {
	var b strings.Builder
	line := "//"
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > 80 {
			b.WriteString(line + "\n")
			line = "//"
		}
		line += " " + word
	}
	return b.String() + line + "\n"
}

func (f *flow) constants(b *bytes.Buffer, gr plan.Grouping, rows []*edgeRow) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "// The edges of grouping %s.\nconst (\n", gr.Name)
	for i, r := range rows {
		iota := ""
		if i == 0 {
			iota = " = iota"
		}
		fmt.Fprintf(b, "%s%s\n", r.ident, iota)
	}
	b.WriteString(")\n\n")
}

// tableName returns the variable that holds a grouping.
func tableName(grouping string) string { return "gen" + title(grouping) }

func (f *flow) table(b *bytes.Buffer, gr plan.Grouping, rows []*edgeRow, programs []string) {
	edge, plan := f.edgePackage(), f.planPackage()
	fmt.Fprintf(b, "var %s = %s.Grouping{\nGrouping: %s.Grouping{Name: %q, Groups: []%s.Group{\n", tableName(gr.Name), edge, plan, gr.Name, plan)
	for _, g := range gr.Groups {
		g.Over = cmp.Or(g.Over, fdg.None)
		fmt.Fprintf(b, "%s,\n", strings.TrimPrefix(fmt.Sprintf("%#v", g), "plan.Group"))
	}
	fmt.Fprintf(b, "}},\nPrograms: []%s.Main{", edge)
	for i, p := range programs {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, "%s.Of(%s)", edge, p)
	}
	fmt.Fprintf(b, "},\n")
	if len(rows) > 0 {
		fmt.Fprintf(b, "Edges: []%s.Edge{\n", plan)
		for _, r := range rows {
			fmt.Fprintf(b, "%s: {Name: %q, Operator: %q, From: %q, To: %q, Type: %q, Axis: %q, Often: %q, Node: %d, Pos: %q",
				r.ident, r.Name, r.Operator, r.From, r.To, r.Type, r.Axis, r.Often, r.Node, r.Pos)
			if r.Given {
				b.WriteString(", Given: true")
			}
			if r.Log {
				b.WriteString(", Log: true")
			}
			if r.Batched {
				b.WriteString(", Batched: true")
			}
			if r.Under > 0 {
				fmt.Fprintf(b, ", Under: %d", r.Under)
			}
			if r.Lasting {
				b.WriteString(", Lasting: true")
			}
			b.WriteString("},\n")
		}
		b.WriteString("},\n")
	}
	f.memberFunc(b)
	b.WriteString("}\n")
}

// assemble puts a file together, with those imports that it uses.
func assemble(pkg string, body []byte, imports map[string]string) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "package %s\n\n", pkg)
	used := map[string]bool{}
	parsed, err := parser.ParseFile(token.NewFileSet(), "", append([]byte("package x\n"), body...), parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("generated code: %w\n%s", err, body)
	}
	for sel := range tree.Nodes[*ast.SelectorExpr](parsed) {
		if id, ok := sel.X.(*ast.Ident); ok {
			used[id.Name] = true
		}
	}
	b.WriteString("import (\n")
	for _, group := range []bool{false, true} {
		for _, p := range slices.Sorted(maps.Keys(imports)) {
			name := imports[p]
			if used[name] && strings.Contains(strings.SplitN(p, "/", 2)[0], ".") == group {
				if name == path.Base(p) {
					name = ""
				}
				fmt.Fprintf(&b, "%s %q\n", name, p)
			}
		}
		b.WriteString("\n")
	}
	b.WriteString(")\n\n")
	b.Write(body)
	out, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("generated code: %w\n%s", err, b.Bytes())
	}
	return append([]byte(header), out...), nil
}

// registryFile holds the graph, and registers it with all programs.
const registryFile = "gen_weft.go"

// oldGraphFile held the graph in packages that older versions generated programs for.
const oldGraphFile = "gen_weft.json"

// registry adds the file with the graph that registers all programs.
func (r *Result) registry(src *analyze.Source, made []string) error {
	graph, err := r.Graph.Pack(src.Starts())
	if err != nil {
		return err
	}
	l := newLoop(src, r.Graph, plan.Grouping{}, &findings{})
	pkg := l.edgePackage()
	var b bytes.Buffer
	_, whole := r.Files[edge.LoweredFile]
	if whole {
		fmt.Fprintf(&b, "//go:embed %s\nvar genText []byte\n\n", edge.LoweredFile)
	}
	fmt.Fprintf(&b, "func init() {\n%s.Register[%s](%s.Set{Graph: genGraph, Groupings: []%s.Grouping{", pkg, l.typeName(l.trainerType()), pkg, pkg)
	for i, name := range made {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(tableName(name))
	}
	b.WriteString("}")
	if whole {
		fmt.Fprintf(&b, ", Lowered: %s.Iteration(%s), Text: genText", pkg, l.unused(deviceFunc))
	}
	fmt.Fprintf(&b, "})\n}\n\n// genGraph is the loop's graph. Places are relative to the functions that begin at starts.\nconst genGraph = `%s`\n", graph)
	text, err := assemble(src.Pkg.Name(), b.Bytes(), l.imports)
	if err != nil {
		return err
	}
	if whole {
		text = bytes.Replace(text, []byte("import (\n"), []byte("import (\n\t_ \"embed\" // of the device program's text\n\n"), 1)
	}
	r.Files[registryFile], err = format.Source(text)
	return err
}

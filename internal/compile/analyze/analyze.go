package analyze

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"
	"golang.org/x/tools/go/packages"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/tree"
	"github.com/weft-rl/weft/internal/compile/vocabulary"
)

// Result holds the findings and graphs of one package.
type Result struct {
	Package  string
	Graph    *fdg.Graph // nil if there are findings that are no notes, or no loop
	Findings []Finding
}

// Analyze reads the packages that patterns name, as the go command would from
// dir. A package that cannot be loaded or type-checked is an error; everything
// else is a finding.
func Analyze(ctx context.Context, dir string, patterns ...string) (out []Result, err error) {
	err = eachRoot(ctx, dir, nil, patterns, func(r *packages.Package, others []*unit) {
		graph, found := examine(r.Fset, unitOf(r), others)
		out = append(out, Result{r.PkgPath, graph, found})
	})
	return out, err
}

// eachRoot loads packages, and calls f with each and with those that it builds on
// and that can be read.
func eachRoot(ctx context.Context, dir string, files map[string][]byte, patterns []string, f func(*packages.Package, []*unit)) error {
	roots, all, err := load(ctx, dir, files, patterns)
	for _, r := range roots {
		var others []*unit
		for p := range below(r.Types) {
			for _, u := range all {
				if u.Types == p {
					others = append(others, unitOf(u))
				}
			}
		}
		f(r, others)
	}
	return err
}

func unitOf(p *packages.Package) *unit {
	return &unit{pkg: p.Types, info: p.TypesInfo, files: p.Syntax}
}

// examine analyses one package.
func examine(fset *token.FileSet, main *unit, others []*unit) (*fdg.Graph, []Finding) {
	_, g, found := explore(fset, main, others, false)
	return g, found
}

// explore returns examine that gives the interpreter as well, and if asked to with
// what was known at every point.
func explore(fset *token.FileSet, main *unit, others []*unit, points bool) (*interp, *fdg.Graph, []Finding) {
	out := &findings{fset: fset}
	if _, ok := inVocabulary(main.pkg); ok {
		return nil, nil, nil // its directives are about words
	}
	main.marks = readMarks(main, out)
	for _, u := range others {
		u.marks = readMarks(u, &findings{fset: fset}) // reported where they are a root
	}
	if len(main.marks.train) == 0 {
		return nil, nil, out.sorted()
	}
	d := main.marks.train[0]
	words, err := vocabularyOf(fset, main.pkg)
	if err != nil {
		out.add(Finding{at: d.Pos(), Code: "word", Message: err.Error()})
		return nil, nil, out.sorted()
	}
	x := newInterp(newProgram(fset, main, others, words), out)
	if points {
		x.states = map[point]*state{}
	}
	x.train(d)
	g := x.finish(d)
	if out.errors() {
		g = nil
	}
	return x, g, out.sorted()
}

// train reads the constructor, then the loop.
func (x *interp) train(d *ast.FuncDecl) {
	fn, _ := x.p.main.info.Defs[d.Name].(*types.Func)
	x.phase = training
	args := make([]*value, fn.Signature().Params().Len())
	holder, at := types.Type(nil), -1
	if recv := fn.Signature().Recv(); recv != nil {
		holder = recv.Type()
	}
	found := false
	for i := range args {
		switch t := fn.Signature().Params().At(i).Type(); {
		case x.p.typ(t).Run:
			args[i], found = ofObjects(&object{id: -1, kind: runObject}), true
		case holder == nil:
			holder, at = t, i
		}
	}
	if !found || d.Body == nil || holder == nil {
		x.bad(d.Pos(), refusal{"directive", "//weft:train stands above a function that takes no *rl.Run and no trainer", "mark the method Train(run *rl.Run) error of the trainer"})
		return
	}
	trainer := x.trainer(d, holder)
	if x.phase = training; trainer == nil {
		return
	}
	x.self = ofObjects(trainer)
	if at >= 0 {
		args[at] = x.self
	}
	x.st = newState()
	p := tree.Build(x.config(false), fn, x.instance(fn, x.self))
	x.t = p
	if !x.out.errors() && !x.check(p, x.isOperation) {
		return
	}
	for l := range tree.Each[*tree.Loop](p.Body) {
		x.iterates = x.iterates || l.Next
	}
	for before := len(x.out.list); ; x.out.list = x.out.list[:before] {
		x.b, x.st, x.environment = newBuilder(x.p.fset), newState(), nil
		if x.run(p, x.self, args); !x.b.backwards() || len(x.b.keys) == len(x.late) {
			break
		}
		x.late = x.b.keys
	}
	if x.t = p; !x.iterates {
		x.bad(d.Pos(), refusal{"next", "the training function has no loop over run.Next, so there is no point at which the run could be saved or stopped", "write for run.Next() { ... }"})
	}
}

// backwards reports whether an edge goes back without a loop around: a round of a
// loop showed that something depends on an operation which seemed a constant in the
// round before. The loop is read again with that knowledge, so that nodes have the
// order of their statements.
func (b *builder) backwards() bool {
	for _, e := range b.edges {
		if e.From >= e.To && e.Carried < 0 {
			return true
		}
	}
	return false
}

// check verifies a tree, and reports a fault of the compiler as one.
func (x *interp) check(p *tree.Program, operation func(*ast.CallExpr, *types.Func) bool) bool {
	err := p.Check(operation)
	if err != nil {
		x.report(p.Decl.Pos(), refusal{"statement", fmt.Sprintf("%s was misread, which is a fault of the compiler: %v", p.Fn.Name(), err), "report it, with the function"})
	}
	return err == nil
}

// isOperation reports whether a call of a function has a home.
func (x *interp) isOperation(call *ast.CallExpr, fn *types.Func) bool {
	w, _ := x.p.word(fn)
	m := x.p.mark(fn)
	return w.Use == vocabulary.Operation || m["op"] != "" || m["rows"] != ""
}

// trainer returns what the constructor makes, or nil.
func (x *interp) trainer(d *ast.FuncDecl, holder types.Type) *object {
	made := x.constructors(holder)
	if len(made) == 0 {
		x.bad(d.Pos(), refusal{"constructor", "no function of the package makes the trainer, so what its fields hold is not known", "write a constructor and give it to algo.Define"})
		return nil
	}
	var out []*object
	for _, c := range made {
		out = union(out, x.construct(c, holder), compareObjects)
	}
	x.phase = training
	switch len(out) {
	case 0:
		x.bad(d.Pos(), refusal{"constructor", "what the constructor returns cannot be followed to a trainer of this type", "return the trainer as a composite literal, &Trainer{...}, or a variable that holds it"})
		return nil
	case 1:
		return out[0]
	}
	x.bad(d.Pos(), refusal{"constructor", "the package makes its trainer in several places", "make it in one, and give that function to algo.Define"})
	return nil
}

// finish gives nodes to fragments and checks what can only be seen then.
func (x *interp) finish(d *ast.FuncDecl) *fdg.Graph {
	g := &fdg.Graph{
		Version: fdg.Version, Name: x.p.main.pkg.Path(), Train: funcName(d), Pos: x.b.pos(d.Pos()),
		Regions: x.b.regions, Nodes: x.b.nodes, Resources: x.b.resources,
	}
	for _, e := range x.b.edges {
		g.Edges = append(g.Edges, e)
	}
	g.SortEdges()
	p := &partition{x: x, g: g, b: x.b}
	x.parts = p
	p.run()
	return g
}

// funcName returns a function as Go writes it in a stack.
func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	return "(" + types.ExprString(d.Recv.List[0].Type) + ")." + d.Name.Name
}

// Errors returns the findings that stop a loop from being accepted.
func (r Result) Errors() []Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return f.Note })
}

// Analyzer is the same analysis for go vet and editors. Notes are left out: they
// are no reason to change anything.
var Analyzer = &analysis.Analyzer{
	Name: "weft",
	Doc: "report what Weft cannot read in a training loop\n\n" +
		"A function marked //weft:train is read as weft check reads it: operations, loops,\n" +
		"dependences, fragments. Whatever would not mean the same when the loop is taken\n" +
		"apart is reported, with what to write instead.",
	URL: "https://" + module + "/blob/main/docs/fdg.md",
	Run: vet,
}

// Vet runs the analyser as a program for go vet -vettool.
func Vet() { unitchecker.Main(Analyzer) }

func vet(pass *analysis.Pass) (any, error) {
	found, err := vetted(pass)
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		if f.Note {
			continue
		}
		at := locate(pass.Fset, pass.Files, f.Pos)
		if !at.IsValid() {
			continue // in a package that is read through, and vetted by itself
		}
		pass.Report(analysis.Diagnostic{Pos: at, Category: f.Code, Message: f.text()})
	}
	return nil, nil
}

// vetted examines a pass's package. One that is built on another author's package
// is loaded again, since a pass has the source of its own package alone.
func vetted(pass *analysis.Pass) ([]Finding, error) {
	main := &unit{pkg: pass.Pkg, info: pass.TypesInfo, files: pass.Files}
	if len(readable(pass.Pkg)) == 0 || len(readMarks(main, &findings{fset: pass.Fset}).train) == 0 {
		_, found := examine(pass.Fset, main, nil)
		return found, nil
	}
	dir := filepath.Dir(pass.Fset.Position(pass.Files[0].Pos()).Filename)
	results, err := Analyze(context.Background(), dir, ".")
	if err != nil || len(results) != 1 {
		return nil, err
	}
	return results[0].Findings, nil
}

// locate finds a position again in a pass's own files.
func locate(fset *token.FileSet, files []*ast.File, p token.Position) token.Pos {
	for _, f := range files {
		if file := fset.File(f.Pos()); file != nil && file.Name() == p.Filename && p.Line <= file.LineCount() {
			return file.LineStart(p.Line) + token.Pos(p.Column-1)
		}
	}
	return token.NoPos
}

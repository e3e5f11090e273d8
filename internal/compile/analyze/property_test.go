package analyze

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/weft-rl/weft/fdg"
)

// author is a fixture that can be analysed again with other files.
type author struct{ *Frame }

// frames are all fixtures, which are loaded once for all tests: the go command takes
// longer over that than most of the tests do.
var frames = sync.OnceValues(func() ([]*Frame, error) { return loaded(everything()...) })

func loaded(dirs ...string) ([]*Frame, error) {
	var patterns []string
	for _, d := range dirs {
		patterns = append(patterns, "./"+d)
	}
	return Frames(context.Background(), ".", patterns...)
}

// open returns fixtures to be analysed again, by their folders. They are shared, so that
// nothing of them may be changed.
func open(t testing.TB, dirs ...string) (out []*author) {
	t.Helper()
	all, err := frames()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		path, err := filepath.Abs(d)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(all, func(f *Frame) bool { return filepath.Dir(f.pkg.GoFiles[0]) == path })
		if i < 0 {
			t.Fatalf("%s is no fixture", d)
		}
		out = append(out, &author{all[i]})
	}
	return out
}

func (a *author) name() string { return label(a.pkg.PkgPath) }

// graph returns that of the package with other files; with none, its own.
func (a *author) graph(t testing.TB, files map[string][]byte) *fdg.Graph {
	t.Helper()
	u := unitOf(a.pkg)
	if files != nil {
		var err error
		if u, _, err = a.check(files); err != nil {
			t.Fatal(err)
		}
	}
	g, found := examine(a.pkg.Fset, u, a.others)
	for _, f := range found {
		if !f.Note {
			t.Error(f)
		}
	}
	if g == nil {
		t.FailNow()
	}
	if err := g.Check(); err != nil {
		t.Error(err)
	}
	return g
}

// files returns the sources of the package.
func (a *author) files(t testing.TB) map[string][]byte {
	out := map[string][]byte{}
	for _, name := range a.pkg.CompiledGoFiles {
		if strings.HasPrefix(filepath.Base(name), "gen_") { // as the analyser has it
			out[name] = []byte("package " + a.pkg.Name)
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !Generated(src) {
			out[name] = src
		}
	}
	return out
}

// sameShape compares graphs up to names and positions.
func sameShape(t *testing.T, a, b *fdg.Graph) {
	t.Helper()
	if a, b := a.Shape(), b.Shape(); !reflect.DeepEqual(a, b) {
		t.Errorf("the graph changed:\n%s\n%s", a, b)
	}
}

// TestBlank: comments and blank lines between statements change nothing.
func TestBlank(t *testing.T) {
	for _, a := range open(t, accepted()...) {
		files := a.files(t)
		for name, src := range files {
			files[name] = spread(t, src)
		}
		t.Run(a.name(), func(t *testing.T) { sameShape(t, a.graph(t, nil), a.graph(t, files)) })
	}
}

// spread puts a blank line and a comment above every statement of a function.
func spread(t *testing.T, src []byte) []byte {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	at := map[int]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if b, ok := n.(*ast.BlockStmt); ok {
			for _, s := range b.List {
				at[fset.Position(s.Pos()).Line] = true
			}
		}
		return true
	})
	var out bytes.Buffer
	directive := false // it must stay right above its statement
	for i, line := range strings.SplitAfter(string(src), "\n") {
		if at[i+1] && !strings.Contains(line, "{ ") && !directive {
			out.WriteString("\n// a remark\n")
		}
		directive = strings.HasPrefix(strings.TrimSpace(line), "//weft:")
		out.WriteString(line)
	}
	return out.Bytes()
}

// TestRename: other names for everything that an author declares change nothing.
func TestRename(t *testing.T) {
	mine, err := loaded(accepted()...) // which it changes
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range mine {
		a := &author{f}
		want := a.graph(t, nil)
		t.Run(a.name(), func(t *testing.T) { sameShape(t, want, a.graph(t, renamed(t, a.pkg))) })
	}
}

// renamed gives every object of a package another name, so that even their order
// by name is turned round. What an interface of the vocabulary asks for, and what
// embedding names, stays.
func renamed(t *testing.T, p *packages.Package) map[string][]byte {
	names := map[types.Object]string{}
	for _, id := range slices.SortedFunc(maps.Keys(p.TypesInfo.Defs), func(a, b *ast.Ident) int { return int(b.Pos() - a.Pos()) }) {
		if o := p.TypesInfo.Defs[id]; renames(p, o) {
			names[o] = fmt.Sprintf("N%04d", len(names))
			if !o.Exported() {
				names[o] = fmt.Sprintf("n%04d", len(names))
			}
		}
	}
	rename := func(id *ast.Ident, o types.Object) {
		if v, ok := o.(*types.Var); ok {
			o = v.Origin()
		}
		if f, ok := o.(*types.Func); ok {
			o = f.Origin()
		}
		if name, ok := names[o]; ok {
			id.Name = name
		}
	}
	for id, o := range p.TypesInfo.Defs {
		rename(id, o)
	}
	for id, o := range p.TypesInfo.Uses {
		rename(id, o)
	}
	out := map[string][]byte{}
	for i, f := range p.Syntax {
		var b bytes.Buffer
		if err := format.Node(&b, p.Fset, f); err != nil {
			t.Fatal(err)
		}
		out[p.CompiledGoFiles[i]] = b.Bytes()
	}
	if len(names) < 5 {
		t.Fatalf("only %d names were changed", len(names))
	}
	return out
}

// renames reports whether an object may have another name without changing the
// program.
func renames(p *packages.Package, o types.Object) bool {
	if o == nil || o.Pkg() != p.Types || o.Name() == "_" || o.Name() == "init" {
		return false
	}
	switch o := o.(type) {
	case *types.PkgName, *types.Label:
		return false
	case *types.Var:
		return !o.Embedded()
	case *types.Func:
		return o.Signature().Recv() == nil
	case *types.TypeName:
		return !embedded(p, o)
	}
	return true
}

// embedded reports whether a type names a field by being embedded, or is one of a
// function's type parameters, which shadow nothing.
func embedded(p *packages.Package, o *types.TypeName) bool {
	for _, d := range p.TypesInfo.Defs {
		v, ok := d.(*types.Var)
		if !ok || !v.Embedded() {
			continue
		}
		if n := namedOf(v.Type()); n != nil && n.Obj() == o {
			return true
		}
	}
	return false
}

// TestExtract: moving statements with operations into a function of their own
// changes nothing.
func TestExtract(t *testing.T) {
	for _, c := range []struct{ loop, old, now, helper string }{
		{"every",
			"t.opt.Apply(g, 1e-3)\n", "t.apply(g)\n",
			"func (t *Trainer) apply(g rl.Grads) { t.opt.Apply(g, 1e-3) }"},
		{"nested",
			"act := t.act.Call(run.Key(\"act\", r, i), obs)\n\t\t\t\tout := t.Env.Step(act.Action)\n", "act, out := t.both(run.Key(\"act\", r, i), obs)\n",
			"func (t *Trainer) both(k rl.Key, o rl.Obs) (kit.Act, rl.Step) {\n\ta := t.act.Call(k, o)\n\treturn a, t.Env.Step(a.Action)\n}"},
		{"dqn",
			"out := t.Env.Step(act.Action)\n", "out := step(t.Env, act)\n",
			"func step(e env.Batch, a kit.Act) rl.Step { return e.Step(a.Action) }"},
		{"delayed",
			"s := kit.Sample{Obs: b.Obs, Action: b.Act.Action, Adv: b.Reward, Ret: t.target.Call(rl.Key{}, b.Obs)}\n", "s := t.sample(b)\n",
			"func (t *Trainer) sample(b kit.Step) (s kit.Sample) {\n\ts.Obs, s.Action, s.Adv = b.Obs, b.Act.Action, b.Reward\n\ts.Ret = t.target.Call(rl.Key{}, s.Obs)\n\treturn s\n}"},
		{"helpers",
			"sum += run.Value(rl.Mean(loss))\n", "sum = add(sum, run.Value(rl.Mean(loss)))\n",
			"func add(a, b float64) float64 { return a + b }"},
	} {
		a := open(t, filepath.Join("testdata/src/loops", c.loop))[0]
		files := a.files(t)
		for name, src := range files {
			if !bytes.Contains(src, []byte(c.old)) {
				t.Fatalf("%s has no %q", name, c.old)
			}
			files[name] = append(bytes.Replace(src, []byte(c.old), []byte(c.now), 1), "\n"+c.helper+"\n"...)
		}
		t.Run(c.loop, func(t *testing.T) { sameShape(t, a.graph(t, nil), a.graph(t, files)) })
	}
}

// TestReorder: statements that do not depend on each other may change places; the
// same nodes then have the same dependences.
func TestReorder(t *testing.T) {
	for _, c := range []struct{ loop, first, second string }{
		{"delayed", "\tt.qOpt.Apply(g, t.Rate)\n", "\trun.Log(\"q\", q)\n"},
		{"every", "\t\t\tt.opt.Apply(g, 1e-3)\n", "\t\t\trun.Log(\"loss\", loss)\n"},
		{"dqn", "\t\tt.Replay.Prioritise(td)\n", "\t\trun.Log(\"td\", td)\n"},
		{"recurrent", "\t\tt.Memory.Set(mem)\n", "\t\tb := t.Steps.Drain()\n"},
	} {
		a := open(t, filepath.Join("testdata/src/loops", c.loop))[0]
		files := a.files(t)
		for name, src := range files {
			now := bytes.Replace(src, []byte(c.first+c.second), []byte(c.second+c.first), 1)
			if bytes.Equal(now, src) {
				t.Fatalf("%s has no %q", name, c.first+c.second)
			}
			files[name] = now
		}
		t.Run(c.loop, func(t *testing.T) {
			if was, now := dependences(a.graph(t, nil)), dependences(a.graph(t, files)); !slices.Equal(was, now) {
				t.Errorf("dependences were\n%s\nand are\n%s", strings.Join(was, "\n"), strings.Join(now, "\n"))
			}
		})
	}
}

// dependences returns a graph's edges in words, whatever the order of its nodes.
func dependences(g *fdg.Graph) (out []string) {
	text := func(n int) string {
		if n < 0 {
			return ""
		}
		return g.Nodes[n].Fragment + " " + g.Nodes[n].Text
	}
	for _, e := range g.Edges {
		out = append(out, fmt.Sprintf("%s %s.%s -> %s.%s round %s: %s %s %s", e.Kind, text(e.From), e.Part, text(e.To), e.Into, text(e.Carried), e.Type, e.Axis, g.Often(e.Freq)))
	}
	slices.Sort(out)
	return out
}

package project

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// program is a loop with what was generated from it, to be built under a name.
type program struct {
	name  string
	files map[string][]byte // Go files
	made  []string          // groupings
	graph string
	steer bool // let runs invert conditions
}

// job tells testdata/src/metamorph how to run a loop.
type job struct {
	Loop, Grouping, Env string
	Envs, Shards        int
	Workers             []int
	Fuse                bool
	Members             int
	Delay               uint64
	Procs               int
	Reference           int64
	Patience            int
	Iterations          int
	Seed                uint64
	Turned              []uint64
}

// perPackage is how many loops are put into one package, so that what they use is
// not compiled for each.
const perPackage = 25

// batch is programs that are built together.
type batch struct {
	t       testing.TB
	dir     string
	replace map[string]string
	graphs  map[string]string
	binary  string
}

const runner = "testdata/src/metamorph"

// built compiles programs into one command.
func built(t testing.TB, programs []program) *batch {
	b := &batch{t: t, dir: t.TempDir(), replace: map[string]string{}, graphs: map[string]string{}}
	var all bytes.Buffer
	all.WriteString("package main\n\nimport (\n")
	for n, list := range slices.Collect(slices.Chunk(programs, perPackage)) {
		name := fmt.Sprint("pack", n)
		fmt.Fprintf(&all, "_ %q\n", module+"internal/compile/project/"+runner+"/"+name)
		b.pack(name, list)
	}
	all.WriteString(")\n")
	b.put(filepath.Join(runner, "all.go"), all.Bytes())
	overlay := filepath.Join(b.dir, "overlay.json")
	b.write(overlay, map[string]any{"Replace": b.replace})
	b.binary = filepath.Join(b.dir, "metamorph")
	cmd := exec.Command("go", "build", "-tags", "weftscribble", "-overlay", overlay, "-ldflags", "-s -w", "-o", b.binary, "./"+runner)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return b
}

// pack puts programs side by side into a package.
func (b *batch) pack(name string, list []program) {
	var adds bytes.Buffer
	fmt.Fprintf(&adds, "package %s\n\nimport %q\n\nfunc init() {\n", name, module+"internal/compile/project/"+runner+"/registry")
	for _, p := range list {
		b.graphs[p.name] = p.graph
		names := declaredNames(b.t, p.files)
		for file, text := range p.files {
			if p.steer {
				text = steered(b.t, text, p.files["_.go"])
			}
			b.put(filepath.Join(runner, name, p.name+file), prefixed(b.t, text, name, p.name, names))
		}
		fmt.Fprintf(&adds, "registry.Add(%q, %sNew", p.name, p.name)
		for _, g := range p.made {
			fmt.Fprintf(&adds, ", %s%s", p.name, tableName(g))
		}
		adds.WriteString(")\n")
	}
	adds.WriteString("}\n")
	b.put(filepath.Join(runner, name, "add.go"), adds.Bytes())
}

func (b *batch) put(name string, text []byte) {
	at, err := filepath.Abs(name)
	if err != nil {
		b.t.Fatal(err)
	}
	file := filepath.Join(b.dir, fmt.Sprintf("%d.go", len(b.replace)))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.replace[at] = file
}

func (b *batch) write(file string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// run carries jobs out, in order. What comes after one that ended the command has
// no outcome of its own.
func (b *batch) run(jobs []job) (out []outcome) {
	file := filepath.Join(b.dir, "jobs.json")
	b.write(file, map[string]any{"Jobs": jobs, "Graphs": b.graphs})
	var got, problems bytes.Buffer
	cmd := exec.Command(b.binary, file)
	cmd.Stdout, cmd.Stderr = &got, &problems
	err := cmd.Run()
	for lines := bufio.NewReader(&got); ; {
		line, end := lines.ReadBytes('\n')
		if end != nil {
			break
		}
		var o outcome
		if err := json.Unmarshal(line, &o); err != nil {
			b.t.Fatal(err)
		}
		out = append(out, o)
	}
	if err == nil {
		return out
	}
	failed := outcome{Err: fmt.Sprintf("%v\n%s", err, &problems)}
	if out = append(out, failed); len(out) < len(jobs) {
		out = append(out, b.run(jobs[len(out):])...)
	}
	return out
}

// declaredNames returns what files declare for their whole package.
func declaredNames(t testing.TB, files map[string][]byte) map[string]bool {
	names := map[string]bool{}
	for _, text := range files {
		for name := range parsed(t, token.NewFileSet(), text).Scope.Objects {
			names[name] = true
		}
	}
	return names
}

func parsed(t testing.TB, fset *token.FileSet, text []byte) *ast.File {
	f, err := parser.ParseFile(fset, "", text, 0)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return f
}

// prefixed returns a file of another package with a prefix before the names that its
// package declares.
func prefixed(t testing.TB, text []byte, pkg, prefix string, names map[string]bool) []byte {
	fset := token.NewFileSet()
	f := parsed(t, fset, text)
	var at []int
	mark := func(id *ast.Ident) { at = append(at, fset.Position(id.Pos()).Offset) }
	ast.Inspect(f, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Obj != nil && names[id.Name] && f.Scope.Lookup(id.Name) == id.Obj {
			mark(id)
		}
		return true
	})
	for _, id := range f.Unresolved {
		if names[id.Name] {
			mark(id)
		}
	}
	slices.Sort(at)
	var out strings.Builder
	last := 0
	for _, i := range slices.Compact(at) {
		out.Write(text[last:i])
		out.WriteString(prefix)
		last = i
	}
	out.Write(text[last:])
	return []byte(strings.Replace(out.String(), "\npackage random\n", "\npackage "+pkg+"\n", 1))
}

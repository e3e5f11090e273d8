package adversary

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
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weft-rl/weft/internal/compile/adversary/testdata/src/job"
)

// runner is the folder of the command that runs loops.
const runner = "testdata/src/runner"

// perPackage is the number of loops in one package, so that its imports are read
// once for all of them.
const perPackage = 25

// program is a loop with its generated files, to be built under a name.
type program struct {
	name  string
	files map[string][]byte
}

// binary is a command built from many programs.
type binary struct {
	t       testing.TB
	dir     string
	replace map[string]string
	path    string
}

// built compiles programs into one command.
func built(t testing.TB, programs []program) *binary {
	b := &binary{t: t, dir: t.TempDir(), replace: map[string]string{}}
	var all bytes.Buffer
	all.WriteString("package main\n\nimport (\n")
	for n, list := range slices.Collect(slices.Chunk(programs, perPackage)) {
		name := fmt.Sprint("pack", n)
		fmt.Fprintf(&all, "_ %q\n", module+"internal/compile/adversary/"+runner+"/"+name)
		b.pack(name, list)
	}
	all.WriteString(")\n")
	b.put(filepath.Join(runner, "all.go"), all.Bytes())
	overlay := filepath.Join(b.dir, "overlay.json")
	b.write(overlay, map[string]any{"Replace": b.replace})
	b.path = filepath.Join(b.dir, "runner")
	args := []string{"build", "-p", "2", "-tags", "weftscribble", "-overlay", overlay, "-ldflags", "-s -w", "-o", b.path}
	if *races {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "./"+runner)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return b
}

// pack puts programs side by side into one package.
func (b *binary) pack(name string, list []program) {
	var adds bytes.Buffer
	fmt.Fprintf(&adds, "package %s\n\nimport %q\n\nfunc init() {\n", name, module+"internal/compile/adversary/testdata/src/registry")
	for _, p := range list {
		names := declaredNames(b.t, p.files)
		for file, text := range p.files {
			if strings.HasSuffix(file, ".go") {
				b.put(filepath.Join(runner, name, p.name+"_"+file), prefixed(b.t, embedded(text, p.files), name, p.name, names))
			}
		}
		fmt.Fprintf(&adds, "registry.Add(%q, %sNew)\n", p.name, p.name)
	}
	adds.WriteString("}\n")
	b.put(filepath.Join(runner, name, "add.go"), adds.Bytes())
}

var embeds = regexp.MustCompile(`//go:embed (\S+)\nvar (\w+) \[\]byte`)

// embedded returns a file with literals in place of embedded files.
func embedded(text []byte, files map[string][]byte) []byte {
	return embeds.ReplaceAllFunc(text, func(m []byte) []byte {
		sub := embeds.FindSubmatch(m)
		content := ""
		if name := string(sub[1]); strings.HasSuffix(name, ".json") {
			content = string(files[name])
		}
		return fmt.Appendf(nil, "var %s = []byte(%q)", sub[2], content)
	})
}

// put gives the go command a file of some content.
func (b *binary) put(name string, text []byte) {
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

func (b *binary) write(file string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// run carries jobs out, in as many processes at a time as -processes says.
func (b *binary) run(jobs []job.Job) []job.Outcome {
	n := max(1, *processes)
	parts := make([][]job.Outcome, n)
	var all sync.WaitGroup
	for i := range n {
		lo, hi := len(jobs)*i/n, len(jobs)*(i+1)/n
		all.Go(func() { parts[i] = b.runSome(fmt.Sprintf("jobs%d.json", i), jobs[lo:hi]) })
	}
	all.Wait()
	return slices.Concat(parts...)
}

// runSome carries jobs out in order. A job that ends the command gets its last words
// as the error; the command is started again for the jobs behind it.
func (b *binary) runSome(name string, jobs []job.Job) (out []job.Outcome) {
	for len(out) < len(jobs) {
		file := filepath.Join(b.dir, name)
		b.write(file, jobs[len(out):])
		var got, problems bytes.Buffer
		cmd := exec.Command(b.path, file)
		cmd.Env = append(os.Environ(), "GORACE=halt_on_error=1")
		cmd.Stdout, cmd.Stderr = &got, &problems
		err := cmd.Run()
		for lines := bufio.NewReader(&got); ; {
			line, end := lines.ReadBytes('\n')
			if end != nil {
				break
			}
			var o job.Outcome
			if err := json.Unmarshal(line, &o); err != nil {
				o.Err = err.Error()
			}
			out = append(out, o)
		}
		if err != nil && len(out) < len(jobs) {
			out = append(out, job.Outcome{Err: lastWords(err, problems.String())})
		}
	}
	return out
}

// lastWords returns what a command that ended said first.
func lastWords(err error, text string) string {
	if len(text) > 3000 {
		text = text[:3000]
	}
	return fmt.Sprintf("%v: %s", err, text)
}

// declaredNames returns the names that files declare for their whole package.
func declaredNames(t testing.TB, files map[string][]byte) map[string]bool {
	names := map[string]bool{}
	for file, text := range files {
		if strings.HasSuffix(file, ".go") {
			for name := range parsed(t, token.NewFileSet(), text).Scope.Objects {
				names[name] = true
			}
		}
	}
	return names
}

func parsed(t testing.TB, fset *token.FileSet, text []byte) *ast.File {
	f, err := parser.ParseFile(fset, "", text, parser.ParseComments)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return f
}

// prefixed returns a file as one of package pkg, with a prefix before the names that
// its own package declares.
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
	name := fset.Position(f.Name.Pos()).Offset
	var out strings.Builder
	out.Write(text[:name])
	out.WriteString(pkg)
	last := name + len(f.Name.Name)
	slices.Sort(at)
	for _, i := range slices.Compact(at) {
		out.Write(text[last:i])
		out.WriteString(prefix)
		last = i
	}
	out.Write(text[last:])
	return []byte(out.String())
}

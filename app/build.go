package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"
)

// An author's package is named by its path. It becomes part of a binary that
// knows the built-in ones as well: a main package that exists only in a build
// overlay, inside the author's module, so that their dependencies are theirs.

// offered is a package named on the command line, with the variable it must
// declare.
type offered struct{ path, variable string }

// foreign are the packages that were named and are not part of this binary.
func (c *command) foreign(l layers) (out []offered) {
	add := func(name, variable string, known map[string]string) {
		path, _, _ := strings.Cut(name, "?")
		if _, ok := known[path]; ok || !isPath(path) {
			return
		}
		out = append(out, offered{path: path, variable: variable})
	}
	for _, a := range append(append(l.file[:len(l.file):len(l.file)], l.flags...), l.set...) {
		switch a.Key {
		case "algorithm":
			add(a.Value, "Algorithm", c.set.algorithmAt)
		case "env":
			add(a.Value, "Environment", c.set.environmentAt)
		}
	}
	return out
}

// isPath tells a path from a name, as the go command does.
func isPath(name string) bool {
	return name == "." || name == ".." || strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") || filepath.IsAbs(name)
}

// runBuilt builds a binary that knows the packages, and runs this very command
// with it.
func (c *command) runBuilt(ctx context.Context, packages []offered) error {
	tmp, err := os.MkdirTemp("", "weft-build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	bin, err := build(ctx, tmp, packages)
	if err != nil {
		return err
	}
	c.started = true
	// Not CommandContext: the child gets the same Ctrl-C from the terminal, and is
	// waited for while it saves.
	cmd := exec.Command(bin, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, c.out, c.err
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exitStatus(exit.ExitCode())
	}
	return err
}

// build makes the binary under tmp.
func build(ctx context.Context, tmp string, packages []offered) (string, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return "", errors.New("a package of your own is compiled with the go command, which was not found: install Go from go.dev")
	}
	var imports []imported
	var module string
	for i, p := range packages {
		x, root, err := inspect(ctx, p)
		if err != nil {
			return "", err
		}
		if module != "" && root != module {
			return "", fmt.Errorf("%s and %s are in different modules: put them into one", packages[0].path, p.path)
		}
		module = root
		x.Alias = fmt.Sprintf("p%d", i)
		imports = append(imports, x)
	}
	source := filepath.Join(tmp, "main.go")
	if err := writeMain(source, imports); err != nil {
		return "", err
	}
	folder := filepath.Join(module, "weft_overlay_main")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(folder, "main.go"): source}})
	if err != nil {
		return "", err
	}
	list := filepath.Join(tmp, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		return "", err
	}
	bin := filepath.Join(tmp, "weft")
	if _, err := goCommand(ctx, module, "build", "-overlay", list, "-o", bin, "./weft_overlay_main"); err != nil {
		return "", fmt.Errorf("building %s: %w", packages[0].path, err)
	}
	return bin, nil
}

// imported is a package of the generated main.
type imported struct{ Alias, Import, Path, Variable string }

// inspect finds a package's import path and its module's folder.
func inspect(ctx context.Context, p offered) (imported, string, error) {
	dir, err := filepath.Abs(p.path)
	if err != nil {
		return imported{}, "", err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return imported{}, "", fmt.Errorf("%s is no folder with a Go package", p.path)
	}
	out, err := goCommand(ctx, dir, "list", "-f", "{{.ImportPath}}\n{{.Name}}\n{{with .Module}}{{.Dir}}{{end}}", ".")
	if err != nil {
		return imported{}, "", fmt.Errorf("%s: %w", p.path, err)
	}
	parts := strings.Split(strings.TrimSpace(out), "\n")
	if len(parts) != 3 {
		return imported{}, "", fmt.Errorf("%s is in no module: run go mod init there, and go get github.com/weft-rl/weft", p.path)
	}
	if parts[1] == "main" {
		return imported{}, "", fmt.Errorf("%s is a main package: %s must be declared in one that can be imported", p.path, p.variable)
	}
	return imported{Import: parts[0], Path: p.path, Variable: p.variable}, parts[2], nil
}

func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, strings.TrimSpace(problems.String()))
	}
	return out.String(), nil
}

var mainTemplate = template.Must(template.New("main").Parse(`package main

import (
	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/app"
{{range .}}	{{.Alias}} "{{.Import}}"
{{end}})

func main() {
	set := weft.Builtin()
{{range .}}	set.At({{printf "%q" .Path}}, {{.Alias}}.{{.Variable}})
{{end}}	app.Main(set)
}
`))

func writeMain(path string, imports []imported) error {
	var b bytes.Buffer
	if err := mainTemplate.Execute(&b, imports); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o600)
}

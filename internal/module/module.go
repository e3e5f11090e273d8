package module

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Weft is the path of Weft's own module.
const Weft = "github.com/weft-rl/weft"

// Package is an author's package as the go command knows it.
type Package struct {
	Named
	Dir        string
	ImportPath string
	Name       string
	GoFiles    []string
	CgoFiles   []string
	Module     *home
	Error      *struct{ Err string }
	Offers     []string `json:"-"` // variables that it is imported for
	Full       string   `json:"-"` // full path of its folder, as it was named
}

// home is the module that a package is in.
type home struct{ Dir, GoMod string }

// Inspect finds authors' packages, and whether they offer what they must.
func Inspect(ctx context.Context, packages []Named) (all []*Package, err error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, errors.New("the go command, which compiles an author's package, was not found: install Go from go.dev")
	}
	var errs []error
	for _, p := range packages {
		x, err := p.inspect(ctx)
		all, errs = append(all, x), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if all[0].Module.Dir != all[len(all)-1].Module.Dir {
		return nil, fmt.Errorf("%s are in different modules: put them into one", Paths(packages))
	}
	return all, nil
}

func (p Named) inspect(ctx context.Context) (*Package, error) {
	if info, err := os.Stat(p.Path); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s: there is no such folder", p.Path)
	}
	mod, err := goCommand(ctx, p.Path, "env", "GOMOD")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Path, err)
	}
	if mod = strings.TrimSpace(mod); mod == "" || mod == os.DevNull {
		return nil, fmt.Errorf("%s is in no module: run go mod init there, and go get %s", p.Path, Weft)
	}
	full, err := filepath.Abs(p.Path)
	if err != nil {
		return nil, err
	}
	x := &Package{Named: p, Full: full}
	out, err := goCommand(ctx, p.Path, "list", "-e", "-json=Dir,ImportPath,Name,GoFiles,CgoFiles,Module,Error", ".")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Path, err)
	}
	if err := json.Unmarshal([]byte(out), x); err != nil {
		return nil, fmt.Errorf("%s: go list: %w", p.Path, err)
	}
	return x, x.check()
}

// check says what keeps the package from being imported.
func (x *Package) check() error {
	switch {
	case len(x.GoFiles)+len(x.CgoFiles) == 0:
		return fmt.Errorf("%s holds no Go package", x.Path)
	case x.Error != nil:
		return fmt.Errorf("%s: %s", x.Path, x.Error.Err)
	case x.Name == "main":
		return fmt.Errorf("%s is a main package: %s must be declared in one that can be imported", x.Path, x.Variable)
	}
	has := declared(x.Dir, append(x.GoFiles, x.CgoFiles...))
	switch {
	case x.Variable != "Policy":
		x.Offers = []string{x.Variable}
	case !has("Policy") && !has("Policies"):
		x.Offers = []string{"Policy"}
	}
	for _, name := range x.Offers {
		if !has(name) {
			return fmt.Errorf("%s declares no variable %s: declare it as var %s", x.Path, name, x.example())
		}
	}
	for _, name := range policyVariables {
		if has(name) && x.Variable != "Environment" {
			x.Offers = append(x.Offers, name)
		}
	}
	return nil
}

// policyVariables lists the names of variables by which a package may offer policies.
var policyVariables = []string{"Policy", "Policies"}

func (x *Package) example() string {
	return map[string]string{
		"Algorithm": "Algorithm = algo.Define(...)", "Environment": "Environment = env.Entry{...}", "Policy": "Policy = policy.Policy{...}",
	}[x.Variable]
}

// declared says which variables stand at the top of some files. Files that do not
// parse are the compiler's to complain about.
func declared(dir string, files []string) func(name string) bool {
	var names []string
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			return func(name string) bool { return !slices.Contains(policyVariables, name) }
		}
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
				for _, s := range g.Specs {
					for _, id := range s.(*ast.ValueSpec).Names {
						names = append(names, id.Name)
					}
				}
			}
		}
	}
	return func(name string) bool { return slices.Contains(names, name) }
}

// moduleFlags let the author's module build the whole of Weft, of which it may
// require only the part that it imports: with a copy of its go.mod, to which
// Weft's requirements are added, and of its go.sum together with Weft's. The
// author's own files are left alone. In a workspace, the workspace decides.
func moduleFlags(ctx context.Context, tmp string, m *home) ([]string, error) {
	work, err := goCommand(ctx, m.Dir, "env", "GOWORK")
	if err != nil {
		return nil, err
	}
	if work = strings.TrimSpace(work); work != "" && work != "off" {
		return nil, nil
	}
	weft, err := goCommand(ctx, m.Dir, "list", "-m", "-mod=readonly", "-f", "{{.Dir}}", Weft)
	if err != nil {
		return nil, fmt.Errorf("its module does not require %s: %w", Weft, err)
	}
	weft = strings.TrimSpace(weft)
	sum, err := sums(filepath.Dir(m.GoMod), weft)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(tmp, "go.sum"), sum, 0o600); err != nil {
		return nil, err
	}
	file := filepath.Join(tmp, "go.mod")
	return []string{"-mod=mod", "-modfile", file}, extend(ctx, file, m.GoMod, filepath.Join(weft, "go.mod"))
}

// extend writes the go.mod at mine with what the one at theirs requires as well.
func extend(ctx context.Context, file, mine, theirs string) error {
	have, err := requirements(ctx, mine)
	if err != nil {
		return err
	}
	more, err := requirements(ctx, theirs)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(mine)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	edit := []string{"mod", "edit"}
	for _, r := range more {
		if !slices.ContainsFunc(have, func(h requirement) bool { return h.Path == r.Path }) {
			edit = append(edit, "-require="+r.Path+"@"+r.Version)
		}
	}
	if len(edit) == 2 {
		return nil
	}
	_, err = goCommand(ctx, filepath.Dir(file), append(edit, file)...)
	return err
}

// requirement is a module that another one requires.
type requirement struct{ Path, Version string }

func requirements(ctx context.Context, file string) ([]requirement, error) {
	out, err := goCommand(ctx, filepath.Dir(file), "mod", "edit", "-json", file)
	if err != nil {
		return nil, err
	}
	var mod struct{ Require []requirement }
	err = json.Unmarshal([]byte(out), &mod)
	return mod.Require, err
}

// sums returns the lines of the go.sum files in some folders.
func sums(dirs ...string) ([]byte, error) {
	var lines []string
	for _, dir := range dirs {
		text, err := os.ReadFile(filepath.Join(dir, "go.sum"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		lines = append(lines, strings.Split(strings.TrimSpace(string(text)), "\n")...)
	}
	slices.Sort(lines)
	return []byte(strings.Join(slices.Compact(lines), "\n") + "\n"), nil
}

func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	return goCommandWith(ctx, nil, dir, args...)
}

// goCommandWith runs the go command with more variables than this process has.
func goCommandWith(ctx context.Context, env []string, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, strings.TrimSpace(problems.String()))
	}
	return out.String(), nil
}

package analyze

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/weft-rl/weft/internal/compile/vocabulary"
)

// module is where the vocabulary lives.
const module = "github.com/weft-rl/weft"

// vocabularyPackages are the packages whose words say of themselves what they do;
// their bodies are never read.
var vocabularyPackages = []string{"rl", "env", "replay", "data", "nn", "search", "league", "algo"}

// inVocabulary gives a package's path inside the module if it is part of the
// vocabulary.
func inVocabulary(p *types.Package) (string, bool) {
	if p == nil {
		return "", false
	}
	rel, ok := strings.CutPrefix(p.Path(), module+"/")
	return rel, ok && (slices.Contains(vocabularyPackages, rel) || strings.HasPrefix(rel, "env/"))
}

// unit is a package whose source can be read.
type unit struct {
	pkg   *types.Package
	info  *types.Info
	files []*ast.File
	marks *marks
}

// source is a function with its body.
type source struct {
	unit *unit
	decl *ast.FuncDecl
}

// program is an author's package and those of its imports that can be read.
type program struct {
	fset  *token.FileSet
	main  *unit
	units map[*types.Package]*unit
	funcs map[*types.Func]source
	words *vocabulary.Set
}

func newProgram(fset *token.FileSet, main *unit, others []*unit, words *vocabulary.Set) *program {
	p := &program{fset: fset, main: main, words: words, units: map[*types.Package]*unit{}, funcs: map[*types.Func]source{}}
	for _, u := range append([]*unit{main}, others...) {
		p.units[u.pkg] = u
		for _, f := range u.files {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
					if obj, ok := u.info.Defs[fn.Name].(*types.Func); ok {
						p.funcs[obj] = source{u, fn}
					}
				}
			}
		}
	}
	return p
}

// mark returns what directives say of a function, or of an object or statement.
func (p *program) mark(n any) mark {
	if fn, ok := n.(*types.Func); ok {
		n = p.funcs[fn].decl
	}
	for _, u := range p.units {
		if m := u.marks.of[n]; m != nil {
			return m
		}
	}
	return nil
}

const mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
	packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedModule

type flagsKey struct{}

// WithBuildFlags returns a context in which packages are read with flags of the go
// command: those that their module is built with, where its go.mod alone does not do.
func WithBuildFlags(ctx context.Context, flags []string) context.Context {
	return context.WithValue(ctx, flagsKey{}, flags)
}

func buildFlags(ctx context.Context) []string {
	flags, _ := ctx.Value(flagsKey{}).([]string)
	return flags
}

// load type-checks the packages that patterns name, and from source also those
// of their imports that are written in the vocabulary. overlay replaces files.
func load(ctx context.Context, dir string, overlay map[string][]byte, patterns []string) (roots, all []*packages.Package, err error) {
	// What an imported package imports is known for certain only when it was read
	// itself, so this goes on until nothing new is found.
	ids := map[string]bool{}
	for list := slices.Clone(patterns); ; {
		c := &packages.Config{Context: ctx, Mode: mode, Dir: dir, Overlay: overlay, BuildFlags: buildFlags(ctx)}
		if all, err = checked(c, list); err != nil {
			return nil, nil, err
		}
		first := len(ids) == 0
		var known []*types.Package
		for _, p := range all {
			known = append(known, p.Types)
			if first {
				ids[p.ID] = true
			}
		}
		more := readable(known...)
		if len(more) == 0 {
			break
		}
		list = append(list, more...)
	}
	roots = slices.DeleteFunc(slices.Clone(all), func(p *packages.Package) bool { return !ids[p.ID] })
	return roots, all, nil
}

// checked loads packages that have no errors.
func checked(c *packages.Config, patterns []string) ([]*packages.Package, error) {
	if err := hideGenerated(c, patterns); err != nil {
		return nil, err
	}
	pkgs, err := packages.Load(c, patterns...)
	if err != nil {
		return nil, fmt.Errorf("loading %s: %w", strings.Join(patterns, " "), err)
	}
	return pkgs, broken(pkgs, patterns)
}

// hideGenerated overlays the files that were generated from a loop as empty, so
// that a broken one never stands in the way of writing it anew.
func hideGenerated(c *packages.Config, patterns []string) error {
	list := *c
	list.Mode = packages.NeedName | packages.NeedFiles
	pkgs, err := packages.Load(&list, patterns...)
	if err != nil {
		return fmt.Errorf("loading %s: %w", strings.Join(patterns, " "), err)
	}
	overlay := maps.Clone(c.Overlay)
	for _, p := range pkgs {
		for _, name := range p.GoFiles {
			if _, given := overlay[name]; given || !strings.HasPrefix(filepath.Base(name), "gen_") {
				continue
			}
			if text, err := os.ReadFile(name); err == nil && Generated(text) {
				if overlay == nil {
					overlay = map[string][]byte{}
				}
				overlay[name] = []byte("package " + p.Name + "\n")
			}
		}
	}
	c.Overlay = overlay
	return nil
}

// readable returns the packages below some that are not among them.
func readable(roots ...*types.Package) (out []string) {
	for _, r := range roots {
		for p := range below(r) {
			if !slices.Contains(out, p.Path()) && !slices.ContainsFunc(roots, func(r *types.Package) bool { return r.Path() == p.Path() }) {
				out = append(out, p.Path())
			}
		}
	}
	slices.Sort(out)
	return out
}

func usesVocabulary(p *types.Package) bool {
	return slices.ContainsFunc(p.Imports(), func(i *types.Package) bool {
		rel, ok := inVocabulary(i)
		return ok && rel == "rl"
	})
}

// below returns the packages that a package imports and that use the vocabulary, with
// those that they import.
func below(p *types.Package) iter.Seq[*types.Package] {
	seen := map[*types.Package]bool{}
	var visit func(p *types.Package, yield func(*types.Package) bool) bool
	visit = func(p *types.Package, yield func(*types.Package) bool) bool {
		for _, i := range p.Imports() {
			if _, ours := inVocabulary(i); ours || seen[i] || !usesVocabulary(i) {
				continue
			}
			seen[i] = true
			if !yield(i) || !visit(i, yield) {
				return false
			}
		}
		return true
	}
	return func(yield func(*types.Package) bool) { visit(p, yield) }
}

// broken joins what the go command and the type checker said.
func broken(pkgs []*packages.Package, patterns []string) error {
	var errs []error
	for _, p := range pkgs {
		for _, e := range p.Errors {
			if e.Pos == "" || e.Pos == "-" {
				if typed(p) && strings.HasPrefix(e.Msg, "#") {
					continue // the compiler says again what the type checker found
				}
				errs = append(errs, errors.New(explain(e.Msg)))
				continue
			}
			errs = append(errs, e)
		}
	}
	if len(pkgs) == 0 {
		errs = append(errs, fmt.Errorf("no package matches %s", strings.Join(patterns, " ")))
	}
	return errors.Join(errs...)
}

// typed reports whether the type checker found something in a package.
func typed(p *packages.Package) bool {
	return slices.ContainsFunc(p.Errors, func(e packages.Error) bool { return e.Kind == packages.TypeError })
}

// explain says what to do about a package whose source the go command does not
// have.
func explain(message string) string {
	if strings.Contains(message, "no required module provides package "+module) {
		message += " (the source is read, so run this inside a module that requires " + module + ")"
	}
	return message
}

// Frame is a package that was loaded once and can be analysed again with other
// files, without the go command: thousands of loops in the time of a few.
type Frame struct {
	pkg     *packages.Package
	others  []*unit
	imports map[string]*types.Package
}

// Frames loads the packages that patterns name for analysing them again.
func Frames(ctx context.Context, dir string, patterns ...string) (out []*Frame, err error) {
	err = eachRoot(ctx, dir, nil, patterns, func(r *packages.Package, others []*unit) {
		f := &Frame{pkg: r, others: others, imports: map[string]*types.Package{}}
		reach(r.Types, f.imports)
		out = append(out, f)
	})
	return out, err
}

// reach notes what a package imports, at any distance: a program may have to name the
// type of a value that the loop does not name.
func reach(p *types.Package, all map[string]*types.Package) {
	for _, i := range p.Imports() {
		if _, known := all[i.Path()]; !known {
			all[i.Path()] = i
			reach(i, all)
		}
	}
}

// Import gives the type checker what was loaded.
func (f *Frame) Import(path string) (*types.Package, error) {
	if p, ok := f.imports[path]; ok {
		return p, nil
	}
	return nil, fmt.Errorf("%s is not among the imports of %s", path, f.pkg.PkgPath)
}

// check type-checks other files in the place of the package's own. Soft errors,
// such as variables that are not used, come beside the package.
func (f *Frame) check(files map[string][]byte) (u *unit, soft []types.Error, hard error) {
	u = &unit{info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Scopes: map[ast.Node]*types.Scope{},
	}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file, err := parser.ParseFile(f.pkg.Fset, name, files[name], parser.ParseComments)
		if err != nil {
			return nil, nil, err
		}
		u.files = append(u.files, file)
	}
	c := types.Config{Importer: f, Error: func(err error) {
		if e, ok := err.(types.Error); ok && e.Soft {
			soft = append(soft, e)
		} else if hard == nil {
			hard = err
		}
	}}
	u.pkg, _ = c.Check(f.pkg.PkgPath, f.pkg.Fset, u.files, u.info)
	return u, soft, hard
}

// Unused returns the variables that files declare and do not use; an error says why
// they are no package at all.
func (f *Frame) Unused(files map[string][]byte) (at []token.Position, err error) {
	_, soft, err := f.check(files)
	for _, e := range soft {
		at = append(at, f.pkg.Fset.Position(e.Pos))
	}
	return at, err
}

// Source does what Sources does, for the package with other files, by name; the first one's
// folder is the package's.
func (f *Frame) Source(files map[string][]byte) (Sourced, error) {
	u, _, err := f.check(files)
	if err != nil {
		return Sourced{}, err
	}
	return sourced(f.pkg.Fset, u, f.others, filepath.Dir(slices.Min(slices.Collect(maps.Keys(files))))), nil
}

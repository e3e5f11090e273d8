package analyze

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/packages"
)

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
		for _, i := range r.Types.Imports() {
			f.imports[i.Path()] = i
		}
		out = append(out, f)
	})
	return out, err
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

// Unused are the variables that files declare and do not use; an error says why
// they are no package at all.
func (f *Frame) Unused(files map[string][]byte) (at []token.Position, err error) {
	_, soft, err := f.check(files)
	for _, e := range soft {
		at = append(at, f.pkg.Fset.Position(e.Pos))
	}
	return at, err
}

// Source is Sources for the package with other files, by name; the first one's
// folder is the package's.
func (f *Frame) Source(files map[string][]byte) (Sourced, error) {
	u, _, err := f.check(files)
	if err != nil {
		return Sourced{}, err
	}
	return sourced(f.pkg.Fset, u, f.others, filepath.Dir(slices.Min(slices.Collect(maps.Keys(files))))), nil
}

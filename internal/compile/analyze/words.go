package analyze

import (
	"fmt"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"sync"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/vocabulary"
)

const (
	envShape  = "[env, ...]"
	timeShape = "[env, time, ...]"
	rowsShape = "[rows, ...]"
	oneShape  = "[]"
)

// shapes are the shapes of results, as directives name them.
var shapes = map[string]string{"env": envShape, "time": timeShape, "rows": rowsShape, "one": oneShape}

// sets are the vocabularies that were read, by the folder of their module.
var sets sync.Map

// vocabularyOf returns the vocabulary that a package is written in: that of the
// module whose package rl it imports, at any distance.
func vocabularyOf(fset *token.FileSet, p *types.Package) (*vocabulary.Set, error) {
	file := vocabularyFile(fset, p)
	if file == "" {
		return &vocabulary.Set{}, nil // it does not use it
	}
	root := filepath.Dir(filepath.Dir(file))
	if s, ok := sets.Load(root); ok {
		return s.(*vocabulary.Set), nil
	}
	files := map[string][]string{}
	for _, name := range vocabularyPackages {
		list, err := filepath.Glob(filepath.Join(root, name, "*.go"))
		if err != nil || len(list) == 0 {
			return nil, fmt.Errorf("the source of package %s is not in %s, so that what its words say of themselves cannot be read: build without -trimpath", name, root)
		}
		files[name] = list
	}
	s, err := vocabulary.Read(files)
	if err != nil {
		return nil, err
	}
	sets.Store(root, s)
	return s, nil
}

// vocabularyFile returns a file of the package rl that a package imports, or that
// one does on which it is built.
func vocabularyFile(fset *token.FileSet, p *types.Package) string {
	for _, p := range append(slices.Collect(below(p)), p) {
		for _, i := range p.Imports() {
			if rel, ok := inVocabulary(i); !ok || rel != "rl" {
				continue
			}
			for _, name := range i.Scope().Names() {
				if at := fset.Position(i.Scope().Lookup(name).Pos()); at.IsValid() {
					return at.Filename
				}
			}
		}
	}
	return ""
}

// word returns what a function or method of the vocabulary says of itself; ok is
// false for any other.
func (p *program) word(f *types.Func) (w vocabulary.Word, ok bool) {
	name, ok := wordOf(f)
	if !ok {
		return w, false
	}
	if w, ok = p.words.Words[name]; !ok {
		w = vocabulary.Silent(name)
	}
	return w, true
}

// typ returns what a type of the vocabulary, or what it points to, says of itself.
func (p *program) typ(t types.Type) vocabulary.Type { return p.words.Types[typeWord(t)] }

// componentOf returns what a component of the vocabulary says of itself.
func (p *program) componentOf(t types.Type) (vocabulary.Component, bool) {
	c, ok := p.words.Components[typeWord(t)]
	return c, ok
}

// typeWord names a type of the vocabulary, as in rl.Params; it is empty for any
// other.
func typeWord(t types.Type) string {
	n := namedOf(t)
	if n == nil {
		return ""
	}
	rel, ok := inVocabulary(n.Obj().Pkg())
	if !ok {
		return ""
	}
	return rel + "." + n.Obj().Name()
}

// wordOf returns the name of a function or method of the vocabulary.
func wordOf(f *types.Func) (string, bool) {
	rel, ok := inVocabulary(f.Pkg())
	if !ok {
		return "", false
	}
	if recv := f.Signature().Recv(); recv != nil {
		if n := namedOf(recv.Type()); n != nil {
			return rel + "." + n.Obj().Name() + "." + f.Name(), true
		}
	}
	return rel + "." + f.Name(), true
}

// namedOf returns the declared type behind a pointer, or nil.
func namedOf(t types.Type) *types.Named {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, _ := types.Unalias(t).(*types.Named)
	return n
}

// resourceOf returns a component, or a part of one, in the graph.
func resourceOf(c vocabulary.Component) fdg.Resource {
	r := fdg.Resource{Kind: c.Kind, Axis: c.Axis, Sharing: fdg.Pinned, Home: c.Home, Large: c.Large, Steady: c.Steady}
	if c.Copyable {
		r.Sharing = fdg.Copyable
	}
	return r
}

// known reports whether a word may stand in a loop.
func known(w vocabulary.Word) bool {
	return slices.Contains([]vocabulary.Use{vocabulary.Operation, vocabulary.Pure, vocabulary.Moves}, w.Use)
}

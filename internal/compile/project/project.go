package project

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/analyze"
	"github.com/weft-rl/weft/plan"
)

// Result holds the files that were generated for one package.
type Result struct {
	Package string
	Dir     string
	Files   map[string][]byte // by base name
	Graph   *fdg.Graph
	// Refused are the groupings that the loop cannot be taken apart by, with why.
	Refused []Refusal
	// Findings holds those of the analysis; with one that is no note there are no
	// files.
	Findings []analyze.Finding
}

// Refusal says why there is no program for a grouping.
type Refusal struct {
	Grouping string
	Problems []Problem
}

// Package generates the programs of the packages that patterns name, for the
// groupings that are wanted of each graph. Nothing is written.
func Package(ctx context.Context, dir string, groupings func(*fdg.Graph) []plan.Grouping, patterns ...string) ([]Result, error) {
	return Overlay(ctx, dir, nil, groupings, patterns...)
}

// Overlay does what Package does, with the contents of some files replaced, by
// absolute path.
func Overlay(ctx context.Context, dir string, files map[string][]byte, groupings func(*fdg.Graph) []plan.Grouping, patterns ...string) ([]Result, error) {
	sources, err := analyze.Sources(ctx, dir, files, patterns...)
	if err != nil {
		return nil, err
	}
	var out []Result
	for _, s := range sources {
		r, err := Of(s, groupings)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// Of generates the programs of a loop that was analysed.
func Of(s analyze.Sourced, groupings func(*fdg.Graph) []plan.Grouping) (Result, error) {
	r := Result{Package: s.Package, Findings: s.Findings, Graph: s.Graph}
	if s.Graph == nil {
		return r, nil
	}
	r.Dir = s.Source.Dir
	return r, r.generate(s.Source, groupings(s.Graph))
}

func (r *Result) generate(src *analyze.Source, list []plan.Grouping) error {
	r.Files = map[string][]byte{}
	var made []string
	for _, gr := range list {
		text, problems, err := grouped(src, r.Graph, gr)
		if err != nil {
			return err
		}
		if len(problems) > 0 {
			r.Refused = append(r.Refused, Refusal{gr.Name, problems})
			continue
		}
		r.Files["gen_"+gr.Name+".go"] = text
		made = append(made, gr.Name)
	}
	text, problems, err := lowered(src, r.Graph)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		r.Refused = append(r.Refused, Refusal{Lowered, problems})
	} else {
		r.Files[edge.LoweredFile] = text
	}
	if len(r.Files) == 0 {
		r.Files = nil
		return nil
	}
	return r.registry(src, made)
}

// grouped generates the programs of one grouping.
func grouped(src *analyze.Source, g *fdg.Graph, gr plan.Grouping) ([]byte, []Problem, error) {
	out := &findings{}
	for _, f := range g.Fragments {
		if !slices.ContainsFunc(gr.Groups, func(x plan.Group) bool { return slices.Contains(x.Fragments, f.Name) }) {
			out.add(src.Fset.Position(src.Train.Pos()), "fragment "+f.Name+" is in no group of "+gr.Name)
		}
	}
	f := newFlow(newLoop(src, g, gr, out))
	f.mixed()
	if err := f.solve(); err != nil {
		return nil, nil, err
	}
	f.checkMembers()
	if out.any() {
		return nil, out.list, nil
	}
	text, err := f.file(gr)
	if out.any() {
		return nil, out.list, nil
	}
	return text, nil, err
}

// Stale returns the files of a result that are not in its folder as they should be,
// and those there that nothing generates any more, by base name.
func (r Result) Stale() (out []string, err error) {
	for name, want := range r.Files {
		have, err := os.ReadFile(filepath.Join(r.Dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if !bytes.Equal(have, want) {
			out = append(out, name)
		}
	}
	old, err := filepath.Glob(filepath.Join(r.Dir, "gen_*"))
	if err != nil {
		return nil, err
	}
	for _, file := range old {
		name := filepath.Base(file)
		if _, now := r.Files[name]; now {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if analyze.Generated(text) || name == oldGraphFile {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Err joins a refusal's problems.
func (r Refusal) Err() error {
	var errs []error
	for _, p := range r.Problems {
		errs = append(errs, p)
	}
	return errors.Join(errs...)
}

// Problem says why a loop cannot be taken apart by a grouping.
type Problem struct {
	Pos     token.Position
	Message string
}

func (p Problem) Error() string { return fmt.Sprintf("%s: %s", p.Pos, p.Message) }

// findings collects problems, each once.
type findings struct{ list []Problem }

func (f *findings) add(pos token.Position, message string) {
	if p := (Problem{pos, message}); !slices.Contains(f.list, p) {
		f.list = append(f.list, p)
	}
}

func (f *findings) any() bool { return len(f.list) > 0 }

// Package project takes a training loop apart: for every group of a grouping it
// writes a Go program, the loop's control flow with the statements that the group
// owns, and calls of package edge where a dependence crosses.
//
// It is endpoint projection. The loop becomes one tree for all groups, in which
// calls that several groups have a part in are read through (lower.go, pieces.go,
// inline.go). A walk backwards over the tree finds for each group what it wants
// where, which gives the places at which values cross: right behind what made them,
// or behind the outermost loop or branch in which the receiver has no use of them
// (flow.go). Both ends of a crossing are cut from one place of one tree, so that no
// two programs can wait for each other. What replicas of a group do together is in
// shard.go. emit.go and print.go write Go.
package project

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/analyze"
	"github.com/weft-rl/weft/plan"
)

// Result is what was generated for one package.
type Result struct {
	Package string
	Dir     string
	Files   map[string][]byte // by base name
	Graph   *fdg.Graph
	// Refused are the groupings that the loop cannot be taken apart by, with why.
	Refused []Refusal
	// Findings are those of the analysis; with one that is no note there are no
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

// Overlay is Package with the contents of some files replaced, by absolute path.
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
	l := newLowerer(src, g, gr, out)
	l.mixed()
	f := newFlow(l, l.train())
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

// Stale are the files of a result that are not in its folder as they should be,
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
		if analyze.Generated(text) || name == graphFile {
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

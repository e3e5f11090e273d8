// Package project takes a training loop apart: for every group of a grouping it
// writes a Go program, the loop's control flow with the statements that the group
// owns, and calls of package edge where a dependence crosses.
//
// It is endpoint projection of one tree (package tree), the same for all groups.
// For every group a walk backwards over the tree finds which statements the group
// executes and what it needs from others where (flow.go, uses.go). Both ends of a
// crossing are cut from one place of the tree, so that no two programs can wait for
// each other (edges.go). What replicas of a group do together is in shard.go and
// member.go. emit.go makes a line of every statement, roll.go makes calls of functions
// that one group executes entirely, line.go leaves out what nobody reads, print.go
// writes Go. device.go makes one device program of the whole loop, and spans.go one
// graph of the statements that some lines of a group's program are made of.
//
// # How the claim is kept
//
// Package tree claims that a group's program reads what the plain loop reads,
// provided that the program is made by the following rules. They are all that the
// projector decides; each is in one function.
//
// An operation is executed by the group that has its fragment, and by no other. All
// other statements are host statements. A group executes a host statement if
// something that it writes is wanted behind it: a variable, a field, or memory that
// a wanted variable may share (walker.assign: Lhs, Fills and Shares alike, without
// the variables of Shares that share nothing yet: fresh.go). Then what it reads is
// wanted before it, the places that it writes through included (loop.wants). Nothing
// else makes a statement appear, and nothing but not being wanted makes it
// disappear. A definition ends what is wanted only if it replaces the whole of it;
// an element, a fill and a family's member do not.
//
// What another group's operation made is received right behind the operation
// (walker.assign), or behind an enclosing loop, branch or call that the group leaves
// out, or in which it has no use of it (walker.outside, walker.after). It may leave
// one out if no operation of its own stands there, no jump leaves it, and all that
// it wants of what is written there comes from one other group, which then wants it
// at the same place (walker.owed). A value that crosses is a copy. So a variable
// must not cross where the group writes its memory later, if another variable may
// share that memory (loop.shares): the group goes in and executes the statements
// itself.
//
// A group that keeps a loop or branch wants the variables of its condition, so it
// takes the same way as the plain loop. Sender and receiver keep all loops and
// branches around the place where they meet: the receiver, because it wants
// something there; the sender, because it owns an operation there or owes the value.
// This is repeated until no group asks for more (flow.solve), which ends because
// what is asked for only grows.
//
// A call is printed in place of the statements that it was read through to if the
// program has all of them and nothing between them. Statements in it that the
// program does not want may be executed as well if they cannot fail, whatever their
// operands hold: what they write is not wanted (emitter.closed).
//
// At the end every program is compared with the tree: each operation of its group,
// and each end of its edges, is there once (emitter.complete).
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

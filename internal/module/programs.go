package module

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/analyze"
	"github.com/weft-rl/weft/internal/compile/project"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/policy"
)

// programs generates what an author's algorithm needs to run under a policy, as
// files of a build's overlay: the author's folder is left alone. What is up to date
// there is taken from there. The plain loop runs even if it cannot be read.
func (m Maker) programs(ctx context.Context, tmp string, packages []*Package, plain bool) (generated, error) {
	out := generated{overlay: overlay{}}
	i := slices.IndexFunc(packages, func(x *Package) bool { return x.Variable == "Algorithm" })
	if i < 0 || !packages[i].hasLoop() {
		return out, nil
	}
	results, err := m.Project(ctx, packages[i].Dir, ".")
	if err != nil && plain {
		return out, nil // what keeps it from being read keeps it from being compiled, or does not matter
	}
	if err != nil {
		return out, fmt.Errorf("%s: %w", packages[i].Path, err)
	}
	for _, r := range results {
		if r.Graph == nil {
			if bad := m.Unread(r); bad != nil && !plain {
				return out, bad
			}
			continue
		}
		if !plain {
			m.Refused(r)
		}
		if err := out.add(filepath.Join(tmp, "programs"), r); err != nil {
			return out, err
		}
		if !plain {
			if err := out.describe(packages[i], r, m.Hash); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// describe adds the texts of what was generated, and the form: a hash of them, of the
// package's own source, and of this program, which generated them.
func (o *generated) describe(x *Package, r project.Result, hash func() (string, error)) error {
	program, err := hash()
	if err != nil {
		return err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", program)
	o.texts = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		fmt.Fprintf(h, "%s %d\n%s", name, len(r.Files[name]), r.Files[name])
		if strings.HasSuffix(name, ".go") {
			o.texts[name] = string(r.Files[name])
		}
	}
	for _, name := range append(x.GoFiles, x.CgoFiles...) {
		text, err := os.ReadFile(filepath.Join(x.Dir, name))
		if err != nil {
			return err
		}
		if !analyze.Generated(text) {
			fmt.Fprintf(h, "%s %d\n%s", name, len(text), text)
		}
	}
	o.form = hex.EncodeToString(h.Sum(nil))
	return nil
}

// add puts what was generated in the place of what is in the author's folder.
func (o overlay) add(tmp string, r project.Result) error {
	stale, err := r.Stale()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return err
	}
	for _, name := range stale {
		at, from := filepath.Join(r.Dir, name), ""
		if text, ok := r.Files[name]; ok {
			from = filepath.Join(tmp, name)
			if err := os.WriteFile(from, text, 0o600); err != nil {
				return err
			}
		}
		o[at] = from
	}
	return nil
}

// Project takes the loops of packages apart in all ways that policies do: the
// built-in ones, this binary's own, and those that a package offers.
func (m Maker) Project(ctx context.Context, dir, pattern string) ([]project.Result, error) {
	var errs []error
	flags, forget, err := readingFlags(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer forget()
	results, err := project.Package(analyze.WithBuildFlags(ctx, flags), dir, func(g *fdg.Graph) []plan.Grouping {
		list, err := m.groupings(ctx, dir, g)
		errs = append(errs, err)
		return list
	}, pattern)
	return results, errors.Join(append(errs, err)...)
}

// readingFlags let a package be read whose module requires less than it takes to
// build it, as when it is compiled on the fly.
func readingFlags(ctx context.Context, dir string) (flags []string, forget func(), err error) {
	forget = func() {}
	mod, err := goCommand(ctx, dir, "env", "GOMOD")
	if mod = strings.TrimSpace(mod); err != nil || mod == "" || mod == os.DevNull {
		return nil, forget, err
	}
	text, err := os.ReadFile(mod)
	if err != nil || !bytes.Contains(text, []byte(Weft+" v")) {
		return nil, forget, err // ours, or one that has nothing to do with us
	}
	tmp, err := os.MkdirTemp("", "weft-module-")
	if err != nil {
		return nil, forget, err
	}
	flags, err = moduleFlags(ctx, tmp, &home{Dir: filepath.Dir(mod), GoMod: mod})
	return flags, func() { os.RemoveAll(tmp) }, err
}

// groupings returns the ways in which policies take a graph apart. What a policy does
// that an author's package offers, only a binary knows that has it.
func (m Maker) groupings(ctx context.Context, dir string, g *fdg.Graph) ([]plan.Grouping, error) {
	x, err := find(ctx, dir, g.Name)
	if err != nil || len(x.Offers) == 0 {
		return policy.Groupings(g, m.Policies), err
	}
	tmp, err := os.MkdirTemp("", "weft-policies-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	hidden, err := x.withoutPrograms()
	if err != nil {
		return nil, err
	}
	bin, err := build(ctx, tmp, "weft", []*Package{x}, generated{overlay: hidden}, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	var graph, out, problems bytes.Buffer
	if err := g.WriteJSON(&graph); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, bin, GroupingsCommand)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &graph, &out, &problems
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("the policies of %s: %w\n%s", dir, err, strings.TrimSpace(problems.String()))
	}
	var list []plan.Grouping
	err = json.Unmarshal(out.Bytes(), &list)
	return list, err
}

// find returns the package of a graph, with the policies that it offers.
func find(ctx context.Context, dir, path string) (*Package, error) {
	x := &Package{Named: Named{dir, "Policy"}}
	out, err := goCommand(ctx, dir, "list", "-e", "-json=Dir,ImportPath,Name,GoFiles,CgoFiles,Module", path)
	if err == nil {
		err = json.Unmarshal([]byte(out), x)
	}
	if err != nil {
		return nil, err
	}
	has := declared(x.Dir, append(x.GoFiles, x.CgoFiles...))
	for _, name := range policyVariables {
		if has(name) {
			x.Offers = append(x.Offers, name)
		}
	}
	return x, nil
}

// hasLoop reports whether a training loop is marked in the package's own source.
func (x *Package) hasLoop() bool {
	return slices.ContainsFunc(append(x.GoFiles, x.CgoFiles...), func(name string) bool {
		text, err := os.ReadFile(filepath.Join(x.Dir, name))
		return err == nil && bytes.Contains(text, []byte("//weft:train"))
	})
}

// withoutPrograms hides what was generated before, which may fit no longer.
func (x *Package) withoutPrograms() (overlay, error) {
	out := overlay{}
	for _, name := range x.GoFiles {
		file := filepath.Join(x.Dir, name)
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if analyze.Generated(text) {
			out[file] = ""
		}
	}
	return out, nil
}

// GroupingsCommand is the command by which a binary that was built for an author's policies is
// asked what they do: it reads a graph on standard input and writes groupings, both as JSON.
const GroupingsCommand = "groupings"

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/weft-rl/weft/internal/compile/analyze"
	"github.com/weft-rl/weft/internal/compile/project"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/module"
	"github.com/weft-rl/weft/internal/request"
)

// foreign returns the packages that were named and are not part of this binary.
func (c *command) foreign(l request.Layers) (out []module.Named) {
	if c.set.Built() {
		return nil // or it would be built again and again
	}
	named := map[string]string{}
	for _, layer := range [][]config.Assignment{l.File, l.Deploy, l.Flags} {
		for _, a := range layer {
			named[a.Key] = a.Value
		}
	}
	algorithm := named["algorithm"]
	if request.IsPath(algorithm) {
		out = append(out, module.Named{Path: algorithm, Variable: "Algorithm"})
	}
	environment, _, _ := strings.Cut(named["env"], "?")
	if request.IsPath(environment) {
		out = append(out, module.Named{Path: environment, Variable: "Environment"})
	}
	if request.IsPath(named["policies"]) {
		out = append(out, module.Named{Path: named["policies"], Variable: "Policy"})
	}
	return out
}

// runBuilt builds a binary that knows the packages, and runs this very command
// with it. If that is to run a training loop under a policy, programs are
// generated for it.
func (c *command) runBuilt(ctx context.Context, packages []module.Named, policy string) error {
	return c.runBuiltWith(ctx, packages, policy, func(context.Context, *module.Binary) ([]string, error) { return nil, nil })
}

// runBuiltWith does the same with further flags, which before returns when the binary is there.
func (c *command) runBuiltWith(ctx context.Context, packages []module.Named, policy string, before func(context.Context, *module.Binary) ([]string, error)) error {
	tmp, err := os.MkdirTemp("", module.Folder)
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	end := c.phase("analyse")
	made, err := c.built(ctx, tmp, packages, policy)
	end(err)
	if err != nil {
		return err
	}
	more, err := before(ctx, made)
	if err != nil {
		return err
	}
	env, err := c.handOver(c.become != nil)
	if err != nil {
		return err
	}
	bin, args := made.Path, slices.Concat(c.args[:1], more, c.args[1:])
	if c.become != nil {
		if err := c.become(bin, args); !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	c.started = true
	// Not CommandContext: the child gets the same Ctrl-C from the terminal, and is
	// waited for while it saves.
	cmd := exec.Command(bin, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, c.out, c.err
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exitStatus(exit.ExitCode())
	}
	return err
}

// built reads packages and builds a binary that knows them.
func (c *command) built(ctx context.Context, tmp string, packages []module.Named, policy string) (*module.Binary, error) {
	all, err := module.Inspect(ctx, packages)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(c.err, "weft: compiling %s\n", module.Paths(packages))
	return c.maker().Build(ctx, tmp, all, module.Under{Policy: policy, AsIs: c.set.AsIs(policy)})
}

// maker returns what makes programs and binaries of authors' packages. It tells the user what it
// cannot make.
func (c *command) maker() module.Maker {
	return module.Maker{
		Policies: c.set.AllPolicies(), Hash: binary,
		Unread: func(r project.Result) error {
			return report(c.err, []analyze.Result{{Package: r.Package, Findings: r.Findings}}, true)
		},
		Refused: func(r project.Result) { refused(c.err, r) },
	}
}

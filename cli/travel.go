package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/module"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/program"
	"github.com/weft-rl/weft/internal/run/protocol"
)

// travel are the flags of train and resume that have a run bring its program to a cluster.
type travel struct {
	ownProgram bool
	staged     []string // programs that the coordinator has been handed, as stagedFlag writes them
}

// stagedFlag names programs that the coordinator has: those that the command which built this one
// has handed over.
const stagedFlag = "staged"

func (f *travel) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.ownProgram, "own-program", false, "with --cluster, send this program to the workers and train with it instead of with theirs; runs of an author's package always do")
	flags.StringArrayVar(&f.staged, stagedFlag, nil, "`PLATFORM=HASH=SIZE` of a program that the coordinator has")
	_ = flags.MarkHidden(stagedFlag)
}

// bring returns a function that hands a binary, built for the platforms of the cluster, to the
// coordinator, and returns the flags that say so. Without --cluster nothing is handed over.
func (f *trainFlags) bring(c *command) func(context.Context, *module.Binary) ([]string, error) {
	return func(ctx context.Context, b *module.Binary) (flags []string, err error) {
		if len(f.addresses) == 0 || f.dry {
			return nil, nil
		}
		tls, err := f.loadFor(f.addresses...)
		if err != nil {
			return nil, err
		}
		c.started = true
		client := &protocol.Client{Addresses: f.addresses, TLS: tls}
		all, err := c.stageAll(ctx, client, func(platform string) (string, error) {
			if platform == part.Platform() {
				return b.Path, nil
			}
			fmt.Fprintf(c.err, "weft: compiling it for %s\n", platform)
			return b.For(ctx, platform)
		})
		for _, p := range all {
			flags = append(flags, fmt.Sprintf("--%s=%s=%s=%d", stagedFlag, p.Platform, p.SHA256, p.Size))
		}
		return flags, err
	}
}

// brought returns the programs that a run brings: those that were handed over before, or this one.
// A run without any is trained by the workers' own program.
func (f *travel) brought(ctx context.Context, c *command, client *protocol.Client) (out []part.Program, err error) {
	if !f.ownProgram || len(f.staged) > 0 {
		return f.parse()
	}
	return c.stageAll(ctx, client, func(platform string) (string, error) {
		if platform == part.Platform() {
			return self()
		}
		return "", fmt.Errorf("this program is for %s", part.Platform())
	})
}

// parse returns the programs that were handed over before.
func (f *travel) parse() (out []part.Program, err error) {
	for _, text := range f.staged {
		words := strings.Split(text, "=")
		if len(words) != 3 {
			return nil, fmt.Errorf("--%s: %q is not PLATFORM=HASH=SIZE", stagedFlag, text)
		}
		size, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", stagedFlag, err)
		}
		out = append(out, part.Program{Platform: words[0], SHA256: words[1], Size: size})
	}
	return out, part.CheckPrograms(out)
}

// stageAll hands a program to the coordinator for each platform of the cluster. Platforms of
// workers that it cannot be made for are left out, with a word.
func (c *command) stageAll(ctx context.Context, client *protocol.Client, of func(platform string) (path string, err error)) (out []part.Program, err error) {
	s, err := client.Status(ctx, "")
	if err != nil {
		return nil, err
	}
	platforms, err := platformsOf(s)
	if err != nil {
		return nil, err
	}
	for _, platform := range platforms {
		path, err := of(platform)
		if err != nil && platform != s.Platform {
			fmt.Fprintf(c.err, "weft: the run goes without workers of %s: %v\n", platform, err)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("the coordinator, which plans the run, is on %s: %w", platform, err)
		}
		p, err := c.stageOne(ctx, client, path)
		if err != nil {
			return nil, err
		}
		if p.Platform != platform {
			return nil, fmt.Errorf("%s is a program for %s, not for %s", path, p.Platform, platform)
		}
		out = append(out, p)
	}
	return out, nil
}

// platformsOf returns the platforms of a cluster that programs are sent to: that of the
// coordinator, which plans a run, first.
func platformsOf(s *protocol.Status) ([]string, error) {
	if s.Platform == "" {
		return nil, errors.New("the coordinator takes no programs: it is of an older version of weft; upgrade it, or start it and its workers with your own program")
	}
	out, takes := []string{s.Platform}, 0
	for _, w := range s.Workers {
		if w.Guest == "" {
			continue
		}
		if takes++; !slices.Contains(out, w.Platform) {
			out = append(out, w.Platform)
		}
	}
	if takes == 0 && len(s.Workers) > 0 {
		return nil, fmt.Errorf("none of the %d workers takes programs that a run brings: they were started with --no-programs, or by an older version of weft", len(s.Workers))
	}
	return out, nil
}

// stageOne hands the program in a file to the coordinator, unless it has it.
func (c *command) stageOne(ctx context.Context, client *protocol.Client, path string) (part.Program, error) {
	p, err := program.Of(path)
	if err != nil {
		return p, err
	}
	err = client.Stage(ctx, p, func() (io.ReadCloser, error) { return os.Open(path) })
	return p, err
}

// withProgram adds to a configuration, as a remark, the hash of the program that the run would
// bring.
func (f *trainFlags) withProgram(c *command, text []byte) ([]byte, error) {
	if len(f.addresses) == 0 || !f.ownProgram && !c.set.Built() {
		return text, nil
	}
	path, err := self()
	if err != nil {
		return nil, err
	}
	p, err := program.Of(path)
	return append(fmt.Appendf(nil, "# program %s for %s\n", p.SHA256, p.Platform), text...), err
}

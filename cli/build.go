package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/request"
)

// An author's package is named by its path. It becomes part of a binary that
// knows the built-in ones as well: a main package that exists only in a build
// overlay, inside the author's module, so that their dependencies are theirs.

// offered is a package named on the command line, with the variable it must
// declare.
type offered struct{ Path, Variable string }

// foreign are the packages that were named and are not part of this binary.
func (c *command) foreign(l request.Layers) (out []offered) {
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
		out = append(out, offered{algorithm, "Algorithm"})
	}
	environment, _, _ := strings.Cut(named["env"], "?")
	if request.IsPath(environment) {
		out = append(out, offered{environment, "Environment"})
	}
	if request.IsPath(named["policies"]) {
		out = append(out, offered{named["policies"], "Policy"})
	}
	return out
}

// runBuilt builds a binary that knows the packages, and runs this very command
// with it. If that is to run a training loop under a policy, programs are
// generated for it.
func (c *command) runBuilt(ctx context.Context, packages []offered, policy string) error {
	tmp, err := os.MkdirTemp("", "weft-build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	all, err := inspect(ctx, packages)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.err, "weft: compiling %s\n", paths(packages))
	programs := generated{overlay: overlay{}}
	if policy != "" {
		if programs, err = c.programs(ctx, tmp, all, policy); err != nil {
			return err
		}
	}
	bin, err := build(ctx, tmp, all, programs)
	if err != nil {
		return fmt.Errorf("%s: %w", paths(packages), err)
	}
	if c.become != nil {
		if err := c.become(bin, c.args); !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	c.started = true
	// Not CommandContext: the child gets the same Ctrl-C from the terminal, and is
	// waited for while it saves.
	cmd := exec.Command(bin, c.args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, c.out, c.err
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exitStatus(exit.ExitCode())
	}
	return err
}

func paths(packages []offered) string {
	var out []string
	for _, p := range packages {
		out = append(out, p.Path)
	}
	return strings.Join(out, " and ")
}

// build makes the binary under tmp.
func build(ctx context.Context, tmp string, packages []*foreignPackage, files generated) (string, error) {
	module := packages[0].Module
	list, err := files.write(tmp, module.Dir, packages)
	if err != nil {
		return "", err
	}
	flags, err := moduleFlags(ctx, tmp, module)
	if err != nil {
		return "", err
	}
	bin := filepath.Join(tmp, "weft")
	// Without what debuggers want, which nobody will look at, it is linked in half the time.
	args := append([]string{"build", "-overlay", list, "-ldflags=-w", "-o", bin}, flags...)
	if device.HasXLA { // it has the devices of this one
		args = append(args, "-tags", "xla")
	}
	_, err = goCommand(ctx, module.Dir, append(args, "./"+overlayMain)...)
	return bin, err
}

// overlayMain is the folder, which never exists, of the generated main package.
const overlayMain = "weft_overlay_main"

// overlay is files that a build takes for others, by path; an empty one is not
// there.
type overlay map[string]string

// generated is the programs that a binary is built with.
type generated struct {
	overlay
	form  string            // hash of the programs and of what they were made from and by
	texts map[string]string // of the files, by base name
}

// write generates the main package, and the list that puts it into the author's
// module together with other files.
func (o generated) write(tmp, root string, packages []*foreignPackage) (string, error) {
	var b bytes.Buffer
	err := mainTemplate.Execute(&b, struct {
		Folder   string
		Packages []*foreignPackage
		Form     string
		Texts    map[string]string
	}{tmp, packages, o.form, o.texts})
	if err != nil {
		return "", err
	}
	source, list := filepath.Join(tmp, "main.go"), filepath.Join(tmp, "overlay.json")
	all := overlay{filepath.Join(root, overlayMain, "main.go"): source}
	maps.Copy(all, o.overlay)
	text, err := json.Marshal(map[string]any{"Replace": all})
	if err != nil {
		return "", err
	}
	return list, errors.Join(os.WriteFile(source, b.Bytes(), 0o600), os.WriteFile(list, text, 0o600))
}

// The program's folder goes first of all, while it runs: nobody is left to
// remove it afterwards where it has taken its parent's place.
var mainTemplate = template.Must(template.New("main").Parse(`package main

import (
	"os"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/cli"
{{range $i, $p := .Packages}}	p{{$i}} "{{$p.ImportPath}}"
{{end}})

func main() {
	_ = os.RemoveAll({{printf "%q" .Folder}})
	set := weft.Builtin()
{{range $i, $p := .Packages}}{{range $p.Offers}}	set.At({{printf "%q" $p.Path}}, p{{$i}}.{{.}})
{{end}}{{end}}{{if .Form}}	set.Generated({{printf "%q" .Form}}, map[string]string{
{{range $name, $text := .Texts}}		{{printf "%q" $name}}: {{printf "%q" $text}},
{{end}}	})
{{end}}	cli.Main(set)
}
`))

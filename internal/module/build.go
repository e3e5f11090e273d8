package module

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/weft-rl/weft/internal/compile/project"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/policy"
)

// Named is a package named on the command line, with the variable it must
// declare.
type Named struct{ Path, Variable string }

// Maker makes programs and binaries of authors' packages.
type Maker struct {
	Policies []policy.Policy        // the policies of this binary
	Hash     func() (string, error) // returns the hash of this binary, which generates the programs
	// Unread is told of a loop that cannot be read. Its error ends what was begun, unless the loop
	// runs as it stands.
	Unread func(r project.Result) error
	// Refused is told of a loop that some policies cannot take apart.
	Refused func(r project.Result)
}

// Under says which policy a loop is to run under. Without a name no loop is to run.
type Under struct {
	Policy string
	AsIs   bool // the policy runs the loop as it stands
}

// Binary is a program that knows authors' packages.
type Binary struct {
	Path string // path of the one for this machine

	tmp      string
	packages []*Package
	programs generated
}

// Folder begins the names of the folders that binaries are built in. A binary that runs in such a
// folder removes it.
const Folder = "weft-build-"

// Build builds, in the folder tmp, a binary that knows authors' packages. If it is to run a
// training loop under a policy, programs are generated for it.
func (m Maker) Build(ctx context.Context, tmp string, packages []*Package, under Under) (b *Binary, err error) {
	b = &Binary{tmp: tmp, packages: packages, programs: generated{overlay: overlay{}}}
	if under.Policy != "" {
		if b.programs, err = m.programs(ctx, tmp, packages, under.AsIs); err != nil {
			return nil, err
		}
	}
	b.Path, err = b.build(ctx, "weft")
	return b, err
}

// For builds the same for another platform, such as linux/arm64, and returns its path. It has no
// cgo.
func (b *Binary) For(ctx context.Context, platform string) (string, error) {
	system, arch, _ := strings.Cut(platform, "/")
	return b.build(ctx, "weft-"+system+"-"+arch, "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
}

func (b *Binary) build(ctx context.Context, name string, env ...string) (string, error) {
	path, err := build(ctx, b.tmp, name, b.packages, b.programs, env)
	if err != nil {
		var named []Named
		for _, p := range b.packages {
			named = append(named, p.Named)
		}
		return "", fmt.Errorf("%s: %w", Paths(named), err)
	}
	return path, nil
}

// Paths returns the paths of packages as a user would write them in a sentence.
func Paths(packages []Named) string {
	var out []string
	for _, p := range packages {
		out = append(out, p.Path)
	}
	return strings.Join(out, " and ")
}

// build makes the binary of a name under tmp, with more variables for the go command.
func build(ctx context.Context, tmp, name string, packages []*Package, files generated, env []string) (string, error) {
	module := packages[0].Module
	list, err := files.write(tmp, module.Dir, packages)
	if err != nil {
		return "", err
	}
	flags, err := moduleFlags(ctx, tmp, module)
	if err != nil {
		return "", err
	}
	bin := filepath.Join(tmp, name)
	// Without what debuggers want, which nobody will look at, it is linked in half the time.
	args := append([]string{"build", "-overlay", list, "-ldflags=-w", "-o", bin}, flags...)
	if device.HasXLA && env == nil { // it has the devices of this one
		args = append(args, "-tags", "xla")
	}
	_, err = goCommandWith(ctx, env, module.Dir, append(args, "./"+overlayMain)...)
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
	texts map[string]string // texts of the files, by base name
}

// write generates the main package, and the list that puts it into the author's
// module together with other files.
func (o generated) write(tmp, root string, packages []*Package) (string, error) {
	var b bytes.Buffer
	err := mainTemplate.Execute(&b, struct {
		Folder   string // beginning of the name
		Packages []*Package
		Form     string
		Texts    map[string]string
	}{Folder, packages, o.form, o.texts})
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

// The folder that the program was built in goes first of all, while it runs: nobody is left to
// remove it afterwards where it has taken its parent's place. The folder's name is not part of the
// program, so that the same sources have the same hash.
var mainTemplate = template.Must(template.New("main").Parse(`package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/cli"
{{range $i, $p := .Packages}}	p{{$i}} "{{$p.ImportPath}}"
{{end}})

func main() {
	if self, err := os.Executable(); err == nil && strings.HasPrefix(filepath.Base(filepath.Dir(self)), {{printf "%q" .Folder}}) {
		_ = os.RemoveAll(filepath.Dir(self))
	}
	set := weft.Builtin()
{{range $i, $p := .Packages}}{{range $p.Offers}}	set.At({{printf "%q" $p.Path}}, {{printf "%q" $p.Full}}, p{{$i}}.{{.}})
{{end}}{{end}}{{if .Form}}	set.Generated({{printf "%q" .Form}}, map[string]string{
{{range $name, $text := .Texts}}		{{printf "%q" $name}}: {{printf "%q" $text}},
{{end}}	})
{{end}}	cli.Main(set)
}
`))

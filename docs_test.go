package weft_test

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/app"
)

// TestDocs runs the commands of README.md and docs/, in order and in one folder
// for each page, so that they stay true. Training is cut short; what is tested
// is that the commands work, not what they learn.
func TestDocs(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "README.md") {
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, page))
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			t.Setenv("WEFT_CACHE", t.TempDir())
			writeFiles(t, root, string(text))
			for _, line := range commands(string(text)) {
				if !python.MatchString(line) {
					runLine(t, line)
					continue
				}
				t.Run(line, func(t *testing.T) {
					needsPython(t)
					runLine(t, line)
				})
			}
		})
	}
}

// python finds commands that need Python, or what its packages have.
var python = regexp.MustCompile(`\b(gym|atari|zoo):|runs/gym|\b(HalfCheetah|Ant)-v5`)

var shell = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")

var goFile = regexp.MustCompile("(?ms)^```go\n// (\\S+\\.go)\n(.*?)^```")

// writeFiles writes the files of a page: the Go blocks that begin with a path, into
// a module that has this repository beside it and requires nothing else, and the
// Python and YAML ones that do.
func writeFiles(t *testing.T, root, page string) {
	t.Helper()
	for i, block := range goFile.FindAllStringSubmatch(page, -1) {
		if i == 0 {
			t.Setenv("GOPROXY", "off")
			write(t, "go.mod", "module example.com/pages\n\n"+goVersion(t, root)+
				"\nrequire github.com/weft-rl/weft v0.0.0\n\nreplace github.com/weft-rl/weft => "+root+"\n")
		}
		write(t, block[1], block[2])
	}
	for _, kind := range []*regexp.Regexp{script, settingsFile} {
		for _, block := range kind.FindAllStringSubmatch(page, -1) {
			write(t, block[1], block[2])
		}
	}
}

// goVersion is the line of this module that says which Go it needs.
func goVersion(t *testing.T, root string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^go .*\n`).FindString(string(text))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// commands are the lines of a page's shell blocks that call weft.
func commands(page string) (out []string) {
	for _, block := range shell.FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(block[1]) {
			line = strings.TrimSpace(line)
			line = strings.Replace(line, "go run ./cmd/weft ", "weft ", 1)
			if rest, ok := strings.CutPrefix(line, "weft "); ok {
				out = append(out, rest)
			}
		}
	}
	return out
}

var script = regexp.MustCompile("(?ms)^```python\n# (\\S+\\.py)\n(.*?)^```")

var settingsFile = regexp.MustCompile("(?ms)^```yaml\n# (\\S+\\.yaml)\n(.*?)^```")

// needsPython skips what needs Python's packages where they are absent; CI counts it.
func needsPython(t *testing.T) {
	if err := packages(); err != nil {
		t.Skipf("bridge test skipped: not all of gymnasium, ale-py, pettingzoo, mpe2 and mujoco are there: %v", err)
	}
}

// packages looks for them, once.
var packages = sync.OnceValue(func() error {
	python := cmp.Or(os.Getenv("WEFT_PYTHON"), "python3")
	return exec.Command(python, "-c", "import gymnasium, ale_py, pettingzoo, mpe2, mujoco").Run()
})

func runLine(t *testing.T, line string) {
	t.Helper()
	var args []string
	for _, a := range strings.Fields(line) {
		args = append(args, strings.Trim(a, `"`))
	}
	if args[0] == "train" {
		args = append(args, "--steps", "2048", "--eval-episodes", "2")
	}
	var out, problems bytes.Buffer
	if code := app.Run(context.Background(), weft.Builtin(), args, &out, &problems); code != 0 {
		t.Errorf("weft %s: exit code %d\n%s%s", line, code, out.String(), problems.String())
	}
}

// TestCommands: the pages have commands, or TestDocs would test nothing.
func TestCommands(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if got := commands(string(text)); len(got) < 5 {
		t.Errorf("only %d commands were found in README.md: %q", len(got), got)
	}
}

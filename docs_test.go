package weft_test

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestDocs follows README.md and then docs/, page by page and command by command, in
// one folder, as a reader does who types what is there. It gives every run the same
// share of its steps, so that a run that goes on has more to do in the test if it has
// for the reader; it tests that commands work, not what they learn.
func TestDocs(t *testing.T) {
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{weft: filepath.Join(t.TempDir(), "weft"), root: root}
	if out, err := exec.Command("go", "build", "-ldflags=-w", "-o", r.weft, "./cmd/weft").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Chdir(t.TempDir())
	t.Setenv("WEFT_CACHE", t.TempDir())
	t.Setenv("GOPROXY", "off")
	for _, page := range pages(t, root) {
		t.Run(page, func(t *testing.T) { r.read(t, page) })
	}
}

// pages lists README.md and the pages that it names, in its order. It names all.
func pages(t *testing.T, root string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	out := []string{"README.md"}
	for _, m := range regexp.MustCompile(`(?m)\]\((docs/[a-z0-9]+\.md)`).FindAllStringSubmatch(contents(string(text)), -1) {
		if !slices.Contains(out, m[1]) {
			out = append(out, m[1])
		}
	}
	all, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range all {
		if name := "docs/" + filepath.Base(page); !slices.Contains(out, name) {
			t.Errorf("README.md does not say where to find %s", name)
		}
	}
	return out
}

// contents returns the list of pages at README's end.
func contents(readme string) string {
	_, list, _ := strings.Cut(readme, "## Where to read on")
	return list
}

// reader types the commands of pages.
type reader struct{ weft, root string }

// read follows one page.
func (r *reader) read(t *testing.T, page string) {
	text, err := os.ReadFile(filepath.Join(r.root, page))
	if err != nil {
		t.Fatal(err)
	}
	r.writeFiles(t, string(text))
	for _, line := range commands(string(text)) {
		if elsewhere.MatchString(line) {
			continue
		}
		if !python.MatchString(line) {
			r.typed(t, line)
			continue
		}
		t.Run(line, func(t *testing.T) {
			needsPython(t)
			r.typed(t, line)
		})
	}
}

// elsewhere finds commands that need more than this machine and this folder: another
// device, other machines, an object store, peers to measure, an author's package, games and data
// that CI's packages do not have. Those of examples/ are followed by TestExample and its like.
var elsewhere = regexp.MustCompile(`--device (cuda|xla)|gym:MinAtar|minari:|devices \S*cuda|10\.0\.0\.|s3://|\./(my|examples|\.\.\.)|^bench (engine|gpu --(python|precision))|^generate ppo`)

// python finds commands that need Python, or what its packages have.
var python = regexp.MustCompile(`\b(gym|atari|zoo):|runs/gym|\b(HalfCheetah|Ant)-v5`)

var block = regexp.MustCompile("(?ms)^```(sh|console)\n(.*?)^```")

var goFile = regexp.MustCompile("(?ms)^```go\n// (\\S+\\.go)\n(.*?)^```")

var script = regexp.MustCompile("(?ms)^```python\n# (\\S+\\.py)\n(.*?)^```")

var settingsFile = regexp.MustCompile("(?ms)^```yaml\n# (\\S+\\.yaml)\n(.*?)^```")

// writeFiles writes the files of a page: the Go blocks that begin with a path, into
// a module that has this repository beside it and requires nothing else, and the
// Python and YAML ones that do.
func (r *reader) writeFiles(t *testing.T, page string) {
	t.Helper()
	for i, file := range goFile.FindAllStringSubmatch(page, -1) {
		if i == 0 {
			write(t, "go.mod", "module example.com/pages\n\n"+goVersion(t, r.root)+
				"\nrequire github.com/weft-rl/weft v0.0.0\n\nreplace github.com/weft-rl/weft => "+r.root+"\n")
		}
		write(t, file[1], file[2])
	}
	for _, kind := range []*regexp.Regexp{script, settingsFile} {
		for _, file := range kind.FindAllStringSubmatch(page, -1) {
			write(t, file[1], file[2])
		}
	}
}

// goVersion returns the line of this module that says which Go it needs.
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

// commands lists what a page calls weft with, in order: the lines of its shell blocks,
// and those behind a prompt, without what a comment says of them.
func commands(page string) (out []string) {
	for _, b := range block.FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(b[2]) {
			line = strings.TrimSpace(strings.TrimPrefix(line, "$ "))
			line, _, _ = strings.Cut(line, "  #")
			line = strings.Replace(line, "go run ./cmd/weft ", "weft ", 1)
			if rest, ok := strings.CutPrefix(line, "weft "); ok {
				out = append(out, strings.TrimSpace(rest))
			}
		}
	}
	return out
}

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

// shorterBy divides the steps of a reader's runs.
const shorterBy = 250

// typed runs one command, which must end well.
func (r *reader) typed(t *testing.T, line string) {
	t.Helper()
	var args []string
	for _, a := range strings.Fields(line) {
		args = append(args, strings.Trim(a, `"'`))
	}
	shorten(args)
	if args[0] == "train" {
		if !slices.Contains(args, "--steps") {
			args = append(args, "--steps", shorter(r.budget(t, line, args)))
		}
		if slices.Contains(args, "--env") || !slices.Contains(args, "--data") { // else there is nothing to evaluate in
			args = append(args, "--eval-episodes", "1")
		}
	}
	if slices.Contains(servers, args[0]) {
		r.served(t, line, args)
		return
	}
	if out, err := exec.Command(r.weft, args...).CombinedOutput(); err != nil {
		t.Errorf("weft %s: %v\n%s", line, err, out)
	}
}

// servers are the commands that go on until they are interrupted.
var servers = []string{"serve", "ui"}

// served runs a server until it says where it is, and interrupts it.
func (r *reader) served(t *testing.T, line string, args []string) {
	t.Helper()
	if !slices.Contains(args, "--listen") {
		args = append(args, "--listen", "127.0.0.1:0") // the usual address may be taken
	}
	cmd := exec.CommandContext(t.Context(), r.weft, args...)
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	first, _ := bufio.NewReader(out).ReadString('\n')
	if !strings.Contains(first, "http://127.0.0.1:") {
		t.Errorf("weft %s says %q", line, first)
	}
	_ = cmd.Process.Signal(os.Interrupt) // it may have ended
	if err := cmd.Wait(); err != nil {
		t.Errorf("weft %s: %v\n%s", line, err, problems.String())
	}
}

// budget asks for how many steps a command would train.
func (r *reader) budget(t *testing.T, line string, args []string) string {
	t.Helper()
	var problems strings.Builder
	cmd := exec.Command(r.weft, append(slices.Clone(args), "--dry-run")...)
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("weft %s: %v\n%s", line, err, problems.String())
	}
	m := regexp.MustCompile(`(?m)^steps: *(\d+)`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("weft %s --dry-run does not say how many steps:\n%s", line, out)
	}
	return string(m[1])
}

// shorten cuts the numbers of steps among a command's arguments.
func shorten(args []string) {
	for i, a := range args[:len(args)-1] {
		if slices.Contains([]string{"--steps", "--eval-every", "--checkpoint-steps", "--exploit-every"}, a) {
			args[i+1] = shorter(args[i+1])
		}
	}
}

func shorter(steps string) string {
	n, err := strconv.ParseInt(strings.ReplaceAll(steps, "_", ""), 10, 64)
	if err != nil {
		return steps // which the command will say
	}
	return fmt.Sprint(max(1, n/shorterBy))
}

// TestCommands: the pages have commands, or TestDocs would test nothing.
func TestCommands(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if got := commands(string(text)); len(got) < 15 {
		t.Errorf("only %d commands were found in README.md: %q", len(got), got)
	}
}

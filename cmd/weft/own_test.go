//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/cli"
)

// own returns a copy of the module of an author, who has this repository beside it
// and requires nothing else.
func own(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "own"))); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod.txt"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "go.mod"), []byte(strings.Replace(string(mod), "ROOT", root, 1)), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// An author's environment is trained, interrupted, resumed from elsewhere and
// evaluated as a built-in one is.
func TestOwnEnvironment(t *testing.T) {
	dir := own(t)
	before := goMod(t, dir)
	args := func(out string) []string {
		return []string{
			"train", "ppo", "--env", "./env?numbers=4", "--steps", "6400", "--eval-episodes", "4", "--json", "--out", out,
			"--set", "envs=2", "--set", "horizon=8", "--set", "hidden=8", "--set", "epochs=1", "--set", "minibatches=1",
		}
	}
	line, _ := do(t, dir, 0, args("whole")...)
	want := parse(t, line)
	if want.Event != "done" || want.Env != "Parity-v0" || want.Steps != 6400 || want.Episodes != 640 {
		t.Fatalf("%+v", want)
	}
	p := start(t, dir, args("broken")...)
	p.until(`"iteration"`, 10)
	p.signal(syscall.SIGINT) // to the process that was started: it has become the built one
	if line, code := p.end(); code != 130 || parse(t, line).Event != "interrupted" {
		t.Fatalf("exit code %d, %s", code, line)
	}
	elsewhere := t.TempDir()
	out := filepath.Join(dir, "broken")
	line, _ = do(t, elsewhere, 0, "resume", out, "--json")
	sameBits(t, parse(t, line), want)
	line, _ = do(t, elsewhere, 0, "eval", out, "--episodes", "5", "--json")
	if !strings.Contains(line, `"event":"eval"`) || !strings.Contains(line, `"episodes":5,`) {
		t.Error(line)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 10 { // what was copied, go.mod and two runs
		t.Errorf("the module now holds %q", left)
	}
	if goMod(t, dir) != before {
		t.Error("the author's go.mod has changed")
	}
}

func goMod(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// An author's algorithm too; its presets know the author's environment, and its
// settings are shown.
func TestOwnAlgorithm(t *testing.T) {
	dir := own(t)
	p := start(t, dir, "train", "./algo", "--env", "./env", "--json", "--out", "mine", "--eval-episodes", "0")
	line, code := p.end()
	if e := parse(t, line); code != 0 || e.Algorithm != "mine" || e.Env != "Parity-v0" || e.Steps != 1280 {
		t.Errorf("exit code %d, %+v", code, e)
	}
	if left, _ := filepath.Glob(filepath.Join(tmpOf(p), "*")); len(left) != 0 {
		t.Errorf("left in the folder for temporary files: %q", left)
	}
	line, _ = do(t, dir, 0, "list", "algorithms", "./algo", "--json")
	if !strings.Contains(line, `"name":"mine"`) || !strings.Contains(line, `"key":"learning_rate"`) || !strings.Contains(line, `"env":"Parity-v0"`) {
		t.Error(line)
	}
}

// A program with a command line of its own stays itself: what was built runs
// beside it.
func TestOwnInProcess(t *testing.T) {
	t.Chdir(own(t))
	t.Setenv("GOPROXY", "off")
	var out, errs bytes.Buffer
	args := []string{"list", "envs", "./env", "--json"}
	if code := cli.Run(t.Context(), weft.Builtin(), args, &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	if !strings.HasPrefix(out.String(), `{"name":"Parity-v0"`) || !strings.Contains(out.String(), `"key":"numbers"`) {
		t.Error(out.String())
	}
	if code := cli.Run(t.Context(), weft.Builtin(), append(args, "--jsn"), &out, &errs); code != 2 {
		t.Errorf("exit code %d", code)
	}
}

// tmpOf returns the folder that a process has for temporary files.
func tmpOf(p *process) string {
	for _, e := range p.Env {
		if dir, ok := strings.CutPrefix(e, "TMPDIR="); ok {
			return dir
		}
	}
	return ""
}

// What is no package of an author is refused with a sentence.
func TestOwnMistakes(t *testing.T) {
	dir := own(t)
	nowhere := t.TempDir()
	if err := os.WriteFile(filepath.Join(nowhere, "x.go"), []byte("package x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		algo, env string
		want      []string
	}{
		{"ppo", "./absent", []string{"./absent: there is no such folder"}},
		{"ppo", "./empty", []string{"./empty holds no Go package"}},
		{"ppo", "./command", []string{"./command is a main package"}},
		{"ppo", "./missing", []string{"./missing declares no variable Environment", "var Environment = env.Entry{...}"}},
		{"./env", "./env", []string{"./env declares no variable Algorithm", "var Algorithm = algo.Define(...)"}},
		{"ppo", "./broken", []string{"./broken: go build", "broken.go:5:", "undefined: undefined"}},
		{"ppo", "./wrong", []string{"./wrong offers a string", "env.Entry"}},
		{"ppo", nowhere, []string{nowhere + " is in no module", "go mod init"}},
		{"./nothing", "./empty", []string{"./nothing: there is no such folder", "./empty holds no Go package"}},
	} {
		t.Run(c.algo+" "+filepath.Base(c.env), func(t *testing.T) {
			_, errors := do(t, dir, 2, "train", c.algo, "--env", c.env, "--steps", "64", "--out", "never")
			for _, want := range c.want {
				if !strings.Contains(errors, want) {
					t.Errorf("%q does not say %q", errors, want)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "never")); err == nil {
				t.Error("a run that cannot start left a folder")
			}
		})
	}
}

package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/cli"
)

// programs are the projector's fixtures.
const programs = "../internal/compile/project/testdata/src/"

func generate(args ...string) (code int, out, err string) {
	var o, e bytes.Buffer
	set := app.Set{Algorithms: []algo.Algorithm{ppo.Algorithm}}
	code = cli.Run(context.Background(), set, append([]string{"generate"}, args...), &o, &e)
	return code, o.String(), e.String()
}

func TestGenerate(t *testing.T) {
	for _, c := range []struct {
		args     string
		code     int
		out, err string // parts of what is printed
	}{
		{"--check ppo", 0, "", ""},
		{"--check ./" + programs + "broken", 1, "gen_old.go", ""},
		{"--check ./" + fixtures + "src/findings/goroutine", 1, "", "a goroutine hides"},
		{"--check ./" + fixtures + "src/loops/gail", 1, "gen_coarse.go", "note: no programs for learners"},
		{"../rl", 1, "", "no function"},
		{"pqo", 2, "", `did you mean "ppo"`},
		{"", 2, "", "requires at least 1 arg"},
	} {
		code, out, err := generate(strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(err, c.err) {
			t.Errorf("weft generate %s: code %d, want %d\nout: %s\nerr: %s", c.args, code, c.code, out, err)
		}
		if c.out == "" && out != "" {
			t.Errorf("weft generate %s: printed %s", c.args, out)
		}
	}
}

// lister counts the generated files in a folder when the first of them is listed.
type lister struct {
	bytes.Buffer
	dir   string
	files int
}

func (l *lister) Write(p []byte) (int, error) {
	if l.Len() == 0 {
		list, err := filepath.Glob(filepath.Join(l.dir, "gen_*"))
		if err != nil {
			return 0, err
		}
		l.files = len(list) - 1 // but for the author's own
	}
	return l.Buffer.Write(p)
}

// TestGenerateWrites: files are written once, and those that nothing generates are
// removed; an author's own are not touched.
func TestGenerateWrites(t *testing.T) {
	dir, err := os.MkdirTemp(programs, "tmp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.CopyFS(dir, os.DirFS(programs+"broken")); err != nil {
		t.Fatal(err)
	}
	var problems bytes.Buffer
	out := &lister{dir: dir}
	code := cli.Run(context.Background(), app.Set{}, []string{"generate", "./" + dir}, out, &problems)
	if code != 0 || !strings.Contains(out.String(), "gen_weft.go") {
		t.Fatalf("code %d\n%s%s", code, out, &problems)
	}
	if want := strings.Count(out.String(), "gen_") - 1; out.files != want { // one is removed
		t.Errorf("%d of %d files were there when the first was listed, so that a reader that goes away would lose some", out.files, want)
	}
	if code, out, _ := generate("--check", "./"+dir); code != 0 || out != "" {
		t.Errorf("written files are stale: %s", out)
	}
	for name, want := range map[string]bool{"gen_old.go": false, "gen_mine.go": true, "gen_coarse.go": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

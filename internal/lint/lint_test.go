// Package lint holds the rules of the code base that the compiler does not
// know, as tests.
package lint

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/weft-rl/weft"

// table reads the map of ARCHITECTURE.md: for every folder the folders that it may import. A row
// holds for the folders below it as well, unless they have rows of their own. A package is named
// by its path, or by the end of it where that says which.
func table(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows, packages := map[string]string{}, []string{"internal", "engine/internal"}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 4 || !strings.Contains(cells[1], "`") {
			continue
		}
		for _, name := range code.FindAllString(cells[1], -1) {
			name = strings.TrimSuffix(strings.Trim(name, "`"), "/<name>")
			if name == "weft" { // the root
				name = ""
			}
			rows[name] += ", " + strings.TrimSpace(cells[3])
			packages = append(packages, name)
		}
	}
	out := map[string][]string{}
	for name, list := range rows {
		out[name] = resolved(t, name, list, packages)
	}
	return out
}

var code = regexp.MustCompile("`[^`]+`")

// resolved returns the packages that a cell of the map names.
func resolved(t *testing.T, of, list string, packages []string) (out []string) {
	for name := range strings.SplitSeq(list, ",") {
		name = strings.Trim(strings.TrimSpace(name), "`")
		switch {
		case name == "" || name == "-":
			continue
		case name == "weft":
			name = ""
		case !slices.Contains(packages, name):
			var ends []string
			for _, p := range packages {
				if strings.HasSuffix(p, "/"+name) && !slices.Contains(ends, p) {
					ends = append(ends, p)
				}
			}
			if len(ends) != 1 {
				t.Errorf("the map of ARCHITECTURE.md lets %s import %q, by which it means %d packages %v: name one by its path", of, name, len(ends), ends)
				continue
			}
			name = ends[0]
		}
		out = append(out, name)
	}
	return out
}

// TestImports: algorithms never import the system, the system never imports
// algorithms; they meet in algo.Algorithm.
func TestImports(t *testing.T) {
	root, may := filepath.Join("..", ".."), table(t)
	files := 0
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".git") || d.Name() == "runs") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		files++
		rel, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		check(t, may, file, strings.TrimPrefix(filepath.ToSlash(rel), "."))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 20 {
		t.Fatalf("only %d files were read: is %s the root of the module?", files, root)
	}
}

func check(t *testing.T, may map[string][]string, file, folder string) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Error(err)
		return
	}
	for _, i := range f.Imports {
		rest, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module)
		if !ours {
			continue
		}
		if target := strings.TrimPrefix(rest, "/"); !allowed(may, folder, target) {
			t.Errorf("%s imports %s, which ARCHITECTURE.md's map does not allow", file, path.Join(module, target))
		}
	}
}

func allowed(may map[string][]string, folder, target string) bool {
	rule := folder
	for {
		list, ok := may[rule]
		if ok {
			for _, l := range append(list, rule) {
				if target == l || l != "" && strings.HasPrefix(target, l+"/") {
					// One algorithm may build on another, but the system on none.
					return !(strings.HasPrefix(target, "algo/") && !strings.HasPrefix(folder, "algo") && folder != "")
				}
			}
			return false
		}
		if rule == "" || rule == "." {
			return false
		}
		if rule = path.Dir(rule); rule == "." {
			rule = ""
		}
	}
}

// TestAllowed shows that the rules refuse what they are there to refuse.
func TestAllowed(t *testing.T) {
	may := table(t)
	for _, c := range []struct {
		folder, target string
		want           bool
	}{
		{"algo/ppo", "rl", true}, {"algo/ppo", "env", true}, {"algo/ppo", "app", false},
		{"algo/ppo", "internal/run/runner", false}, {"algo/pbt", "algo/ppo", true},
		{"cli", "algo", true}, {"cli", "algo/ppo", false}, {"internal/run/runner", "algo/ppo", false},
		{"rl", "env", false}, {"env/classic", "env", true}, {"env/classic", "nn", false},
		{"", "algo/ppo", true}, {"cmd/weft", "", true}, {"somewhere", "rl", false},
	} {
		if got := allowed(may, c.folder, c.target); got != c.want {
			t.Errorf("%q importing %q: allowed %v, want %v", c.folder, c.target, got, c.want)
		}
	}
}

// TestSystem: what authors' packages use of rl is the vocabulary; rl.System is the runtime's, and
// generated programs reach it through package edge.
func TestSystem(t *testing.T) {
	root, files := filepath.Join("..", ".."), 0
	for _, folder := range []string{"algo", "env", "examples", "league", "nn", "replay", "search"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			files++
			text, err := os.ReadFile(file)
			if system.Match(text) {
				t.Errorf("%s uses rl.System, which is for the runtime: use a word of the vocabulary, or add one", file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 50 {
		t.Fatalf("only %d files were read: is %s the root of the module?", files, root)
	}
	for text, want := range map[string]bool{"rl.System.Fuse(run)": true, "url.System": false, "rl.Systems": false} {
		if system.MatchString(text) != want {
			t.Errorf("%s: found %v, want %v", text, !want, want)
		}
	}
}

var system = regexp.MustCompile(`\brl\.System\b`)

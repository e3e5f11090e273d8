// Package lint holds the rules of the code base that the compiler does not
// know, as tests.
package lint

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/weft-rl/weft"

// may says what the packages of each folder may import of ours: the map of
// ARCHITECTURE.md. The longest matching folder counts, and a folder may always
// import what lies below itself.
var may = map[string][]string{
	"rl":                          {},
	"env":                         {"rl"},
	"env/mujoco":                  {"rl", "env", "internal/config"},
	"replay":                      {"rl"},
	"nn":                          {"rl"},
	"algo":                        {"rl", "env", "replay", "nn", "algo", "edge", "plan"}, // the last two for generated code
	"engine":                      {"engine"},
	"fdg":                         {},
	"plan":                        {"fdg"},
	"policy":                      {"fdg", "plan"},
	"edge":                        {"rl", "plan", "fdg"},
	"internal/algotest":           {"rl", "env", "algo", "app", "internal/config", "internal/device"},
	"internal/bench":              {"engine", "rl", "edge", "internal/device", "internal/run/mesh", "internal/run/part"},
	"internal/chaos":              {"internal/metrics", "internal/run/certs", "internal/run/control", "internal/run/core", "internal/run/part", "internal/run/port"},
	"internal/config":             {},
	"internal/metrics":            {},
	"internal/device":             {"rl", "engine"},
	"internal/lint":               {},
	"internal/compile/vocabulary": {"fdg"},
	"internal/compile/tree":       {},
	"internal/compile/analyze":    {"fdg", "internal/config", "internal/compile/tree", "internal/compile/vocabulary"},
	"internal/compile/project":    {"fdg", "plan", "edge", "internal/compile/tree", "internal/compile/vocabulary", "internal/compile/analyze"},
	"internal/run/checkpoint":     {},
	"internal/run/dist":           {"rl", "fdg", "plan", "edge"},
	"internal/run/reference":      {"rl"},
	"internal/run/durable":        {},
	"internal/run/part":           {"plan", "internal/run/durable"},
	"internal/run/wire":           {"rl", "edge"},
	"internal/run/mesh":           {"rl", "edge", "internal/run/part", "internal/run/scratch", "internal/run/wire", "internal/run/ring", "internal/run/sum", "internal/run/bound"},
	"internal/run/bound":          {},
	"internal/run/port":           {},
	"internal/run/ring":           {},
	"internal/run/sum":            {},
	"internal/run/scratch":        {"internal/run/checkpoint"},
	"internal/run/store":          {"internal/run/durable", "internal/run/port"},
	"internal/run/process":        {"fdg", "plan", "edge", "internal/metrics", "internal/run/checkpoint", "internal/run/dist", "internal/run/local", "internal/run/mesh", "internal/run/part", "internal/run/store"},
	"internal/run/core":           {"plan", "internal/run/part"},
	"internal/run/control":        {"internal/run/part", "internal/run/core"},
	"internal/run/certs":          {},
	"internal/run/etcd":           {"internal/run/checkpoint", "internal/run/core", "internal/run/coordinator"},
	"internal/run/coordinator":    {"plan", "internal/metrics", "internal/run/checkpoint", "internal/run/durable", "internal/run/part", "internal/run/core", "internal/run/control", "internal/run/bound"},
	"internal/run/worker":         {"internal/run/part", "internal/run/core", "internal/run/control"},
	"internal/verify":             {"rl", "env", "algo", "fdg", "plan", "edge", "internal/run/checkpoint", "internal/run/local", "internal/run/reference"},
	"internal/run/local":          {"rl", "env", "algo", "fdg", "plan", "edge", "internal/metrics", "internal/run/checkpoint", "internal/run/dist", "internal/run/part", "internal/run/store"},
	"app":                         {"cli"},
	"cli":                         {"rl", "env", "algo", "fdg", "plan", "policy", "edge", "internal"},
	"cmd":                         {"", "cli"},
	"examples":                    {"rl", "env", "replay", "nn", "algo", "fdg", "plan", "policy", "edge"}, // what an author has
	"cmd/weft-vet":                {"internal/compile/analyze"},
	"":                            {"algo", "app", "env", "policy"},
}

// TestImports: algorithms never import the system, the system never imports
// algorithms; they meet in algo.Algorithm.
func TestImports(t *testing.T) {
	root := filepath.Join("..", "..")
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
		check(t, file, strings.TrimPrefix(filepath.ToSlash(rel), "."))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 20 {
		t.Fatalf("only %d files were read: is %s the root of the module?", files, root)
	}
}

func check(t *testing.T, file, folder string) {
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
		if target := strings.TrimPrefix(rest, "/"); !allowed(folder, target) {
			t.Errorf("%s imports %s, which ARCHITECTURE.md's map does not allow", file, path.Join(module, target))
		}
	}
}

func allowed(folder, target string) bool {
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
	for _, c := range []struct {
		folder, target string
		want           bool
	}{
		{"algo/ppo", "rl", true}, {"algo/ppo", "env", true}, {"algo/ppo", "app", false},
		{"algo/ppo", "internal/run/local", false}, {"algo/pbt", "algo/ppo", true},
		{"cli", "algo", true}, {"cli", "algo/ppo", false}, {"internal/run/local", "algo/ppo", false},
		{"rl", "env", false}, {"env/classic", "env", true}, {"env/classic", "nn", false},
		{"", "algo/ppo", true}, {"cmd/weft", "", true}, {"somewhere", "rl", false},
	} {
		if got := allowed(c.folder, c.target); got != c.want {
			t.Errorf("%q importing %q: allowed %v, want %v", c.folder, c.target, got, c.want)
		}
	}
}

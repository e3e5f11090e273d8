package lint

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// top lists the files and folders at the root of the repository. Whoever adds one says so here.
var top = []string{
	".ci", ".gitignore", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "algo", "app", "async_test.go", "cli",
	"cmd", "confine_test.go", "data", "docs", "docs_test.go", "edge", "engine", "env", "examples", "examples_test.go", "fdg", "go.mod", "go.sum",
	"internal", "league", "matrix_test.go", "nn", "plan", "policies_test.go", "policy", "processes_test.go", "replay", "rl", "search", "staticcheck.conf", "weft.go",
}

// maxFile bounds the size of a file outside testdata, in bytes. Programs write larger ones, whose
// names begin with gen_.
const maxFile = 64 << 10

// TestTree: nothing is at the root that is not known, and no file is large but in testdata.
func TestTree(t *testing.T) {
	root := filepath.Join("..", "..")
	files := tracked(t, root)
	size := func(file string) int64 {
		info, err := os.Stat(filepath.Join(root, file))
		if err != nil { // it was removed and that is not committed yet
			return 0
		}
		return info.Size()
	}
	if len(files) < 500 {
		t.Fatalf("only %d files are tracked: is %s the root of the repository?", len(files), root)
	}
	for _, complaint := range untidy(files, size) {
		t.Error(complaint)
	}
	for _, name := range top {
		if !slices.ContainsFunc(files, func(f string) bool { return f == name || strings.HasPrefix(f, name+"/") }) {
			t.Errorf("%s is on the list of what is at the root, and is not there: remove it from the list", name)
		}
	}
}

// tracked returns the files that git knows, and those that it neither knows nor ignores.
func tracked(t *testing.T, root string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == 0 })
}

// untidy returns what is wrong with the places and sizes of files.
func untidy(files []string, size func(string) int64) (out []string) {
	for _, file := range files {
		if name, _, _ := strings.Cut(file, "/"); !slices.Contains(top, name) {
			out = append(out, file+" is unknown at the root: move it into a folder, or add "+name+" to the list in internal/lint/tree_test.go")
		}
		generated := strings.HasPrefix(filepath.Base(file), "gen_")
		if n := size(file); n > maxFile && !generated && !strings.Contains("/"+file, "/testdata/") {
			out = append(out, file+" is larger than 64 KiB: split it, or move it into testdata")
		}
	}
	return out
}

// TestUntidy shows that the rule refuses what it is there to refuse.
func TestUntidy(t *testing.T) {
	sizes := map[string]int64{
		"README.md": 10, ".13511": 10, "trace/x": 10, "cli/main.go": maxFile, "cli/big.go": maxFile + 1,
		"cli/testdata/big": maxFile + 1, "engine/gen_big.s": maxFile + 1,
	}
	var files []string
	for file := range sizes {
		files = append(files, file)
	}
	slices.Sort(files)
	got := untidy(files, func(file string) int64 { return sizes[file] })
	var named []string
	for _, text := range got {
		named = append(named, strings.Fields(text)[0])
	}
	if want := []string{".13511", "cli/big.go", "trace/x"}; !slices.Equal(named, want) {
		t.Errorf("refused %v, want %v", named, want)
	}
}

package lint

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// maxModules bounds the modules behind the library: whoever imports it has all of them in their
// go.sum, their build and their audits.
const maxModules = 30

// unwanted lists modules that only the command line may need.
var unwanted = []string{"go.etcd.io/", "github.com/minio/", "golang.org/x/tools", "github.com/spf13/", "google.golang.org/grpc"}

// TestModules: package app, and the root with weft.Load, are libraries, with little behind them.
func TestModules(t *testing.T) {
	for _, pkg := range []string{"./app", "."} {
		behind := modules(t, pkg)
		if len(behind) == 0 || len(behind) > maxModules {
			t.Errorf("%d modules are behind package %s, at most %d may be: %s", len(behind), pkg, maxModules, strings.Join(behind, ", "))
		}
		for _, m := range behind {
			if slices.ContainsFunc(unwanted, func(u string) bool { return strings.HasPrefix(m, u) }) {
				t.Errorf("package %s needs %s, which is for package cli: go list -deps -f '{{.ImportPath}} {{.Imports}}' %s shows by which import", pkg, m, pkg)
			}
		}
	}
	if all := modules(t, "./cli"); !slices.ContainsFunc(all, func(m string) bool { return strings.HasPrefix(m, unwanted[0]) }) {
		t.Errorf("package cli does not need %s: the list of what is unwanted is out of date", unwanted[0])
	}
}

// modules returns the modules behind a package, but ours.
func modules(t *testing.T, pkg string) (out []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", pkg)
	cmd.Dir = filepath.Join("..", "..")
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(string(text))
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(m string) bool { return m == module })
}

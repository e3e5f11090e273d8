package module

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInspect: a package that cannot become part of a binary is an error that says what to do.
func TestInspect(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":             "module example.com/mine\n\ngo 1.26\n",
		"command/main.go":    "package main\n\nfunc main() {}\n",
		"without/algo.go":    "package without\n\nvar Algorithms = 1\n",
		"with/algo.go":       "package with\n\nvar Algorithm, Policy = 1, 2\n",
		"environment/env.go": "package environment\n\nvar Environment, Policies = 1, 2\n",
		"empty/README":       "nothing\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ path, variable, want string }{
		{"missing", "Algorithm", "there is no such folder"},
		{"empty", "Algorithm", "holds no Go package"},
		{"command", "Algorithm", "is a main package: Algorithm must be declared in one that can be imported"},
		{"without", "Algorithm", "declares no variable Algorithm"},
		{"with", "Environment", "declares no variable Environment"},
		{"with", "Algorithm", "offers Algorithm Policy"},
		{"environment", "Environment", "offers Environment"},
		{"environment", "Policy", "offers Policies"},
	} {
		all, err := Inspect(t.Context(), []Named{{filepath.Join(dir, c.path), c.variable}})
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = "offers " + strings.Join(all[0].Offers, " ")
		}
		if !strings.HasSuffix(got, c.want) && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%s of %s: %q, want %q", c.variable, c.path, got, c.want)
		}
	}
}

// TestSums: the go.sum of a build has the lines of both modules, each once, in order.
func TestSums(t *testing.T) {
	mine, theirs := t.TempDir(), t.TempDir()
	for dir, text := range map[string]string{mine: "b v1 h1:x\na v1 h1:y\n", theirs: "c v1 h1:z\na v1 h1:y\n"} {
		if err := os.WriteFile(filepath.Join(dir, "go.sum"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := sums(mine, theirs, t.TempDir())
	if err != nil || strings.TrimSpace(string(got)) != "a v1 h1:y\nb v1 h1:x\nc v1 h1:z" {
		t.Errorf("%q, %v", got, err)
	}
}

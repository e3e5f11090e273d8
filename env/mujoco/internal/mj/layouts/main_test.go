package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestUpdate: a version's fields are put where its number belongs, and what there
// was stays.
func TestUpdate(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("a C compiler measures the layouts, and there is none")
	}
	include, file := t.TempDir(), filepath.Join(t.TempDir(), "table.tsv")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(include, "mujoco", "mujoco.h"), `
#define mjVERSION_HEADER 3008001
typedef struct { int n; struct { char c; double step; } opt; double* x; } mjModel;
`)
	write(file, "# of fields\nfield\t3.7.2\t3.17.0\nmjModel.n\t1\t2\nmjModel.opt.step\t3\t4\nmjModel.x\t5\t6\nmjModel.gone\t7\t8\n")
	want := "# of fields\nfield\t3.7.2\t3.8.1\t3.17.0\nmjModel.n\t1\t0\t2\nmjModel.opt.step\t3\t16\t4\nmjModel.x\t5\t24\t6\nmjModel.gone\t7\t-\t8\n"
	for range 2 { // the second time it is there
		if err := update(file, []string{include}); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%v, %s", err, got)
		}
	}
}

func TestRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "table.tsv")
	for text, want := range map[string]string{
		"field\t1.0.0\nmjModel.n\t1\n": "holds no mujoco/mujoco.h",
		"field\t1.0.0\nmjModel.n\n":    "row mjModel.n has 0 numbers for 1 versions",
		"field\t1.0.0\n":               "there are no fields",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := update(file, []string{t.TempDir()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestVersionOf(t *testing.T) {
	for n, want := range map[int]string{222: "2.2.2", 337: "3.3.7", 3008001: "3.8.1", 3017000: "3.17.0", 4000000: "4.0.0"} {
		if got := versionOf(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

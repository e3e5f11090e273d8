package mj

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// touch makes an empty file and the folders above it.
func touch(t *testing.T, path ...string) string {
	t.Helper()
	file := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLibrary(t *testing.T) {
	root := t.TempDir()
	file := touch(t, root, "some", "name.so")
	older, newer := touch(t, root, "package", "libmujoco.so.4.0.0"), touch(t, root, "package", "libmujoco.so.4.1.0")
	below := touch(t, root, "prefix", "lib", "libmujoco.so")
	empty := filepath.Join(root, "some")
	for _, x := range []struct{ given, env, want, err string }{
		{given: file, want: file},
		{given: older, env: below, want: older},
		{env: filepath.Dir(newer), want: newer},
		{env: filepath.Join(root, "prefix"), want: below},
		{given: empty, err: "option library names " + empty},
		{env: filepath.Join(root, "nowhere"), err: "WEFT_MUJOCO names"},
	} {
		t.Setenv("WEFT_MUJOCO", x.env)
		got, err := Library(x.given, "")
		if got != x.want || (err == nil) != (x.err == "") || err != nil && !strings.Contains(err.Error(), x.err) {
			t.Errorf("library %q, variable %q: %q, %v; want %q, %q", x.given, x.env, got, err, x.want, x.err)
		}
	}
}

// TestOrder: Python's package comes before the system's library, which is found
// where the loader looks.
func TestOrder(t *testing.T) {
	root := t.TempDir()
	system, own := touch(t, root, "system", "libmujoco.so.2.2.2"), touch(t, root, "package", "libmujoco.so.4.0.0")
	t.Setenv("LD_LIBRARY_PATH", filepath.Join(root, "none")+string(filepath.ListSeparator)+filepath.Dir(system))
	t.Setenv("WEFT_MUJOCO", "")
	for script, want := range map[string]string{"echo " + filepath.Dir(own) + "; echo": own, "echo; echo": system} {
		fake := touch(t, root, "bin", filepath.Base(want), "python")
		if err := os.WriteFile(fake, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(fake, 0o700); err != nil {
			t.Fatal(err)
		}
		if got, err := Library("", fake); got != want || err != nil {
			t.Errorf("%q: %q, %v; want %q", script, got, err, want)
		}
	}
}

// TestPython: where the packages are is asked for once, by whatever interpreter
// is named.
func TestPython(t *testing.T) {
	root := t.TempDir()
	fake := filepath.Join(root, "python")
	for _, x := range []struct {
		script string
		want   packages
	}{
		{"echo /a/mujoco; echo /b/gymnasium", packages{"/a/mujoco", "/b/gymnasium"}},
		{"echo; echo /b/gymnasium", packages{"", "/b/gymnasium"}},
		{"exit 1", packages{}},
		{"", packages{}},
	} {
		if err := os.WriteFile(fake, []byte("#!/bin/sh\n"+x.script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if got := askPython(fake); got != x.want {
			t.Errorf("%q: %+v, want %+v", x.script, got, x.want)
		}
	}
	if got := askPython(filepath.Join(root, "none")); got != (packages{}) {
		t.Errorf("without an interpreter: %+v", got)
	}
}

func TestModels(t *testing.T) {
	if got, err := Models("mine", ""); got != "mine" || err != nil {
		t.Errorf("given folder: %q, %v", got, err)
	}
}

// write makes a model file of a text.
func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "model.xml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/device"
)

// interpreterOf returns a program that says about itself what a test wants.
func interpreterOf(t *testing.T, says string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+says+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// Packages are judged by what the interpreter says, which is asked once.
func TestPython(t *testing.T) {
	schemes := []env.Scheme{{Prefix: "gym", Packages: []string{"gymnasium", "numpy"}}, {Prefix: "zoo", Packages: []string{"pettingzoo", "numpy"}}}
	for _, c := range []struct{ name, says, want string }{
		{"good", `echo '{"path":"/py","version":"3.12.1","packages":{"numpy":"2.0","gymnasium":"1.3"}}'`,
			"python ok 3.12.1 at /py|gymnasium ok 1.3, for gym: environments|numpy ok 2.0, for gym: and zoo: environments|" +
				"pettingzoo missing not installed, for zoo: environments: PY -m pip install pettingzoo"},
		{"old", `echo '{"path":"/py","version":"3.9.7","packages":{}}'`, "python missing /py is 3.9.7: install Python 3.10 or later, or name one with --python or WEFT_PYTHON|"},
		{"broken", "echo no such module >&2; exit 3", "python missing PY does not run (exit status 3: no such module): install"},
	} {
		t.Run(c.name, func(t *testing.T) {
			py := interpreterOf(t, c.says)
			var got []string
			for _, row := range Rows(Look(t.Context(), Python(py, schemes))) {
				got = append(got, strings.Join(row, " "))
			}
			if text := strings.ReplaceAll(strings.Join(got, "|"), py, "PY"); !strings.HasPrefix(text, c.want) {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}

// Findings of devices are by kind; what to do is behind the last colon of the reason.
func TestDevices(t *testing.T) {
	list := func() []device.Info {
		return []device.Info{
			{Name: "cpu", Usable: true}, {Name: "xla:cpu", Why: "no plugin: install one"},
			{Name: "cuda:0", Usable: true, What: "H200"}, {Name: "cuda:1", Usable: true, What: "H200"},
		}
	}
	got := Look(t.Context(), Devices(list))
	want := []Finding{{"xla:cpu", Missing, "no plugin", "install one"}, {"cuda", OK, "cuda:0 H200, cuda:1 H200", ""}}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %+v", got)
	}
}

// A folder in which nothing can be written is wrong; so is little memory.
func TestWrong(t *testing.T) {
	for _, c := range []Check{Disk(filepath.Join(t.TempDir(), "absent")), Memory(1 << 29)} {
		if f := c.Look(t.Context()); f.State != Wrong || f.Do == "" {
			t.Errorf("%s: %+v", c.Name, f)
		}
	}
	dir := t.TempDir()
	if f := Disk(dir).Look(t.Context()); f.State != OK {
		t.Errorf("%+v", f)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it left %v (%v)", left, err)
	}
	if f := Memory(0).Look(t.Context()); f.State != OK {
		t.Errorf("%+v", f)
	}
}

func TestReason(t *testing.T) {
	if what, do := reason(errors.New("a: b:\n  c")); what != "a: b" || do != "c" {
		t.Errorf("%q, %q", what, do)
	}
	if what, do := reason(errors.New("a")); what != "a" || do != "" {
		t.Errorf("%q, %q", what, do)
	}
}

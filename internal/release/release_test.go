package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestVersionOf(t *testing.T) {
	for described, want := range map[string]string{
		"v1.2.3": "1.2.3", "v1.2.3-dirty": "1.2.3+dirty", "v1.2.3-5-gabc123": "1.2.3+5.gabc123", "v1.2.3-5-gabc123-dirty": "1.2.3+5.gabc123.dirty",
		"abc123": "0.0.0+gabc123", "abc123-dirty": "0.0.0+gabc123.dirty",
	} {
		if got := versionOf(described); got != want {
			t.Errorf("%s is version %s, want %s", described, got, want)
		}
	}
}

var at = time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)

func some() []file {
	return []file{{"weft", []byte("program"), 0o755}, {"LICENSE", []byte("free"), 0o644}}
}

// TestPack: archives hold the files with their modes in one folder, and are the same every time.
func TestPack(t *testing.T) {
	name, data, err := pack("weft-1", "linux", some(), at)
	if err != nil || name != "weft-1.tar.gz" {
		t.Fatal(name, err)
	}
	if _, again, _ := pack("weft-1", "linux", some(), at); !bytes.Equal(data, again) {
		t.Error("two archives of the same files differ")
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(z)
	h, err := r.Next()
	text, _ := io.ReadAll(r)
	if err != nil || h.Name != "weft-1/weft" || h.Mode != 0o755 || !h.ModTime.Equal(at) || string(text) != "program" {
		t.Errorf("%v %+v %q", err, h, text)
	}
	name, data, err = pack("weft-1", "windows", some(), at)
	if err != nil || name != "weft-1.zip" {
		t.Fatal(name, err)
	}
	x, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil || len(x.File) != 2 || x.File[0].Name != "weft-1/weft" || x.File[0].Mode() != 0o755 {
		t.Errorf("%v %v", err, x.File)
	}
}

// TestBill: a bill names what is linked, replaced modules by what is in their place.
func TestBill(t *testing.T) {
	b := newBill(&debug.BuildInfo{
		GoVersion: "go1.26.5", Main: debug.Module{Path: "example.com/weft"}, Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}},
		Deps: []*debug.Module{{Path: "a", Version: "v1.0.0", Sum: "h1:x"}, {Path: "b", Version: "v1", Replace: &debug.Module{Path: "c", Version: "v2"}}},
	}, "1.2.3")
	var got []string
	for _, c := range append([]component{b.Metadata.Component}, b.Components...) {
		got = append(got, c.Purl)
	}
	if want := []string{"pkg:golang/example.com/weft@1.2.3", "pkg:golang/std@1.26.5", "pkg:golang/a@v1.0.0", "pkg:golang/c@v2"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if b.Components[1].Properties[0] != (property{"go:sum", "h1:x"}) || b.Metadata.Component.Properties[0].Value != "linux" {
		t.Errorf("%+v", b)
	}
	text, err := billOf(os.Args[0], "1")
	if err != nil || !bytes.Contains(text, []byte(`"bomFormat": "CycloneDX"`)) {
		t.Errorf("%v: %s", err, text)
	}
}

// TestWheel installs a wheel into a new environment, and does there what its README does: train,
// read, act.
func TestWheel(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("bridge test skipped: there is no python3")
	}
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PYTHONPATH=", "WEFT=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	binary := filepath.Join(dir, "built")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/weft")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	name, data, err := wheel("1.2.3+test", runtime.GOOS, runtime.GOARCH, program, at)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "use.py"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	run(python, "-m", "venv", "venv")
	bin := filepath.Join(dir, "venv", "bin")
	run(filepath.Join(bin, "pip"), "install", "--quiet", "--disable-pip-version-check", "--no-index", filepath.Join(dir, name))
	if out := run(filepath.Join(bin, "weft"), "version"); !strings.HasPrefix(out, "weft ") {
		t.Errorf("the command says %q", out)
	}
	if out := run(filepath.Join(bin, "python"), "use.py"); !strings.HasSuffix(out, "well\n") {
		t.Errorf("the module says %q", out)
	}
}

const script = `
import os, weft
seen = []
run = weft.train("ppo", "CartPole-v1", settings={"envs": 4, "horizon": 16, "hidden": [8, 8]}, on_event=seen.append,
                 steps=256, eval_episodes=2, seed=3, out="runs/one")
assert [e["event"] for e in seen][0] == "begin" and seen[-1]["event"] == "done", seen
assert run.folder == "runs/one" and os.path.exists("runs/one/config.yaml")
rows = run.rows()
assert rows[-1]["step"] == 256 and "eval/return" in rows[-1], rows
assert run.settings()["set.hidden"] == "8,8" and run.settings()["seed"] == "3"
with run.policy() as policy:
    actions = {policy([0.0, 0.0, x / 50, 0.0]) for x in range(-9, 10)}
    assert actions <= {0, 1}, actions
    try:
        policy([1.0])
    except weft.Error as e:
        assert "Box([4])" in str(e), e
    else:
        raise AssertionError("an observation of another size was taken")
assert run.resume(steps=512).rows()[-1]["step"] == 512
assert "return" in str(run.evaluate(2)), run.evaluate(2)
for wrong in (lambda: weft.train("ppoo"), lambda: weft.Run("nowhere"), lambda: weft.train("ppo", stesp=3)):
    try:
        wrong()
    except weft.Error as e:
        assert "ppo" in str(e) or "nowhere" in str(e) or "steps" in str(e), e
    else:
        raise AssertionError("nothing was wrong")
try:
    run.metrics()
except weft.Error as e:
    assert "pip install pandas" in str(e)
print("well")
`
